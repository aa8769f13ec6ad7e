"""Isolation: a command sees and reaches nothing of this machine that it does not need."""

import os
import socket
from pathlib import Path

import pytest

from paca.sandbox import seccomp
from paca.sandbox.runner import bpf
from tests.sandbox.conftest import only_bubblewrap

REPOSITORY = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.service, pytest.mark.anyio]


async def test_a_sandbox_has_no_privileges_left(handle):
    status = (await handle.bash("cat /proc/self/status; id -u")).output
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert int(fields["CapEff"], 16) == int(fields["CapPrm"], 16) == int(fields["CapInh"], 16) == 0
    assert int(fields["CapAmb"], 16) == int(fields["CapBnd"], 16) == 0
    assert fields["NoNewPrivs"] == "1"
    assert fields["Seccomp"] == "2"
    assert fields["Groups"].strip() in {"", fields["Gid"].split()[0]}
    assert status.splitlines()[-1] != "0"


HIDDEN = [
    "/root",
    "/home/*/.ssh",
    "/var/log",
    "/var/lib",
    "/sys/kernel",
    "/boot",
    "/mnt",
    "/srv",
    "/etc/shadow",
    "/etc/gitconfig",
    "/run/*",
    "/dev/sda",
    "/dev/vda",
    "/dev/mem",
    "/dev/kvm",
]


@only_bubblewrap  # an image has places of its own by these names
async def test_folders_of_the_host_do_not_exist_inside(handle):
    assert (await handle.bash(f"ls -d {' '.join(HIDDEN)} 2>/dev/null")).output == ""


@pytest.fixture
def folder_of(tmp_path):
    return lambda handle: tmp_path / "workspaces" / str(handle.spec.conversation_id)


@pytest.fixture
def secret(tmp_path) -> Path:
    path = tmp_path / "secret.txt"
    path.write_text("canary-of-the-host")
    return path


async def test_paca_and_its_data_cannot_be_found_inside(handle, secret):
    outcome = await handle.bash(
        f"ls {secret.parent} {REPOSITORY}; "
        "grep -rl canary-of-the-host / --exclude-dir=proc --exclude-dir=usr --exclude-dir=python; "
        "echo searched"
    )
    assert outcome.output.endswith("searched\n")
    assert "secret.txt" not in outcome.output
    assert "manage.py" not in outcome.output
    assert "canary" not in outcome.output


@only_bubblewrap
async def test_mounts_of_a_sandbox_name_no_folder_of_its_conversation_on_the_host(backend, handle):
    if os.geteuid() != 0:
        pytest.skip("without root the workspace is a folder of the host")
    mounts = (await handle.bash("cat /proc/self/mountinfo")).output
    assert " /workspace " in mounts
    assert str(handle.spec.conversation_id) not in mounts


async def test_only_processes_of_the_sandbox_are_visible(handle):
    outcome = await handle.bash("ls -d /proc/[0-9]* | wc -l")
    assert int(outcome.output) < 8
    assert f"/proc/{os.getpid()}" not in (await handle.bash("ls -d /proc/[0-9]*")).output.split()


READ_ONLY = [
    "/",
    "/usr/bin",
    "/etc",
    "/opt/paca/runner/lib",
    "/opt/paca/python/lib",
    "/dev",
    "/proc/sys/kernel",
]


async def test_the_system_cannot_be_changed(handle):
    for path in READ_ONLY:
        await handle.bash(f"touch {path}/made-by-the-agent; mkdir {path}/made-by-the-agent")
        assert "made-by-the-agent" not in (await handle.bash(f"ls -a {path}")).output, path


async def test_home_tmp_and_workspace_can_be_written(handle):
    outcome = await handle.bash(
        'for d in ~ /tmp /dev/shm /workspace; do echo x > "$d/x" && cat "$d/x"; done'
    )
    assert outcome.output == "x\nx\nx\nx\n"


async def test_the_workspace_outlives_the_sandbox_and_files_in_memory_do_not(open_sandbox):
    first = await open_sandbox()
    await first.bash("echo x > /tmp/x; echo x > ~/x; echo x > x")
    await first.sandbox.end(keep_files=True)
    second = await open_sandbox(conversation=first.spec.conversation_id)
    assert second.sandbox.boot_id != first.sandbox.boot_id
    assert (await second.bash("ls /tmp ~ .")).output.split() == [".:", "x", "/home/agent:", "/tmp:"]


async def test_a_sandbox_has_no_network(handle):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for host in ("127.0.0.1", "169.254.169.254", "1.1.1.1"):
            outcome = await handle.bash(f"timeout 3 bash -c 'echo > /dev/tcp/{host}/{port}'")
            assert outcome.exit_code != 0
            assert "refused" in outcome.output or "unreachable" in outcome.output
        assert (await handle.bash("cut -d: -f1 /proc/net/dev | tail -n +3")).output.split() == [
            "lo"
        ]
        with socket.create_connection(("127.0.0.1", port), timeout=3):
            pass  # it was there all the time


async def test_two_sandboxes_share_nothing(backend, open_sandbox):
    one, other = await open_sandbox(), await open_sandbox()
    await one.bash("echo x > /tmp/one; echo x > /dev/shm/one; echo x > one")
    assert (await other.bash("ls /tmp /dev/shm . ; ls -d /proc/[0-9]* | wc -l")).output.count(
        "one"
    ) == 0
    if os.geteuid() == 0 and backend.name == "bubblewrap":
        assert (await one.bash("id -u")).output != (await other.bash("id -u")).output


REFUSED_NUMBERS = {"bpf": (321, 280), "keyctl": (250, 219), "process_vm_readv": (310, 270)}
SYSTEM_CALLS = {
    "a user namespace": "unshare(0x10000000)",
    "a mount namespace": "unshare(0x00020000)",
    "io_uring": "syscall(425, 8, 0)",
    "bpf": "syscall({bpf}, 0, 0, 0)",
    "keyctl": "syscall({keyctl}, 0, 0, 0)",
    "a trace": "ptrace(0, 0, 0, 0)",
    "a virtual machine's socket": "socket(40, 1, 0)",
    "the same in disguise": "syscall({socket}, ctypes.c_long(0x100000028), 1, 0)",
    "the crypto socket": "socket(38, 5, 0)",
    "a mount": "mount(b'none', b'/tmp', b'tmpfs', 0, 0)",
    "a namespaced clone": "syscall({clone}, 0x10000011, 0, 0, 0, 0)",
    "another's memory": "syscall({process_vm_readv}, 1, 0, 0, 0, 0, 0)",
}


async def test_dangerous_system_calls_are_refused(handle):
    column = bpf.ARCHITECTURES[os.uname().machine][0]
    known = {**REFUSED_NUMBERS, "clone": seccomp.CLONE, "socket": seccomp.SOCKET}
    numbers = {name: pair[column] for name, pair in known.items()}
    for name, call in SYSTEM_CALLS.items():
        script = (
            "import ctypes, errno, os; libc = ctypes.CDLL(None, use_errno=True); "
            f"done = libc.{call.format(**numbers)}; "
            "print(done, errno.errorcode.get(ctypes.get_errno()))"
        )
        assert (await handle.bash(f'python3 -c "{script}"')).output == "-1 EPERM\n", name


async def test_system_calls_that_programs_need_are_allowed(handle):
    outcome = await handle.bash(
        "python3 -c 'import subprocess, threading, multiprocessing as m, asyncio, tempfile, socket;"
        " t = threading.Thread(target=print); t.start(); t.join(); p = m.Process(target=print); p.start(); p.join();"
        ' print(subprocess.check_output(["echo", "sub"]), socket.socketpair() and 1)\''
        " && git init -q x && ls -l /dev/fd/ > /dev/null && script -qc 'echo pty' /dev/null"
    )
    assert outcome.exit_code == 0, outcome.output
    assert "pty" in outcome.output


async def test_commands_inherit_no_descriptor_of_the_host(handle):
    outcome = await handle.bash("ls /proc/self/fd | wc -l; readlink /proc/self/fd/0")
    assert outcome.output == "4\n/dev/null\n"


@only_bubblewrap
async def test_the_agents_files_belong_to_its_own_user_and_are_closed_to_others(
    open_sandbox, folder_of
):
    handle = await open_sandbox()
    owner, mode, user = (
        await handle.bash("touch x; stat -c %u x; stat -c %a .; id -u")
    ).output.split()
    # As root each conversation has a user of its own; else there is only ours.
    assert int(owner) > 10_000 if os.geteuid() == 0 else int(owner) == os.geteuid()
    assert (owner, mode) == (user, "700")
    outside = folder_of(handle)  # it is empty if the workspace has a file system of its own
    assert outside.stat().st_mode & 0o077 == 0
    for image in outside.parent.glob("*.img"):
        assert (image.stat().st_uid, image.stat().st_mode & 0o077) == (os.geteuid(), 0)
