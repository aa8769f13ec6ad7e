"""A command that takes too much ends with its cause, alone: the sandbox and its neighbours go on."""

import asyncio
import time

import pytest

from paca.sandbox.base import SandboxLimits
from paca.sandbox.bubblewrap import sandbox_directory
from tests.sandbox.conftest import only_bubblewrap
from tests.support import runners

pytestmark = [pytest.mark.service, pytest.mark.anyio]

HOG = "python3 -c 'x = bytearray(600 << 20); print(len(x))'"
MANY_HOGS = "for i in 1 2 3 4; do python3 -c 'import time; x = bytearray(100 << 20); time.sleep(4)' & done; wait"
BOMB = ":(){ :|:& };:; sleep 20"


# Who minds the memory: the kernel, or where there are no cgroups the runner itself. A container
# without one is refused.
by_whoever_minds_it = pytest.mark.parametrize(
    ("backend", "keeper"),
    [
        ("bubblewrap", "cgroup"),
        ("bubblewrap", "watchdog"),
        pytest.param("docker", "cgroup", marks=pytest.mark.docker),
    ],
    indirect=True,
)


@pytest.fixture
def keeper(request, monkeypatch) -> str:
    if request.param == "watchdog":
        monkeypatch.setattr(sandbox_directory.ControlGroup, "create", lambda self, limits: False)
    return request.param


async def alive(hands) -> bool:
    outcome = await hands.bash("echo alive", seconds=10)
    return outcome.output == "alive\n"


@by_whoever_minds_it
@pytest.mark.parametrize("line", [HOG, MANY_HOGS], ids=["one", "many"])
async def test_a_memory_hog_is_ended_for_lack_of_memory(keeper, open_sandbox, line):
    hands, neighbour = await open_sandbox(memory_mib=256), await open_sandbox(memory_mib=256)
    await hands.put("kept.txt", "kept")
    boot_id = hands.sandbox.boot_id
    outcome = await hands.bash(line)
    assert outcome.cause == "out_of_memory"
    assert outcome.seconds < 15
    assert await alive(hands)
    assert await alive(neighbour)
    assert hands.sandbox.boot_id == boot_id
    assert (await hands.bash("cat kept.txt")).output == "kept"


@by_whoever_minds_it
async def test_a_killed_hog_has_exit_code_137(keeper, open_sandbox):
    hands = await open_sandbox(memory_mib=256)
    assert (await hands.bash(HOG)).exit_code == 137


@by_whoever_minds_it
async def test_memory_that_fits_is_left_alone(keeper, open_sandbox):
    hands = await open_sandbox(memory_mib=256)
    # Forked memory is shared, not double; the file system in memory counts once.
    line = "python3 -c 'import os, time; x = bytearray(100 << 20); [os.fork() or time.sleep(1) for i in range(2)]; time.sleep(1); print(1)' | tail -1"
    outcome = await hands.bash(line)
    assert (outcome.cause, outcome.output) == ("", "1\n")


async def test_a_full_tmp_says_so_and_harms_nobody(open_sandbox):
    hands = await open_sandbox(memory_mib=256)
    outcome = await hands.bash(
        "cat /dev/zero > /tmp/full; cat /dev/zero > ~/full; cat /dev/zero > /dev/shm/full"
    )
    assert outcome.output.count("No space left") >= 2
    assert await alive(hands)
    assert (
        await hands.bash("rm -f /tmp/full ~/full; echo x > /tmp/y && cat /tmp/y")
    ).output == "x\n"


@pytest.mark.parametrize("bomb", [BOMB, ":(){ :|:& };:", "while true; do sleep 100 & done"])
async def test_a_fork_bomb_ends_and_its_sandbox_can_be_used_again(open_sandbox, bomb):
    hands, neighbour = await open_sandbox(processes=64), await open_sandbox(processes=64)
    exploding = asyncio.create_task(hands.bash(bomb, seconds=30))
    await asyncio.sleep(0.5)
    assert await alive(neighbour)
    outcome = await exploding
    assert outcome.cause in {"too_many_processes", ""}
    for _ in range(100):
        if await hands.processes() == "" and await alive(hands):
            break
        await asyncio.sleep(0.1)
    assert await alive(hands)
    assert await hands.processes() == ""


async def test_a_runner_in_a_crowd_can_still_start_a_command(open_sandbox):
    hands = await open_sandbox(processes=64)
    await hands.bash("for i in $(seq 100); do sleep 5 & done 2>/dev/null; true")
    assert (await hands.bash("echo alive")).output == "alive\n"


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
    hands = await open_sandbox(workspace_mib=64)
    outcome = await hands.bash(line, seconds=30)
    assert outcome.cause == "disk_full"
    assert await hands.processes() == ""
    used = int((await hands.bash("du -sm . | cut -f1")).output)
    assert used < 64 * 20
    # What is too much must be possible to delete, though it is more than the limit all the while.
    assert (await hands.bash("sleep 1; rm -rf *; sleep 0.5; echo clean")).output == "clean\n"


async def test_a_silent_filler_in_the_background_is_ended_too(open_sandbox):
    hands = await open_sandbox(workspace_mib=32)
    await hands.bash("(for i in $(seq 9999); do head -c 1M /dev/zero > part-$i; done) & true")
    for _ in range(100):
        await asyncio.sleep(0.1)
        if not await hands.processes():
            break
    assert await hands.processes() == ""


async def test_more_output_than_anyone_reads_does_not_grow_the_runner(open_sandbox):
    hands = await open_sandbox()
    outcome = await hands.bash(
        "timeout 2 yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; true",
        seconds=20,
    )
    assert outcome.truncated
    resident = int((await hands.bash("awk '/VmRSS/ {print $2}' /proc/1/status")).output)
    assert resident < 64 << 10


async def test_a_sandbox_uses_no_more_than_its_share_of_the_processor(open_sandbox):
    hands = await open_sandbox(cpus=0.5)
    began = time.monotonic()
    spent = await hands.bash(
        "for i in 1 2; do timeout 2 python3 -c 'while True: pass' & done; wait; times | tail -1"
    )
    minutes, _, rest = spent.output.split()[0].partition("m")
    took = time.monotonic() - began
    assert took >= 2
    assert int(minutes) * 60 + float(rest.rstrip("s")) < 0.5 * took + 0.6


async def test_every_limit_reaches_the_command(backend, open_sandbox):
    hands = await open_sandbox(processes=77, open_files=99, workspace_mib=55)
    asked = await hands.bash("ulimit -u; ulimit -n; ulimit -f; ulimit -c")
    processes, *others = asked.output.split()
    assert others == ["99", str(55 << 10), "0"]
    # The kernel counts processes by user, and containers share one: there the group is the limit.
    assert processes == "77" or backend.name == "docker"


@only_bubblewrap
async def test_where_groups_cannot_be_entered_a_sandbox_starts_without(open_sandbox, monkeypatch):
    def refuse(self, pid: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(sandbox_directory.ControlGroup, "add_process", refuse)
    hands = await open_sandbox(memory_mib=256)
    assert (await hands.bash(HOG)).cause == "out_of_memory"


@only_bubblewrap
async def test_a_group_that_a_sweep_took_for_abandoned_is_made_anew(
    backend, open_sandbox, monkeypatch
):
    """One that is old and empty goes in the moment in which a process is about to be put into it."""
    create, gone = sandbox_directory.ControlGroup.create, []

    def made_and_gone(self: sandbox_directory.ControlGroup, limits: SandboxLimits) -> bool:
        made = create(self, limits)
        if made and not gone:
            for folder in self.folders:
                folder.rmdir()
            gone.append(self)
        return made

    monkeypatch.setattr(sandbox_directory.ControlGroup, "create", made_and_gone)
    hands = await open_sandbox()
    if not gone:
        pytest.skip("control groups cannot be made here")
    runner = str(runners.pid(backend, hands.spec.conversation_id))
    for folder in gone[0].folders:
        assert runner in (folder / "cgroup.procs").read_text().split()
