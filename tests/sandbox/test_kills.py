"""Timeouts and kills end every process of a call, and no other."""

import asyncio
import itertools
import os
import subprocess
from pathlib import Path

import pytest

from paca.engine.workspace import WorkspaceError
from paca.sandbox.exit_cause import ExitKind
from tests.sandbox.conftest import only_bubblewrap
from tests.support import runners
from tests.support.promises import END_COMMAND_SECONDS, kept

pytestmark = [pytest.mark.service, pytest.mark.anyio]

TREES = {
    "a busy child": "python3 -c 'while True: pass'",
    "deaf to TERM": "trap '' TERM; python3 -c 'import signal; signal.signal(15, 1)\nwhile True: pass'",
    "a pipeline": "yes | cat | tr y n > /dev/null",
    "a session of its own": "setsid sleep 1234 & sleep 1234",
    "a daemon": "setsid bash -c 'sleep 1234 & disown' & disown; sleep 1234",
    "a nameless daemon": "env -i setsid bash -c 'sleep 1234 &'; sleep 1234",
    "a daemon that says it is of no call": "PACA_CALL= setsid bash -c 'sleep 1234 &'; sleep 1234",
    "a daemon that names another call": "PACA_CALL=before setsid bash -c 'sleep 1234 &'; sleep 1234",
    "stopped": "sleep 1234 & kill -STOP $!; sleep 1234",
}


@pytest.mark.parametrize("line", TREES.values(), ids=TREES)
async def test_a_timeout_ends_the_whole_process_tree_within_two_seconds(handle, line):
    """Children that ignore TERM, and those in other sessions, end too (T-15)."""
    await handle.bash("true", call_id="before")
    with kept(1 + END_COMMAND_SECONDS):
        outcome = await handle.bash(line, seconds=1)
    assert outcome.cause == "timed_out"
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
    doomed = await handle.begin("setsid sleep 1234 & sleep 1234", call_id="doomed")
    line = "until [ -e go-on ]; do sleep 0.05; done; echo survived"
    other = await handle.begin(line, call_id="other")
    await handle.sandbox.kill("doomed")
    assert "1234" not in await handle.processes()
    assert (await doomed).cause == "cancelled"
    await handle.bash("touch go-on")
    survived = await other
    assert (survived.output, survived.living) == ("begun\nsurvived\n", ())


async def test_a_call_that_ends_by_itself_leaves_what_it_started_in_the_background(handle):
    outcome = await handle.bash(
        f"sleep 1234 > /dev/null 2>&1 & {runners.until_executed('sleep')}; echo started"
    )
    assert (outcome.cause, outcome.output) == ("", "started\n")
    assert [process.line for process in outcome.living] == ["sleep 1234"]
    assert (await handle.bash(f"kill {outcome.living[0].pid}")).exit_code == 0
    assert (await handle.bash("true")).living == ()


async def test_a_process_of_an_earlier_call_is_not_named_again(handle):
    await handle.bash("setsid sleep 1234 & true")
    assert (await handle.bash("sleep 0.1")).living == ()
    later = await handle.bash(f"setsid sleep 4321 & {runners.until_executed('sleep')}")
    assert [process.line for process in later.living] == ["sleep 4321"]


async def test_a_call_at_its_time_limit_names_the_processes_that_were_ended(handle):
    server = asyncio.create_task(handle.bash("setsid sleep 99 & sleep 98", seconds=2))
    outcome = await server
    assert outcome.cause == "timed_out"
    assert {process.line for process in outcome.killed} == {"sleep 99", "sleep 98"}
    assert outcome.living == ()


async def test_killing_twice_or_after_the_end_does_nothing(handle):
    running = await handle.begin("sleep 1234", call_id="it")
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
        "prlimit --nproc=1 --nofile=3 --pid 1; chrt --idle --pid 0 1; renice -n 19 -p 1; renice -n 19 -g 1",
        'renice -n 19 -u "$(id -u)"; ionice -c 3 -p 1; taskset -p 1 1',
        "python3 -c 'import os; fd = os.pidfd_open(1); import ctypes; print(ctypes.CDLL(None).syscall(438, fd, 3, 0))'",
    ):
        await handle.bash(line, seconds=5)
        assert (await handle.bash("echo alive")).output == "alive\n"
    assert handle.sandbox.boot_id == boot_id


async def test_commands_may_act_on_their_own_processes_as_on_none_of_the_runner(handle):
    """The same calls as in the attacks: they would work on the runner if nothing refused them."""
    line = "{} && echo done"
    for own, foreign in (
        ("prlimit --nofile=100 --pid $$", "prlimit --nofile=100 --pid 1"),
        ("renice -n 19 -p $$", "renice -n 19 -p 1"),
        ("chrt --batch --pid 0 $$", "chrt --batch --pid 0 1"),
        ("ionice -c 3 -p $$", "ionice -c 3 -p 1"),
        ("kill -0 $$", "kill -0 1"),
    ):
        assert (await handle.bash(line.format(own))).output.endswith("done\n"), own
        refused = await handle.bash(line.format(foreign))
        assert (refused.exit_code != 0, "ermitted" in refused.output) == (True, True), foreign


def lowest_free_descriptor(pid: int) -> int:
    """The number of the next file that the process opens. It may just have opened others for a moment."""
    looks = ({int(each.name) for each in Path(f"/proc/{pid}/fd").iterdir()} for _ in range(50))
    return min(next(number for number in itertools.count() if number not in used) for used in looks)


@only_bubblewrap
async def test_a_runner_that_can_start_no_command_says_so_and_is_replaced(
    backend, open_sandbox, handle
):
    if os.geteuid() != 0:
        pytest.skip("only root may become the user of a sandbox")
    runner = runners.pid(backend, handle.spec.conversation_id)
    user = int((await handle.bash("id -u")).output)  # now the runner has loaded its modules
    files = lowest_free_descriptor(runner)
    subprocess.run(  # noqa: ASYNC221 - it ends at once
        ["prlimit", f"--nofile={files}", "--pid", str(runner)],
        user=user,
        group=user,
        extra_groups=[],
        check=True,
    )
    with pytest.raises(
        WorkspaceError, match=r"could not start this command: Too many open files\."
    ):
        await handle.bash("echo x")
    await handle.sandbox.wait_until_lost()
    cause = await backend.find_exit_cause(handle.spec.conversation_id, just_lost=True)
    assert cause.kind == ExitKind.EXHAUSTED
    again = await open_sandbox(conversation=handle.spec.conversation_id)
    assert again.sandbox.boot_id != handle.sandbox.boot_id
    assert (await again.bash("echo x")).output == "x\n"


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
