"""The control groups of bubblewrap sandboxes, on a file system that behaves as the kernel's."""

import errno
import os
import time

import pytest

from paca.sandbox.base import SandboxLimits
from paca.sandbox.bubblewrap import cgroups


@pytest.fixture
def version_2(tmp_path, monkeypatch):
    """A file system of control groups in version 2, filled as the kernel does."""
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids")
    real = cgroups.Path.mkdir

    def mkdir(self, *args, **kwargs):
        real(self, *args, **kwargs)
        for name in (
            "cgroup.subtree_control",
            "cgroup.procs",
            "memory.max",
            "memory.swap.max",
            "memory.events",
            "cpu.max",
        ):
            (self / name).write_text("")

    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    monkeypatch.setattr(cgroups.Path, "mkdir", mkdir)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


def test_control_groups_of_version_2_get_their_limits(version_2):
    group = cgroups.ControlGroup("mine")
    assert group.create(SandboxLimits(memory_mib=100, cpus=1.5))
    folder = version_2 / "paca" / "paca-mine"
    assert (folder / "memory.max").read_text() == str(100 << 20)
    assert (folder / "memory.swap.max").read_text() == "0"
    assert (folder / "cpu.max").read_text() == "150000 100000"
    assert group.oom_counter == folder / "memory.events"
    group.enter()  # a thread alone cannot have a limit on memory there
    assert (folder / "cgroup.procs").read_text() == ""
    group.add_process(42)
    assert (folder / "cgroup.procs").read_text() == "42"


def test_a_thread_enters_groups_of_version_1_alone_and_brings_no_other_process(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(cgroups, "_own_groups", lambda: {"memory": tmp_path, "cpu": tmp_path})
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    group = cgroups.ControlGroup("mine")
    (tmp_path / "paca-mine").mkdir()
    group.enter()
    group.add_process(42)
    assert (tmp_path / "paca-mine" / "tasks").read_text() == "0"
    assert [path.name for path in (tmp_path / "paca-mine").iterdir()] == ["tasks"]


def test_control_groups_that_are_empty_for_long_are_removed_and_no_others(version_2):
    parent = version_2 / "paca"
    os.mkdir(parent)  # noqa: PTH102 - the fixture replaces Path.mkdir
    for name, age in (("paca-old", 7200), ("paca-new", 60), ("foreign", 7200), ("paca-used", 7200)):
        os.mkdir(parent / name)  # noqa: PTH102
        if name == "paca-used":
            (parent / name / "a process").touch()
        os.utime(parent / name, (time.time() - age,) * 2)
    cgroups.remove_abandoned()
    assert sorted(path.name for path in parent.iterdir()) == ["foreign", "paca-new", "paca-used"]


def test_control_groups_are_removed_however_long_their_last_process_writes_back(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(cgroups, "_own_groups", lambda: {"memory": tmp_path})
    group, refusals = cgroups.ControlGroup("mine"), iter(range(60))
    (tmp_path / "paca-mine").mkdir()
    real = cgroups.Path.rmdir

    def rmdir(self):
        if next(refusals, None) is not None:
            raise OSError(errno.EBUSY, "Device or resource busy")
        real(self)

    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    monkeypatch.setattr(cgroups.Path, "rmdir", rmdir)
    monkeypatch.setattr(cgroups.time, "sleep", lambda seconds: None)
    group.remove()
    assert not (tmp_path / "paca-mine").exists()


def test_control_groups_that_cannot_be_made_are_no_error(version_2, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not cgroups.ControlGroup("mine").create(SandboxLimits())
    assert not (version_2 / "paca").exists()
