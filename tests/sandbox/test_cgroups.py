"""The control groups of bubblewrap sandboxes, on a file system that behaves as the kernel's."""

import errno
import os
import time

import pytest

from paca.sandbox.base import SandboxLimits
from paca.sandbox.bubblewrap import cgroups, delegation

CONTROLLERS = "cpu memory pids"
FILES = {
    "cgroup.controllers": CONTROLLERS,
    "cgroup.type": "domain",
    **dict.fromkeys(
        (
            "cgroup.subtree_control",
            "cgroup.procs",
            "memory.max",
            "memory.swap.max",
            "memory.events",
            "cpu.max",
            "pids.max",
        ),
        "",
    ),
}


@pytest.fixture
def version_2(tmp_path, monkeypatch):
    """A file system of control groups in version 2, filled as the kernel does. This process is root, in no group."""
    real = cgroups.Path.mkdir

    def mkdir(self, *args, **kwargs):
        is_new = not self.exists()
        real(self, *args, **kwargs)
        for name, content in FILES.items() if is_new else ():
            (self / name).write_text(content)

    for name in ("cgroup.controllers", "cgroup.procs", "cgroup.subtree_control"):
        (tmp_path / name).write_text(FILES[name])
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    monkeypatch.setattr(cgroups.Path, "mkdir", mkdir)
    monkeypatch.setattr(delegation, "_own_group", lambda root: root)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


@pytest.fixture
def service(version_2, monkeypatch):
    """The group of a service that systemd has delegated, with this process and another one in it."""
    group = version_2 / "system.slice" / "paca.service"
    group.mkdir(parents=True)
    (group / "cgroup.procs").write_text("41\n42\n")
    monkeypatch.setattr(delegation, "_own_group", lambda root: group)
    marks = {group: b"1"}
    monkeypatch.setattr(
        os, "getxattr", lambda path, name: marks[path] if path in marks else refuse(errno.ENODATA)
    )
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return group


def refuse(number: int) -> None:
    raise OSError(number, os.strerror(number))


def test_control_groups_of_version_2_get_their_limits(version_2):
    group = cgroups.ControlGroup("mine")
    assert group.create(SandboxLimits(memory_mib=100, cpus=1.5))
    folder = version_2 / "paca" / "paca-mine"
    assert (folder / "memory.max").read_text() == str(100 << 20)
    assert (folder / "memory.swap.max").read_text() == "0"
    assert (folder / "cpu.max").read_text() == "150000 100000"
    assert int((folder / "pids.max").read_text()) > SandboxLimits().processes
    for parent in (version_2, version_2 / "paca"):
        assert (parent / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"
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


def test_a_user_makes_groups_in_the_delegated_one_after_its_processes_have_left_it(
    service, monkeypatch
):
    moved, write = [], cgroups.Path.write_text

    def write_text(self, text, *args, **kwargs):
        if text and self == service / "workers" / "cgroup.procs":
            moved.append(text)
            if text == "41":
                raise ProcessLookupError
        elif self == service / "cgroup.subtree_control" and len(moved) < 2:
            refuse(errno.EBUSY)  # the kernel: a group with processes can limit no groups below it
        return write(self, text, *args, **kwargs)

    monkeypatch.setattr(cgroups.Path, "write_text", write_text)
    group = cgroups.ControlGroup("mine")
    assert not group.exists
    assert group.create(SandboxLimits(memory_mib=100))
    assert group.exists
    assert moved == ["41", "42"]
    assert (service / "cgroup.subtree_control").read_text() == "+cpu +memory +pids"
    assert (service / "paca-mine" / "memory.max").read_text() == str(100 << 20)
    # From its new group this process finds the same groups.
    monkeypatch.setattr(delegation, "_own_group", lambda root: service / "workers")
    assert cgroups.ControlGroup("mine").folders == group.folders == [service / "paca-mine"]


def test_a_group_without_the_needed_controllers_is_not_used(service):
    (service / "cgroup.controllers").write_text("memory pids")
    assert not cgroups.ControlGroup("mine").create(SandboxLimits())
    assert (service / "cgroup.subtree_control").read_text() == ""


def test_a_group_that_keeps_processes_is_not_used(service, monkeypatch):
    write = cgroups.Path.write_text

    def write_text(self, text, *args, **kwargs):
        if self.name == "cgroup.subtree_control":
            refuse(errno.EBUSY)
        return write(self, text, *args, **kwargs)

    monkeypatch.setattr(cgroups.Path, "write_text", write_text)
    assert not cgroups.ControlGroup("mine").create(SandboxLimits())
    assert not (service / "paca-mine").exists()


def test_root_in_a_delegated_group_makes_its_groups_there_too(service, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert cgroups.ControlGroup("mine").folders == [service / "paca-mine"]


def test_the_writable_root_of_a_container_counts_as_delegated(version_2):
    (version_2 / "cgroup.type").write_text("domain")  # the root of a machine has no such file
    assert cgroups.ControlGroup("mine").folders == [version_2 / "paca-mine"]


@pytest.mark.parametrize(
    ("owners", "delegated"),
    [
        ({"a": 0, "a/b": 1000}, "a/b"),  # a service of systemd with User= and Delegate=
        ({"a": 1000, "a/b": 1000}, "a"),  # the same with DelegateSubgroup=
        ({"a": 1000, "a/b": 1000, "a/b/c": 1000}, None),  # a program in a session
        ({"a": 0, "a/b": 0}, None),
        ({"a": 0, "a/b": 500}, None),
    ],
)
def test_a_group_in_a_group_of_the_same_user_is_not_delegated(
    version_2, monkeypatch, owners, delegated
):
    """The groups of all programs in a session belong to its user, but it is systemd that manages them."""
    owner_of = {version_2 / name: owner for name, owner in owners.items()}
    own = [*owner_of][-1]
    own.mkdir(parents=True)
    stat = cgroups.Path.stat

    def owned_stat(self, **options):
        if self not in owner_of:
            return stat(self, **options)
        return os.stat_result((0o40755, 0, 0, 1, owner_of[self], 0, 0, 0, 0, 0))

    monkeypatch.setattr(cgroups.Path, "stat", owned_stat)
    monkeypatch.setattr(delegation, "_own_group", lambda root: own)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    found = [version_2 / delegated / "paca-mine"] if delegated else []
    assert cgroups.ControlGroup("mine").folders == found


def test_control_groups_that_cannot_be_made_are_no_error(version_2, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not cgroups.ControlGroup("mine").create(SandboxLimits())
    assert not (version_2 / "paca").exists()
