"""Timeouts and kills reach every process of a call, and no other."""

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
async def test_two_seconds_after_the_limit_nothing_of_the_tree_is_left(hands, line):
    """T-15."""
    began = time.monotonic()
    outcome = await hands.bash(line, seconds=1)
    assert outcome.cause == "timed_out"
    assert time.monotonic() - began < 3.5
    assert await hands.processes() == ""


async def test_a_timed_out_command_keeps_what_it_said(hands):
    outcome = await hands.bash("echo before; sleep 60", seconds=2)
    assert (outcome.output, outcome.cause) == ("before\n", "timed_out")
    assert outcome.exit_code == 143


async def test_a_polite_command_may_tidy_up_before_it_is_killed(hands):
    outcome = await hands.bash("trap 'echo tidy > tidy.txt; exit' TERM; sleep 60 & wait", seconds=2)
    assert outcome.cause == "timed_out"
    assert (await hands.bash("cat tidy.txt")).output == "tidy\n"


async def test_kill_ends_one_call_and_leaves_the_others(hands):
    doomed = asyncio.create_task(hands.bash("setsid sleep 1234 & sleep 1234", call_id="doomed"))
    other = asyncio.create_task(hands.bash("sleep 2; echo survived", call_id="other"))
    await asyncio.sleep(0.3)
    await hands.sandbox.kill("doomed")
    assert "1234" not in await hands.processes()
    assert (await doomed).cause == "cancelled"
    assert (await other).output == "survived\n"


async def test_killing_twice_or_after_the_end_does_nothing(hands):
    running = asyncio.create_task(hands.bash("sleep 1234", call_id="it"))
    await asyncio.sleep(0.2)
    await asyncio.gather(hands.sandbox.kill("it"), hands.sandbox.kill("it"))
    await hands.sandbox.kill("it")
    assert (await running).cause == "cancelled"


async def test_the_runner_survives_what_the_agent_does_to_it(hands):
    boot_id = hands.sandbox.boot_id
    for line in (
        "kill -9 -1",
        "pkill -9 python; pkill -9 -f paca",
        "kill -9 1; kill -TERM 1; kill -STOP 1",
        "cat /proc/1/environ /proc/1/mem /proc/1/maps; ls -l /proc/1/fd; echo x > /proc/1/oom_score_adj",
        "python3 -c 'import os; fd = os.pidfd_open(1); import ctypes; print(ctypes.CDLL(None).syscall(438, fd, 3, 0))'",
    ):
        await hands.bash(line, seconds=5)
        assert (await hands.bash("echo alive")).output == "alive\n"
    assert hands.sandbox.boot_id == boot_id


async def test_nobody_can_look_into_the_runner(hands):
    outcome = await hands.bash("cat /proc/1/environ; ls /proc/1/fd; strace -p 1; cat /proc/1/mem")
    assert "LD_LIBRARY_PATH" not in outcome.output
    assert outcome.output.count("Permission denied") >= 3


async def test_no_zombies_stay(hands):
    await hands.bash("for i in $(seq 30); do (setsid true &) ; done; sleep 0.3")
    for _ in range(100):
        zombies = (await hands.bash("grep -l '^State:.Z' /proc/[0-9]*/status")).output
        if not zombies:
            break
        await asyncio.sleep(0.1)
    assert zombies == ""
