"""The bash tool: its output and the remarks on how a command ended."""

from pathlib import Path
from typing import Any

import pytest

from paca.engine.tools.command_output import waited_for_input, without_duration
from paca.engine.tools.formatting import MAX_OUTPUT_BYTES
from paca.engine.workspace import Command, CommandOutcome, OnOutput, ProcessInfo
from tests.engine.tools.conftest import ToolSession
from tests.engine.tools.host_workspace import HostSandboxWorkspace

pytestmark = pytest.mark.anyio


class FixedOutcomeWorkspace(HostSandboxWorkspace):
    """A workspace in which every command has the given outcome."""

    def __init__(self, root: Path, **facts: Any) -> None:
        super().__init__(root)
        self.outcome = CommandOutcome(**{"exit_code": 0, "output": "", "seconds": 1.0, **facts})

    async def run(self, command: Command, on_output: OnOutput | None = None) -> CommandOutcome:
        return self.outcome


async def test_bash_shows_output_exit_code_and_time(session: ToolSession):
    result = await session.call("bash", command="echo out; echo err >&2; exit 3")
    assert result.output.startswith("out\nerr\n[exit 3 after 0.")
    assert (result.failed, result.exit_code, result.cause) == (True, 3, "")


async def test_bash_reports_a_success_without_output(session: ToolSession):
    result = await session.call("bash", command="true")
    assert result.output.startswith("(no output)\n[exit 0 after ")
    assert not result.failed


async def test_bash_starts_each_command_in_the_workspace(session: ToolSession):
    await session.call("bash", command="mkdir deep && cd deep")
    result = await session.call("bash", command="pwd")
    assert result.output.startswith(str(session.workspace.root) + "\n")


async def test_bash_passes_the_command_line_unchanged(session: ToolSession):
    result = await session.call(
        "bash", command="""printf '%s|' "a b" 'c"d' $((1+1)) \\$x <<'E'\nE\n"""
    )
    assert result.output.startswith('a b|c"d|2|$x|\n')


async def test_bash_timeout_names_the_limit_and_the_next_step(session: ToolSession):
    result = await session.call("bash", command="sleep 30", timeout_seconds=1)
    assert result.cause == "timed_out"
    assert result.failed
    assert "the time limit of this call is 1 s" in result.output
    assert "larger timeout_seconds" in result.output


async def test_bash_uses_the_time_limit_of_the_installation_by_default(session: ToolSession):
    session.limits["command_timeout_seconds"] = 7
    await session.call("bash", command="true")
    await session.call("bash", command="true", timeout_seconds=90)
    assert [command.timeout_seconds for command in session.workspace.executed] == [7, 90]


async def test_bash_keeps_both_ends_of_long_output_and_names_the_file(session: ToolSession):
    result = await session.call("bash", command="seq 1 20000")
    assert result.output.startswith("1\n2\n")
    assert "\n20000\n[exit 0 after" in result.output
    assert result.output.endswith(f"[The output is cut here; all of it is in {result.file}.]")
    assert len(result.output.encode()) < MAX_OUTPUT_BYTES + 400
    assert result.truncated


async def test_bash_saves_output_that_is_cut_for_the_model_in_a_file(session: ToolSession):
    result = await session.call("bash", call_id="one", command="seq 1 7000")
    assert (result.truncated, result.file) == (True, ".paca/output/one.txt")
    kept = session.workspace.root / result.file
    assert kept.read_text() == "".join(f"{n}\n" for n in range(1, 7001))
    await session.call("bash", command="git init -q")
    assert "paca" not in (await session.call("git_status")).output


@pytest.mark.parametrize(
    ("cause", "limits", "expected"),
    [
        ("out_of_memory", {"memory_mib": 2048}, "out of memory (the limit is 2,048 MiB)"),
        ("out_of_memory", {}, "out of memory. Use less"),
        ("disk_full", {"workspace_mib": 512}, "the workspace is full (the limit is 512 MiB)"),
        ("cancelled", {}, "[Cancelled after 1.5 s.]"),
    ],
)
async def test_bash_names_the_limit_that_ended_a_command(
    tmp_path: Path, cause: str, limits: dict[str, int], expected: str
):
    session = ToolSession(
        FixedOutcomeWorkspace(tmp_path, exit_code=None, seconds=1.5, cause=cause),
        limits=dict(limits),
    )
    result = await session.call("bash", command="make")
    assert expected in result.output
    assert (result.failed, result.cause) == (True, cause)


async def test_bash_names_the_processes_that_outlive_a_command(tmp_path: Path):
    living = (ProcessInfo(7, "sleep 99"), ProcessInfo(9, "python3 -m http.server\n\x1b[31m"))
    result = await ToolSession(FixedOutcomeWorkspace(tmp_path, living=living)).call(
        "bash", command="server & echo started"
    )
    assert result.output.endswith(
        "\n[Still running after its end: 7 (sleep 99), 9 (python3 -m http.server …). "
        "End one with kill and its number.]"
    )
    other = await ToolSession(
        FixedOutcomeWorkspace(tmp_path, living=(ProcessInfo(8, "sleep 99"), living[1]))
    ).call("bash", command="server & echo started")
    assert without_duration(result.output) == without_duration(other.output)


async def test_bash_timeout_names_the_processes_that_were_ended(tmp_path: Path):
    killed = tuple(ProcessInfo(number, "sleep 99") for number in range(10, 30))
    result = await ToolSession(
        FixedOutcomeWorkspace(tmp_path, exit_code=143, cause="timed_out", killed=killed)
    ).call("bash", command="server")
    assert "All its processes were ended, also 10 (sleep 99), 11 " in result.output
    assert "17 (sleep 99), 12 more. Give a larger" in result.output
    assert "in the background" in result.output


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (137, "exit 137 (ended by SIGKILL)"),
        (-11, "exit -11 (ended by SIGSEGV)"),
        (255, "exit 255 "),
    ],
)
async def test_bash_names_the_signal_that_ended_a_command(tmp_path: Path, code: int, expected: str):
    result = await ToolSession(FixedOutcomeWorkspace(tmp_path, exit_code=code)).call(
        "bash", command="./a.out"
    )
    assert expected in result.output


@pytest.mark.parametrize(
    "command",
    [
        "read -p 'Name? ' x; echo got=$x",
        "python3 -c 'input()'",
        "git init -q; git commit --allow-empty",
        "true && read answer",
    ],
)
async def test_bash_explains_that_input_is_closed(session: ToolSession, command: str):
    result = await session.call("bash", command=command)
    assert "[It wanted input, and standard input is closed" in result.output


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("sudo -k true", "sudo: a terminal is required to read the password"),
        (
            "git clone https://127.0.0.1:1/private",
            "fatal: could not read Username: terminal prompts disabled",
        ),
        ("apt install vim", "After this operation ...\nDo you want to continue? [Y/n] Abort."),
        ("ssh host", "Host key verification failed."),
    ],
)
def test_waited_for_input_recognizes_programs_that_ask(command: str, output: str):
    assert waited_for_input(command, output)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cat readme", "Please read the manual"),
        ("while read line; do echo $line; done < names", "a"),
        ("read first < names; echo $first", "a"),
        ("./read.sh", ""),
        ("git status", "nothing to commit"),
    ],
)
def test_waited_for_input_ignores_ordinary_commands(command: str, output: str):
    assert not waited_for_input(command, output)


async def test_bash_turns_binary_output_into_text_that_can_be_stored(session: ToolSession):
    noise = await session.call("bash", command="head -c 4096 /dev/urandom")
    noise.output.encode()
    assert "\0" not in noise.output
    assert (await session.call("bash", command="printf 'a\\000b'")).output.startswith("a␀b\n")


async def test_bash_keeps_markup_and_drops_terminal_codes(session: ToolSession):
    result = await session.call(
        "bash",
        command=r"""printf '<img src=x onerror=alert(1)>\033]8;;http://evil.example\007x\033[2J\n'""",
    )
    assert result.output.startswith("<img src=x onerror=alert(1)>x\n[")


async def test_bash_runs_the_same_call_once(session: ToolSession):
    for _ in range(2):
        result = await session.call("bash", call_id="one", command="echo x >> log; cat log")
        assert result.output.startswith("x\n[")
    assert len(session.workspace.executed) == 1
