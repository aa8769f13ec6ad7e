"""Limits: a command that uses too much ends with its cause; the sandbox and other commands continue."""

import asyncio
import time

import pytest

from paca.sandbox.base import SandboxLimits
from paca.sandbox.bubblewrap import sandbox_directory
from tests.sandbox.conftest import only_bubblewrap
from tests.support import runners
from tests.support.waiting import until

pytestmark = [pytest.mark.service, pytest.mark.anyio]

# Memory that belongs to no process alone: without a name, of System V, and shared by a fork.
SHARED_HOGS = {
    "memfd": "import os; fds = [os.memfd_create('x') for _ in range(MIB // 40)]; "
    "[os.write(fd, b'x' * (1 << 20)) for fd in fds for _ in range(40)]",
    "mapped memfd": "import mmap, os; fd = os.memfd_create('x'); os.ftruncate(fd, MIB << 20); "
    "m = mmap.mmap(fd, MIB << 20); os.close(fd); [m.write(b'x' * (1 << 20)) for _ in range(MIB)]",
    "shared anonymous": "import mmap; m = mmap.mmap(-1, MIB << 20); [m.write(b'x' * (1 << 20)) for _ in range(MIB)]",
    "System V": "import ctypes; l = ctypes.CDLL(None); l.shmat.restype = ctypes.c_void_p; "
    "s = l.shmget(0, MIB << 20, 0o1600); a = l.shmat(s, None, 0); ctypes.memset(a, 1, MIB << 20); l.shmdt(ctypes.c_void_p(a))",
    "forked": "import mmap, os, time; m = mmap.mmap(-1, MIB << 20); [m.write(b'x' * (1 << 20)) for _ in range(MIB)]; "
    "[os.fork() or time.sleep(SECONDS) for _ in range(2)]",
}
HOG = "python3 -c 'x = bytearray(600 << 20); print(len(x))'"
MANY_HOGS = "for i in 1 2 3 4; do python3 -c 'import time; x = bytearray(100 << 20); time.sleep(4)' & done; wait"
BOMB = ":(){ :|:& };:; sleep 20"


# The kernel limits the memory, or the runner where control groups cannot be made. A container without
# a control group is refused.
with_each_memory_limiter = pytest.mark.parametrize(
    ("backend", "memory_limiter"),
    [
        ("bubblewrap", "cgroup"),
        ("bubblewrap", "watchdog"),
        pytest.param("docker", "cgroup", marks=pytest.mark.docker),
    ],
    indirect=True,
)


@pytest.fixture
def memory_limiter(request, monkeypatch) -> str:
    if request.param == "watchdog":
        monkeypatch.setattr(sandbox_directory.ControlGroup, "create", lambda self, limits: False)
    return request.param


async def alive(handle) -> bool:
    outcome = await handle.bash("echo alive", seconds=10)
    return outcome.output == "alive\n"


@with_each_memory_limiter
@pytest.mark.parametrize("line", [HOG, MANY_HOGS], ids=["one", "many"])
async def test_a_memory_hog_is_ended_for_lack_of_memory(memory_limiter, open_sandbox, line):
    handle, neighbour = await open_sandbox(memory_mib=256), await open_sandbox(memory_mib=256)
    await handle.write("kept.txt", "kept")
    boot_id = handle.sandbox.boot_id
    outcome = await handle.bash(line)
    assert outcome.cause == "out_of_memory"
    assert await alive(handle)
    assert await alive(neighbour)
    assert handle.sandbox.boot_id == boot_id
    assert (await handle.bash("cat kept.txt")).output == "kept"


def shared_hog(program: str, mib: int, seconds: float) -> str:
    program = program.replace("MIB", str(mib)).replace("SECONDS", str(seconds))
    return f'python3 -c "{program}; print(1); import time; time.sleep({seconds})"'


# The kernel counts every kind by itself, so one is enough to see that it does.
with_kinds_of_shared_memory = pytest.mark.parametrize(
    ("backend", "memory_limiter", "program"),
    [
        ("bubblewrap", "cgroup", SHARED_HOGS["memfd"]),
        pytest.param("docker", "cgroup", SHARED_HOGS["memfd"], marks=pytest.mark.docker),
        *(("bubblewrap", "watchdog", program) for program in SHARED_HOGS.values()),
    ],
    ids=["kernel", "container", *SHARED_HOGS],
    indirect=["backend", "memory_limiter"],
)


@with_kinds_of_shared_memory
async def test_memory_that_processes_share_is_limited_too(memory_limiter, open_sandbox, program):
    handle = await open_sandbox(memory_mib=256)
    outcome = await handle.bash(shared_hog(program, 400, 15))
    assert (outcome.cause, outcome.exit_code) == ("out_of_memory", 137)
    assert await alive(handle)
    await handle.bash("ipcrm --all=shm")
    # With less the same program ends by itself, so it was the limit.
    outcome = await handle.bash(shared_hog(program, 120, 0.2))
    assert (outcome.cause, set(outcome.output)) == ("", {"1", "\n"})


@with_each_memory_limiter
async def test_files_in_memory_count_once_when_they_are_mapped(memory_limiter, open_sandbox):
    handle = await open_sandbox(memory_mib=256)
    line = (
        'head -c 60M /dev/zero > /dev/shm/x; python3 -c \'import mmap, time; f = open("/dev/shm/x", "r+b"); '
        "m = mmap.mmap(f.fileno(), 0); sum(m[::4096]); time.sleep(1); print(1)' & "
        "python3 -c 'import time; x = bytearray(120 << 20); time.sleep(1)'; wait"
    )
    outcome = await handle.bash(line)
    assert (outcome.cause, outcome.output) == ("", "1\n")


@only_bubblewrap
async def test_a_sandbox_without_control_groups_keeps_its_commands_on_its_cores(
    backend, open_sandbox, monkeypatch
):
    monkeypatch.setattr(sandbox_directory.ControlGroup, "create", lambda self, limits: False)
    handle = await open_sandbox(cpus=1)
    line = "nproc; taskset -cp 0-63 $$ > /dev/null 2>&1; nproc"
    assert (await handle.bash(line)).output == "1\n1\n"


@only_bubblewrap
async def test_a_sandbox_in_a_control_group_lets_commands_choose_cores(backend, open_sandbox):
    handle = await open_sandbox(cpus=1)
    if (await handle.bash("nproc")).output == "1\n":
        pytest.skip("this machine has one core, or control groups cannot be made")
    assert (await handle.bash("taskset -cp 0 $$ > /dev/null; nproc")).output == "1\n"


@with_each_memory_limiter
async def test_a_killed_hog_has_exit_code_137(memory_limiter, open_sandbox):
    handle = await open_sandbox(memory_mib=256)
    assert (await handle.bash(HOG)).exit_code == 137


@with_each_memory_limiter
async def test_a_command_whose_memory_fits_is_not_ended(memory_limiter, open_sandbox):
    handle = await open_sandbox(memory_mib=256)
    # Forked memory is shared, not double; the file system in memory counts once.
    line = "python3 -c 'import os, time; x = bytearray(100 << 20); [os.fork() or time.sleep(1) for i in range(2)]; time.sleep(1); print(1)' | tail -1"
    outcome = await handle.bash(line)
    assert (outcome.cause, outcome.output) == ("", "1\n")


async def test_every_process_of_a_command_ends_before_the_runner_when_memory_runs_out(handle):
    line = "cat /proc/self/oom_score_adj; sleep 0.1; cat /proc/1/oom_score_adj"
    for _ in range(10):
        command, runner = map(int, (await handle.bash(line)).output.split())
        assert command == min(runner + 500, 1000)


async def test_a_full_tmp_fails_only_the_command_that_fills_it(open_sandbox):
    handle = await open_sandbox(memory_mib=256)
    outcome = await handle.bash(
        "cat /dev/zero > /tmp/full; cat /dev/zero > ~/full; cat /dev/zero > /dev/shm/full"
    )
    assert outcome.output.count("No space left") >= 2
    assert await alive(handle)
    assert (
        await handle.bash("rm -f /tmp/full ~/full; echo x > /tmp/y && cat /tmp/y")
    ).output == "x\n"


@pytest.mark.parametrize("bomb", [BOMB, ":(){ :|:& };:", "while true; do sleep 100 & done"])
async def test_a_fork_bomb_ends_and_its_sandbox_can_be_used_again(backend, open_sandbox, bomb):
    handle, neighbour = await open_sandbox(processes=64), await open_sandbox(processes=64)
    exploding = asyncio.create_task(handle.bash(bomb, seconds=30))
    conversation = handle.spec.conversation_id
    await until(lambda: exploding.done() or len(runners.commands(backend, conversation)) > 30)
    assert await alive(neighbour)
    outcome = await exploding
    assert outcome.cause in {"too_many_processes", ""}
    for _ in range(100):
        if await handle.processes() == "" and await alive(handle):
            break
        await asyncio.sleep(0.1)
    assert await alive(handle)
    assert await handle.processes() == ""


async def test_the_runner_can_start_a_command_at_the_process_limit(open_sandbox):
    handle = await open_sandbox(processes=64)
    await handle.bash("for i in $(seq 100); do sleep 5 & done 2>/dev/null; true")
    assert (await handle.bash("echo alive")).output == "alive\n"


@pytest.mark.parametrize(
    "line",
    [
        "yes > big.txt",
        "i=0; while true; do i=$((i+1)); head -c 4000000 /dev/zero > part-$i; done",
        "mkdir -p a/b/c; cd a/b/c; setsid bash -c 'for i in $(seq 999); do head -c 4M /dev/zero > $i; done' & wait",
    ],
    ids=["one file", "many files", "in a session of its own"],
)
async def test_a_full_workspace_ends_the_call_that_fills_it(open_sandbox, line):
    handle = await open_sandbox(workspace_mib=64)
    outcome = await handle.bash(line, seconds=30)
    assert outcome.cause == "disk_full"
    assert await handle.processes() == ""
    used = int((await handle.bash("du -sm . | cut -f1")).output)
    assert used < 64 * 20
    # Deleting files must be possible even while the workspace is above the limit.
    cleaned = await handle.bash("sleep 1; rm -rf *; sleep 0.5; echo clean")
    assert (cleaned.output, cleaned.cause) == ("clean\n", "")


async def test_a_background_process_that_fills_the_workspace_is_ended(open_sandbox):
    handle = await open_sandbox(workspace_mib=32)
    await handle.bash("(for i in $(seq 9999); do head -c 1M /dev/zero > part-$i; done) & true")
    for _ in range(100):
        await asyncio.sleep(0.1)
        if not await handle.processes():
            break
    assert await handle.processes() == ""


async def test_unread_output_does_not_grow_the_runner(open_sandbox):
    handle = await open_sandbox()
    outcome = await handle.bash(
        "timeout 2 yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; true",
        seconds=20,
    )
    assert outcome.truncated
    resident = int((await handle.bash("awk '/VmRSS/ {print $2}' /proc/1/status")).output)
    assert resident < 64 << 10


async def test_a_sandbox_uses_no_more_than_its_share_of_the_processor(open_sandbox):
    handle = await open_sandbox(cpus=0.5)
    began = time.monotonic()
    spent = await handle.bash(
        "for i in 1 2; do timeout 2 python3 -c 'while True: pass' & done; wait; times | tail -1"
    )
    minutes, _, rest = spent.output.split()[0].partition("m")
    took = time.monotonic() - began
    assert took >= 2
    assert int(minutes) * 60 + float(rest.rstrip("s")) < 0.5 * took + 0.6


async def test_every_limit_applies_to_the_command(backend, open_sandbox):
    handle = await open_sandbox(processes=77, open_files=99, workspace_mib=55)
    asked = await handle.bash("ulimit -u; ulimit -n; ulimit -f; ulimit -c")
    processes, *others = asked.output.split()
    assert others == ["99", str(55 << 10), "0"]
    # The kernel counts processes by user, and containers share one: their control group limits them.
    assert processes == "77" or backend.name == "docker"


@only_bubblewrap
@pytest.mark.parametrize("way", ["enter", "add_process"])
async def test_a_sandbox_starts_without_control_groups_that_take_no_process(
    open_sandbox, monkeypatch, way
):
    def refuse(self, *pid: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(sandbox_directory.ControlGroup, way, refuse)
    handle = await open_sandbox(memory_mib=256)
    assert (await handle.bash(HOG)).cause == "out_of_memory"


@only_bubblewrap
async def test_a_control_group_that_a_sweep_removed_is_made_again(
    backend, open_sandbox, monkeypatch
):
    """A sweep may remove an old and empty group just before a process is added to it."""
    create, removed = sandbox_directory.ControlGroup.create, []

    def create_and_remove(self: sandbox_directory.ControlGroup, limits: SandboxLimits) -> bool:
        made = create(self, limits)
        if made and not removed:
            for folder in self.folders:
                folder.rmdir()
            removed.append(self)
        return made

    monkeypatch.setattr(sandbox_directory.ControlGroup, "create", create_and_remove)
    handle = await open_sandbox()
    if not removed:
        pytest.skip("control groups cannot be made here")
    runner = str(runners.pid(backend, handle.spec.conversation_id))
    for folder in removed[0].folders:
        assert runner in (folder / "cgroup.procs").read_text().split()
