"""The share of the mutants that a run of CI tries."""

import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.mutants import shares
from tests.mutants.__main__ import try_all
from tests.mutants.changes import never
from tests.mutants.guards import Mutant

COMMITS = [f"{number:040x}" for number in range(40)]
FILES = {"part-a": "paca/a.py", "part-b": "paca/b.py"}
MUTANTS = [
    Mutant(guard, never, (f"tests/test_{guard[-1]}.py::test_it",)) for guard in ("part-a", "part-b")
]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two guards, and more commits than count as recent."""
    monkeypatch.setattr(shares, "RECENT", 1)
    (tmp_path / "paca").mkdir()
    (tmp_path / "tests").mkdir()
    for guard, file in FILES.items():
        (tmp_path / file).write_text(f"# guard: {guard}\nif 1:\n    pass\n")
    (tmp_path / "tests/test_b.py").write_text("")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    for number in range(shares.RECENT + 1):
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", str(number))
    (tmp_path / "README").write_text("")
    git(tmp_path, "add", ".")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True)


def chosen(repository: Path, parts: int) -> list[str]:
    return [mutant.guard for mutant in shares.share(MUTANTS, parts, repository)]


def test_each_commit_tries_another_quarter_and_forty_commits_try_every_guard():
    guards = [f"part-{number}" for number in range(400)]
    tried = [{g for g in guards if shares.in_part(g, commit, 4)} for commit in COMMITS]
    assert all(70 < len(each) < 130 for each in tried)
    assert len({frozenset(each) for each in tried}) == len(COMMITS)
    assert set.union(*tried) == set(guards)


@pytest.mark.parametrize("file", ["paca/b.py", "tests/test_b.py"])
def test_guard_is_in_every_share_after_its_file_or_its_test_has_changed(
    repository: Path, file: str, capsys: pytest.CaptureFixture[str]
):
    never_by_chance = 10**9
    assert chosen(repository, never_by_chance) == []
    with (repository / file).open("a") as text:
        text.write("\n")
    assert chosen(repository, never_by_chance) == ["part-b"]
    assert (
        "1 mutants in files that the last 1 commits changed, and 0 of 1" in capsys.readouterr().out
    )


def test_guards_near_changes_come_first_and_each_commit_has_another_order(repository: Path):
    orders = {
        tuple(sorted(FILES, key=lambda guard: shares.number_of(guard, commit)))
        for commit in COMMITS
    }
    assert orders == {("part-a", "part-b"), ("part-b", "part-a")}
    (repository / "tests/test_b.py").write_text("changed\n")
    git(repository, "add", ".")
    assert chosen(repository, 1) == ["part-b", "part-a"]


def test_mutants_that_are_left_when_the_time_is_over_are_not_tried_and_not_counted_as_killed():
    assert try_all(MUTANTS, [Mock(), Mock()], until=0.0) == [None, None]


def test_all_mutants_are_tried_where_the_history_is_too_short(repository: Path):
    git(repository, "checkout", "-q", "--orphan", "short")
    git(repository, "commit", "-q", "-m", "first")
    assert chosen(repository, 10**9) == ["part-a", "part-b"]
