"""What the runner concludes from its counts of a workspace beside others who use the same file system."""

from types import SimpleNamespace

import pytest

from paca.sandbox.runner import unseen_space
from paca.sandbox.runner.disk_limit import UNEXPLAINED_SECONDS, DiskLimit
from paca.sandbox.runner.disk_usage import Usage
from paca.sandbox.runner.unseen_space import UnseenSpace
from paca.sandbox.runner.written_bytes import written_between

MIB = 1 << 20


def counters(written=None, *, born=100, tasks=None, forks=1000, runner=0):
    """The counters of a sandbox: by process, what it has written."""
    written = {7: 0} if written is None else written
    return SimpleNamespace(
        written=written,
        tasks=set(written) if tasks is None else tasks,
        first_born=born,
        last_born=born,
        forks=forks,
        runner=runner,
    )


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (counters({7: 5}), (5, True)),
        (counters({7: 5}, runner=3), (8, True)),
        (counters({7: 5, 9: 2}, born=101), (7, True)),  # a new process, which lives
        (counters({7: 5}, tasks={7, 8}, born=101), (5, True)),  # a new thread
        (counters({7: 5}, born=101), (5, False)),  # a process that began and ended meanwhile
        (counters({9: 2}, born=101), (2, False)),  # another has ended
        (counters({7: None}), (0, False)),
        (counters({7: 5}, born=99), (5, False)),  # the ids have begun again
        (counters({7: 5}, forks=5_000_000), (5, False)),  # or may have
        (counters({}, born=-1), (0, False)),  # the kernel does not tell
    ],
)
def test_count_of_written_bytes_says_whether_it_is_complete(after, expected):
    assert written_between(counters(), after) == expected


def test_count_of_written_bytes_has_those_of_an_ended_child_once():
    """Its parent, who has waited for it, has them from then on."""
    before = counters({7: 0, 8: 500})
    assert written_between(before, counters({7: 500})) == (0, False)
    assert written_between(before, counters({7: 530})) == (30, False)


def test_count_of_written_bytes_excludes_what_a_process_has_written_while_it_was_hidden():
    assert written_between(counters({7: None}), counters({7: 500})) == (0, False)


@pytest.fixture
def measure(monkeypatch):
    """Takes measurements of one workspace: MiB of visible files, of free space and written, by one process."""
    unseen, last = UnseenSpace(counts_writes=True), counters()

    def one(*, files, free, written=0, born=100, seen=False, others=0):
        nonlocal last
        last = counters({7: written * MIB}, born=born)
        monkeypatch.setattr(unseen_space, "WriteCounters", lambda: last)
        unseen.update(
            files=files * MIB,
            others=others * MIB,
            free=free * MIB,
            before=last,
            everything_seen=seen,
        )
        return unseen.proved // MIB, unseen.possible // MIB

    return one


def test_unseen_space_is_what_was_written_and_has_disappeared(measure):
    assert measure(files=10, free=1000, seen=True) == (10, 10)
    assert measure(files=0, free=960, written=40) == (50, 50)  # 10 moved out of sight, 40 are new
    assert measure(files=20, free=940, written=60) == (70, 70)
    assert measure(files=20, free=990, written=60) == (20, 20)


def test_unseen_space_excludes_what_others_have_stored(measure):
    assert measure(files=10, free=1000, seen=True) == (10, 10)
    assert measure(files=0, free=500, written=3) == (13, 13)
    assert measure(files=0, free=100, written=3) == (13, 13)


def test_unseen_space_does_not_shrink_when_others_give_back_what_they_have_stored(measure):
    measure(files=0, free=1000, seen=True)
    assert measure(files=0, free=950, written=50) == (50, 50)
    for _ in range(3):
        assert measure(files=0, free=450, written=50)[1] == 50
        assert measure(files=0, free=950, written=50)[1] == 50
    assert measure(files=0, free=900, written=100)[1] == 100
    assert (
        measure(files=0, free=970, written=100)[1] == 30
    )  # no other has stored as much: it is its own


def test_unseen_space_shrinks_with_visible_files_although_others_have_stored(measure):
    measure(files=10, free=1000, seen=True)
    assert measure(files=60, free=550, written=50) == (60, 60)  # others have stored 400
    assert measure(files=0, free=610, written=50) == (0, 0)


def test_unseen_space_without_a_complete_count_may_be_all_that_has_disappeared(measure):
    measure(files=10, free=1000, seen=True)
    assert measure(files=0, free=500, written=3, born=105) == (13, 510)
    assert measure(files=0, free=400, written=3, born=105) == (13, 510)
    assert measure(files=0, free=990, written=3, born=105, seen=True) == (0, 0)


def test_unseen_space_grows_with_folders_beside_and_not_by_them(measure):
    measure(files=10, free=1000, seen=True)
    assert measure(files=0, free=960, others=40, written=0) == (10, 10)


def limit_after(sizes, *, seconds):
    """Whether a limit of 64 MiB is passed at each measurement; a pair is (proved, possible)."""
    limit = DiskLimit(64 * MIB, 1000)
    pairs = [(size, size) if isinstance(size, int) else size for size in sizes]
    return [
        limit.is_passed(Usage(possible * MIB, 1, proved=proved * MIB), number * seconds)
        for number, (proved, possible) in enumerate(pairs)
    ]


def test_disk_limit_is_passed_by_growth_only():
    assert limit_after([10, 70, 70, 60, 70, 90], seconds=1) == [
        False,
        True,
        False,
        False,
        True,
        True,
    ]


def test_disk_limit_is_passed_by_unexplained_space_that_stays_away():
    seen, gone = (10, 10), (10, 200)
    seconds = UNEXPLAINED_SECONDS / 2
    assert limit_after([seen, gone, gone, seen, gone], seconds=seconds) == [False] * 5
    assert limit_after([seen, *[gone] * 6], seconds=seconds) == [*[False] * 3, True, *[False] * 3]
    assert limit_after([seen, *[gone] * 6], seconds=0) == [False] * 7
    assert limit_after([seen, gone, gone], seconds=60) == [False] * 3


def test_disk_limit_is_passed_at_once_by_space_that_is_explained():
    assert limit_after([(10, 10), (10, 200), (70, 200)], seconds=0.1) == [False, False, True]
