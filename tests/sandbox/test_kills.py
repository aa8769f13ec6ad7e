"""Timeouts and kills end every process of a call, and no other."""

import asyncio
import time

import pytest

pytestmark = [pytest.mark.service, pytest.mark.anyio]

TREES = {
    "a busy child": "python3 -c 'while True: pass'",
    "deaf to TERM": "trap '' TERM; python3 -c 'import signal; signal.signal(15, 1)\nwhile True: pass'",
    "a pipeline": "yes | cat | tr y n > /dev/null",
    "a session of its own": "setsid sleep 1234 & sleep 1234",
    "a daemon": "setsid bash -c 'sleep 1234 & disown' & disown; sleep 1234",
    "a nameless daemon": "env -i setsid bash -c 'sleep 1234 &'; sleep 1234",
    "stopped": "sleep 1234 & kill -STOP $!; sleep 1234",
}


@pytest.mark.parametrize("line", TREES.values(), ids=TREES)
async def test_a_timeout_ends_the_whole_process_tree_within_two_seconds(handle, line):
    """Children that ignore TERM, and those in other sessions, end too (T-15)."""
    began = time.monotonic()
    outcome = await handle.bash(line, seconds=1)
    assert outcome.cause == "timed_out"
    assert time.monotonic() - began < 3.5
    assert await handle.processes() == ""


async def test_a_timed_out_command_keeps_its_output(handle):
    outcome = await handle.bash("echo before; sleep 60", seconds=2)
    assert (outcome.output, outcome.cause) == ("before\n", "timed_out")
    assert outcome.exit_code == 143


async def test_a_command_may_clean_up_after_term_before_it_is_killed(handle):
    outcome = await handle.bash(
        "trap 'echo tidy > tidy.txt; exit' TERM; sleep 60 & wait", seconds=2
    )
    assert outcome.cause == "timed_out"
    assert (await handle.bash("cat tidy.txt")).output == "tidy\n"


async def test_kill_ends_one_call_and_leaves_the_others(handle):
    doomed = asyncio.create_task(handle.bash("setsid sleep 1234 & sleep 1234", call_id="doomed"))
    other = asyncio.create_task(handle.bash("sleep 2; echo survived", call_id="other"))
    await asyncio.sleep(0.3)
    await handle.sandbox.kill("doomed")
    assert "1234" not in await handle.processes()
    assert (await doomed).cause == "cancelled"
    assert (await other).output == "survived\n"


async def test_killing_twice_or_after_the_end_does_nothing(handle):
    running = asyncio.create_task(handle.bash("sleep 1234", call_id="it"))
    await asyncio.sleep(0.2)
    await asyncio.gather(handle.sandbox.kill("it"), handle.sandbox.kill("it"))
    await handle.sandbox.kill("it")
    assert (await running).cause == "cancelled"


async def test_the_runner_survives_attacks_of_the_agent(handle):
    boot_id = handle.sandbox.boot_id
    for line in (
        "kill -9 -1",
        "pkill -9 python; pkill -9 -f paca",
        "kill -9 1; kill -TERM 1; kill -STOP 1",
        "cat /proc/1/environ /proc/1/mem /proc/1/maps; ls -l /proc/1/fd; echo x > /proc/1/oom_score_adj",
        "python3 -c 'import os; fd = os.pidfd_open(1); import ctypes; print(ctypes.CDLL(None).syscall(438, fd, 3, 0))'",
    ):
        await handle.bash(line, seconds=5)
        assert (await handle.bash("echo alive")).output == "alive\n"
    assert handle.sandbox.boot_id == boot_id


async def test_commands_cannot_inspect_the_runner(handle):
    outcome = await handle.bash("cat /proc/1/environ; ls /proc/1/fd; strace -p 1; cat /proc/1/mem")
    assert "LD_LIBRARY_PATH" not in outcome.output
    assert outcome.output.count("Permission denied") >= 3


async def test_the_runner_leaves_no_zombies(handle):
    await handle.bash("for i in $(seq 30); do (setsid true &) ; done; sleep 0.3")
    for _ in range(100):
        zombies = (await handle.bash("grep -l '^State:.Z' /proc/[0-9]*/status")).output
        if not zombies:
            break
        await asyncio.sleep(0.1)
    assert zombies == ""
