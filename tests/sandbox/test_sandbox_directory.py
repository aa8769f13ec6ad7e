"""Removing the folder of a sandbox with everything that an agent may have made in it."""

import os
import stat
import uuid

import pytest

from paca.sandbox.bubblewrap.file_tree import remove_tree
from paca.sandbox.bubblewrap.sandbox_directory import MADE_BY, SandboxDirectory


def test_a_folder_belongs_to_the_installation_that_made_it_also_after_a_death_half_way(tmp_path):
    own = SandboxDirectory(tmp_path, "own", uuid.uuid4())
    own.folder.mkdir(parents=True)
    (own.folder / MADE_BY).touch()
    own.create()
    SandboxDirectory(tmp_path, "foreign", uuid.UUID(own.folder.name)).create()
    assert own.belongs_to_installation


def test_remove_tree_neither_follows_a_link_nor_changes_the_folder_around_it(tmp_path):
    """Otherwise /tmp would be closed to all users when two workers remove the same folder in it."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    link = tmp_path / "link"
    link.symlink_to(kept)
    tmp_path.chmod(0o755)
    remove_tree(link)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    assert (kept / "file").exists()


def test_remove_tree_removes_folders_of_any_depth(tmp_path):
    """The files of one conversation must not stop the sweep of all others."""
    tree = tmp_path / "tree"
    tree.mkdir()
    at = os.open(tree, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("a", dir_fd=at)
        inner = os.open("a", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.symlink(tmp_path, "link", dir_fd=at)
    os.close(at)
    (tmp_path / "kept").touch()
    remove_tree(tree)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_remove_tree_raises_if_a_file_cannot_be_removed(tmp_path, monkeypatch):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "file").touch()
    monkeypatch.setattr(os, "unlink", lambda *_, **__: (_ for _ in ()).throw(PermissionError()))
    with pytest.raises(PermissionError):
        remove_tree(tmp_path / "tree")
