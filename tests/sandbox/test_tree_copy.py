"""The program that copies a workspace, on folders of this machine: its limits, and a tree that changes meanwhile."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from paca.sandbox import file_copy, tree_copy
from paca.sandbox.base import SandboxSpec
from paca.sandbox.file_copy import CopyFailed
from paca.sandbox.tree_copy import CopyError, TreeCopy


def nothing() -> None:
    """The check of a copy that may go on."""


def copy_of(source: Path, target: Path, check=nothing, **limits: int) -> TreeCopy:
    target.mkdir(exist_ok=True)
    wanted = {"max_bytes": 1 << 30, "max_files": 1 << 20, **limits}
    folders = [os.open(each, tree_copy.FOLDER_FLAGS) for each in (source, target)]
    return TreeCopy(*folders, uid=None, check=check, **wanted)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    made = tmp_path / "source"
    (made / "a" / "b").mkdir(parents=True)
    (made / "a" / "one.txt").write_text("one")
    (made / "a" / "b" / "two.txt").write_text("two" * 1000)
    return made


def test_copy_has_everything_and_nothing_else(source, tmp_path):
    copy = copy_of(source, tmp_path / "target")
    copy.run()
    assert (copy.files, copy.bytes, copy.skipped, copy.changed) == (4, 3003, 0, 0)
    found = sorted(
        str(each.relative_to(tmp_path / "target")) for each in (tmp_path / "target").rglob("*")
    )
    assert found == ["a", "a/b", "a/b/two.txt", "a/one.txt"]


@pytest.mark.parametrize(
    ("limits", "reason"),
    [({"max_bytes": 3002}, tree_copy.TOO_LARGE), ({"max_files": 3}, tree_copy.TOO_MANY)],
)
def test_copy_ends_at_its_limits(source, tmp_path, limits, reason):
    with pytest.raises(CopyError, match=reason):
        copy_of(source, tmp_path / "target", **limits).run()
    exact = {name: value + 1 for name, value in limits.items()}
    shutil.rmtree(tmp_path / "target")
    copy_of(source, tmp_path / "target", **exact).run()


def test_hard_links_count_their_data_once(source, tmp_path):
    for number in range(5):
        os.link(source / "a/b/two.txt", source / f"link-{number}")
    copy = copy_of(source, tmp_path / "target", max_bytes=3003)
    copy.run()
    assert (copy.files, copy.bytes) == (9, 3003)
    assert (tmp_path / "target/link-0").samefile(tmp_path / "target/a/b/two.txt")
    assert (tmp_path / "target/link-0").stat().st_nlink == 6


def test_links_are_copied_and_never_followed(source, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (source / "folder").symlink_to(outside)
    (source / "file").symlink_to(outside / "secret")
    copy_of(source, tmp_path / "target").run()
    assert (tmp_path / "target/folder").readlink() == outside
    assert (tmp_path / "target/file").readlink() == outside / "secret"


def test_folder_that_became_a_link_meanwhile_is_not_followed(source, tmp_path, monkeypatch):
    """Between the look at a name and its opening another process may exchange what it names."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret")
    real = os.stat

    def exchange(name, **options):
        found = real(name, **options)
        if name == "a" and not (source / "a").is_symlink():
            (source / "a").rename(source / "moved")
            (source / "a").symlink_to(tmp_path / "outside")
        return found

    monkeypatch.setattr(tree_copy.os, "stat", exchange)
    copy = copy_of(source, tmp_path / "target")
    copy._copy_all()
    monkeypatch.undo()
    assert copy.skipped == 1
    assert not list((tmp_path / "target").rglob("secret"))


def test_copy_ends_when_its_way_back_leads_elsewhere(source, tmp_path):
    """A folder that is moved out while its files are copied must not lead the copy after it."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret").write_text("secret")
    steps = tree_copy.walk(os.open(source, tree_copy.FOLDER_FLAGS))
    while next(steps)[:2] != (tree_copy.ENTER, "b"):
        pass
    (source / "a/b").rename(elsewhere / "b")
    with pytest.raises(CopyError, match=tree_copy.MOVED):
        list(steps)


def test_copy_of_a_folder_that_is_removed_meanwhile_is_not_used(source, tmp_path):
    copy = copy_of(source, tmp_path / "target")
    shutil.rmtree(source)
    with pytest.raises(CopyError, match=tree_copy.GONE):
        copy.run()


def test_changes_during_the_copy_are_counted(source, tmp_path, monkeypatch):
    copy = copy_of(source, tmp_path / "target")
    real = copy._copy_all

    def copy_and_change() -> None:
        real()
        (source / "a/one.txt").write_text("changed")

    monkeypatch.setattr(copy, "_copy_all", copy_and_change)
    copy.run()
    assert copy.changed == 1


def test_copy_looks_at_the_free_space_again_and_again(source, tmp_path, monkeypatch):
    monkeypatch.setattr(tree_copy, "CHECK_FILES", 2)
    looks: list[int] = []
    copy_of(source, tmp_path / "target", check=lambda: looks.append(1)).run()
    assert len(looks) == 2


def test_copy_leaves_space_on_the_disk(source, tmp_path):
    (tmp_path / "target").mkdir()
    given = {
        "source": str(source),
        "target": str(tmp_path / "target"),
        "disk": str(tmp_path),
        "uid": None,
        "max_bytes": 1 << 30,
        "max_files": 100,
    }
    told = tree_copy.main({**given, "min_free_bytes": 1 << 62})
    assert told["error"] == tree_copy.DISK_FULL
    assert list((tmp_path / "target").iterdir()) == []
    assert tree_copy.main({**given, "min_free_bytes": 1})["error"] == ""


def test_program_ends_with_the_process_that_started_it(source, tmp_path):
    """The worker holds the other end of its standard input, so that no copy goes on after its death."""
    program = Path(tree_copy.__file__).read_text()
    held = tmp_path / "held.py"
    held.write_text(program.replace("self._count_changed(began)", "__import__('time').sleep(600)"))
    (tmp_path / "target").mkdir()
    words = file_copy.request(
        SandboxSpec(uuid4()),
        source=str(source),
        target=str(tmp_path / "target"),
        disk=str(tmp_path),
        uid=None,
        parent=True,
    )
    with subprocess.Popen([sys.executable, held, words], stdin=subprocess.PIPE) as running:
        assert running.poll() is None
        running.stdin.close()
        assert running.wait() == 1


@pytest.mark.parametrize("output", [b"", b"[]", b'{"files": 1}', b"Traceback"])
def test_program_that_ended_early_has_copied_nothing(output):
    with pytest.raises(CopyFailed, match="it ended early"):
        file_copy.parse(output)


def test_copy_with_an_error_is_refused_with_the_next_step():
    output = b'{"files":1,"bytes":2,"skipped":0,"changed":0,"error":"disk_full","detail":""}'
    with pytest.raises(CopyFailed, match="disk is nearly full; free space there, then fork"):
        file_copy.parse(output)
