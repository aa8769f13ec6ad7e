"""The host side of bubblewrap sandboxes: system call filter, control groups, records, users and folders."""

import asyncio
import os
import stat
import struct
import time
import uuid

import pytest

from paca.sandbox import runner_bundle, seccomp
from paca.sandbox.base import SandboxLimits
from paca.sandbox.bubblewrap import bwrap_arguments, cgroups, host_process
from paca.sandbox.bubblewrap.host_process import RunnerProcess
from paca.sandbox.bubblewrap.sandbox_directory import remove_tree
from paca.sandbox.runner import proc


def verdict(program: bytes, number: int, argument: int = 0, *, arch: int = 0xC000003E) -> int:
    """The result of the filter for one call, computed as the kernel does."""
    code = [struct.unpack("HBBI", program[i : i + 8]) for i in range(0, len(program), 8)]
    data = struct.pack("=IIQ6Q", number, arch, 0, argument, 0, 0, 0, 0, 0)
    loaded, at = 0, 0
    while True:
        operation, if_true, if_false, value = code[at]
        at += 1
        if operation == seccomp.LOAD:
            loaded = struct.unpack_from("=I", data, value)[0]
        elif operation == seccomp.RETURN:
            return value
        else:
            holds = {
                seccomp.JUMP_EQUAL: loaded == value,
                seccomp.JUMP_AT_LEAST: loaded >= value,
                seccomp.JUMP_SET: bool(loaded & value),
            }[operation]
            at += if_true if holds else if_false


@pytest.mark.parametrize(("machine", "arch"), [("x86_64", 0xC000003E), ("aarch64", 0xC00000B7)])
def test_the_seccomp_filter_refuses_the_listed_calls_and_allows_the_others(
    monkeypatch, machine, arch
):
    monkeypatch.setattr(seccomp.platform, "machine", lambda: machine)
    program = seccomp.program()
    column = seccomp.ARCHITECTURES[machine][0]
    refused = {numbers[column] for numbers in seccomp.REFUSED_CALLS.values()}
    for number in refused:
        assert verdict(program, number, arch=arch) == seccomp.EPERM
    clone, clone3, socket = (x[column] for x in (seccomp.CLONE, seccomp.CLONE3, seccomp.SOCKET))
    assert verdict(program, clone3, arch=arch) == seccomp.ENOSYS
    assert verdict(program, clone, 0x01200011, arch=arch) == seccomp.ALLOW  # fork
    assert verdict(program, clone, 0x003D0F00, arch=arch) == seccomp.ALLOW  # a thread
    assert verdict(program, clone, 0x10000011, arch=arch) == seccomp.EPERM  # a user namespace
    for family, expected in (
        (1, seccomp.ALLOW),
        (2, seccomp.ALLOW),
        (38, seccomp.EPERM),
        (40, seccomp.EPERM),
    ):
        assert verdict(program, socket, family, arch=arch) == expected
    for number in set(range(450)) - refused - {clone, clone3, socket}:
        assert verdict(program, number, arch=arch) == seccomp.ALLOW
    assert verdict(program, 1, arch=0x40000003) == seccomp.EPERM  # 32-bit calls
    assert verdict(program, seccomp.X32 + 1, arch=arch) == seccomp.ENOSYS


def test_the_seccomp_filter_is_absent_on_an_unknown_processor(monkeypatch):
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "riscv64")
    assert seccomp.program() is None


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
    group.add_process(42)
    assert (folder / "cgroup.procs").read_text() == "42"


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


def test_control_groups_that_cannot_be_made_are_no_error(version_2, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert not cgroups.ControlGroup("mine").create(SandboxLimits())
    assert not (version_2 / "paca").exists()


def test_a_runner_is_distinguished_from_a_later_process_with_its_pid():
    started = proc.start_time(os.getpid())
    assert RunnerProcess(os.getpid(), started).is_alive
    assert not RunnerProcess(os.getpid(), started - 1).is_alive
    assert not RunnerProcess().is_alive


def test_a_zombie_is_not_alive():
    pid = os.posix_spawn("/bin/true", ["true"], {})
    while proc.start_time(pid) is not None:
        pass
    assert os.waitpid(pid, 0)[0] == pid


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1, "unknown": 2}', "\0"])
def test_a_damaged_record_is_read_as_no_runner(tmp_path, text):
    (tmp_path / "life.json").write_text(text)
    assert host_process.read_record(tmp_path) == RunnerProcess()


def test_a_record_is_read_as_it_was_written(tmp_path):
    host_process.write_record(tmp_path, RunnerProcess(7, 8, 9))
    assert host_process.read_record(tmp_path) == RunnerProcess(7, 8, 9)


def test_each_conversation_has_its_own_user_if_paca_is_root(monkeypatch):
    monkeypatch.setattr(bwrap_arguments.os, "geteuid", lambda: 0)
    found = {bwrap_arguments.user_for(uuid.uuid4()).uid for _ in range(200)}
    assert len(found) == 200
    assert min(found) > 1_000_000
    monkeypatch.setattr(bwrap_arguments, "_is_mapped", lambda uid: uid < 65_536)
    small = bwrap_arguments.user_for(uuid.uuid4())
    assert 1000 < small.uid < 65_000
    assert small.drop_privileges


def test_the_user_of_sandboxes_is_pacas_own_without_root(monkeypatch):
    monkeypatch.setattr(bwrap_arguments.os, "geteuid", lambda: 1234)
    monkeypatch.setattr(bwrap_arguments.os, "getegid", lambda: 1235)
    assert bwrap_arguments.user_for(uuid.uuid4()) == bwrap_arguments.SandboxUser(
        1234, 1235, drop_privileges=False
    )


def test_the_runner_is_compiled_once_and_ships_no_source(tmp_path):
    first = runner_bundle.prepare_runner(tmp_path)
    stamp = first.stat().st_ctime_ns
    assert runner_bundle.prepare_runner(tmp_path) == first
    assert first.stat().st_ctime_ns == stamp
    assert [path.name for path in tmp_path.iterdir()] == [first.name]
    assert not list(first.rglob("*.py"))
    assert (first / "lib/paca/sandbox/runner/main.pyc").exists()


def test_the_copy_of_etc_contains_only_files_that_everybody_may_read(tmp_path, monkeypatch):
    host = tmp_path / "etc"
    (host / "ssl" / "private").mkdir(parents=True)
    (host / "ssl" / "certs").mkdir()
    (host / "ssl" / "certs" / "ca.pem").write_text("public")
    (host / "ssl" / "certs" / "link.pem").symlink_to("ca.pem")
    (host / "ssl" / "private" / "key.pem").write_text("secret")
    (host / "ssl" / "half.key").write_text("secret")
    (host / "shadow").write_text("secret")
    (host / "ssl" / "private").chmod(0o710 & ~0o001)
    (host / "ssl" / "half.key").chmod(0o640)
    (host / "services").write_text("http 80/tcp")
    monkeypatch.setattr(runner_bundle, "ETC", host)
    (tmp_path / "run").mkdir()
    made = runner_bundle.prepare_etc(tmp_path / "run")
    assert runner_bundle.prepare_etc(tmp_path / "run") == made
    found = {str(path.relative_to(made)) for path in made.rglob("*") if not path.is_dir()}
    assert found == {
        "ssl/certs/ca.pem",
        "ssl/certs/link.pem",
        "services",
        *runner_bundle.ETC_WRITTEN,
    }
    assert (made / "ssl/certs/link.pem").read_text() == "public"


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


def test_a_directory_lock_that_was_removed_during_the_wait_is_not_acquired(tmp_path):
    """Otherwise the waiting worker would remove the files of a sandbox that is started under the new lock."""
    folder, entered = tmp_path / "sandbox", asyncio.Event()

    async def enter() -> None:
        async with host_process.directory_lock(folder):
            entered.set()

    async def race() -> None:
        async with host_process.directory_lock(folder):
            waiting = asyncio.create_task(enter())
            await asyncio.sleep(0.1)
            remove_tree(folder)
        async with host_process.directory_lock(folder):
            await asyncio.sleep(0.3)
            assert not entered.is_set()
        async with asyncio.timeout(10):
            await waiting

    asyncio.run(race())
    assert entered.is_set()
