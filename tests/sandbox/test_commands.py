"""Running commands, on every backend."""

import asyncio
import time

import pytest

from paca.engine.workspace import CallUnknown, Command, OutsideWorkspace, WorkspaceError

pytestmark = [pytest.mark.service, pytest.mark.anyio]


async def test_a_command_gives_its_output_exit_code_and_duration(handle):
    began = time.monotonic()
    outcome = await handle.bash("echo out; echo err >&2; sleep 0.2; exit 3")
    waited = time.monotonic() - began
    assert outcome.exit_code == 3
    assert outcome.output == "out\nerr\n"
    assert 0.1 < outcome.seconds <= waited
    assert (outcome.cause, outcome.truncated, outcome.file) == ("", False, "")


async def test_an_argument_vector_runs_without_a_shell(handle):
    outcome = await handle.sandbox.run(Command("a", argv=("printf", "%s|", "$HOME", "a b", "*")))
    assert outcome.output == "$HOME|a b|*|"


async def test_a_missing_program_is_an_outcome_not_an_error(handle):
    outcome = await handle.sandbox.run(Command("a", argv=("no-such-program",)))
    assert outcome.exit_code == 127
    assert "No such file" in outcome.output
    assert (await handle.bash("no-such-program")).exit_code == 127


async def test_a_signalled_command_has_the_shells_exit_code(handle):
    assert (
        await handle.sandbox.run(Command("a", argv=("bash", "-c", "kill -9 $$")))
    ).exit_code == 137


async def test_commands_start_in_the_workspace_or_a_folder_of_it(handle):
    await handle.write("src/deep/a.txt", "")
    assert (await handle.bash("pwd")).output == "/workspace\n"
    assert (await handle.bash("pwd", cwd="src/deep")).output == "/workspace/src/deep\n"
    with pytest.raises(OutsideWorkspace):
        await handle.bash("pwd", cwd="../etc")
    with pytest.raises(WorkspaceError, match="not a directory"):
        await handle.bash("pwd", cwd="src/deep/a.txt")


async def test_the_environment_contains_nothing_of_the_host(handle, monkeypatch):
    monkeypatch.setenv("PACA_CANARY", "canary")
    outcome = await handle.bash("env; cat /proc/*/environ 2>/dev/null", GREETING="good day")
    assert "GREETING=good day" in outcome.output
    assert "HOME=/home/agent" in outcome.output
    assert "canary" not in outcome.output


async def test_output_is_shown_while_the_command_runs(handle):
    """The command ends when its first output has been seen."""
    seen: list[str] = []
    begun = asyncio.Event()

    def show(text: str) -> None:
        seen.append(text)
        begun.set()

    line = "echo one; until [ -e /tmp/seen ]; do sleep 0.05; done; echo two"
    running = asyncio.create_task(handle.bash(line, on_output=show))
    async with asyncio.timeout(120):
        await begun.wait()
    await handle.bash("touch /tmp/seen")
    outcome = await running
    assert outcome.cause == ""
    assert "".join(seen) == outcome.output == "one\ntwo\n"


async def test_much_output_is_sent_in_few_updates(handle):
    pieces: list[str] = []
    line = "for i in $(seq 20000); do echo $i; done"
    outcome = await handle.bash(line, on_output=pieces.append)
    assert "20000" in pieces[-1]
    assert len(pieces) < 50 + 20 * outcome.seconds  # one in 50 ms


async def test_a_long_output_keeps_its_head_and_tail_and_is_whole_in_a_file(handle):
    outcome = await handle.bash("echo first; seq 100000; echo last")
    assert outcome.truncated
    assert outcome.output.startswith("first\n1\n")
    assert outcome.output.endswith("100000\nlast\n")
    assert len(outcome.output) < 60_000
    assert f"all of it is in {outcome.file}" in outcome.output
    whole = await handle.bash(f"wc -l < {outcome.file}; sed -n 50001p {outcome.file}")
    assert whole.output == "100002\n50000\n"
    assert (await handle.sandbox.read_lines(outcome.file, first=50_001, count=1)).text == "50000\n"
    assert ".paca" not in (await handle.bash("git init -q . && git status --porcelain")).output


async def test_the_file_of_a_long_output_is_limited(handle):
    outcome = await handle.bash("head -c 70000000 /dev/zero | tr '\\0' x", seconds=60)
    assert outcome.exit_code == 0
    assert (await handle.sandbox.stat(outcome.file)).size == 50 << 20


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (r"printf 'a\000b'", "a␀b"),
        (r"printf '\xe2\x82'; sleep 0.2; printf '\xac'", "€"),
        (r"printf '\xff\xfe!'", "\ufffd\ufffd!"),
        (r"printf 'x\xe2\x82'", "x\ufffd"),
    ],
)
async def test_output_is_text_whatever_bytes_a_command_writes(handle, line, expected):
    assert (await handle.bash(line)).output == expected


async def test_programs_count_show_and_sort_letters_of_any_script(handle):
    program = "import sys; print(sys.stdout.encoding, sys.getfilesystemencoding())"
    outcome = await handle.bash(
        f"locale charmap; printf ёж | wc -m; touch ñandú; ls; printf 'é\\nz\\nA\\n' | sort | tr -d '\\n'; echo;"
        f" x=日本; echo ${{#x}}; python3 -c '{program}'"
    )
    assert outcome.output == "UTF-8\n2\nñandú\nAzé\n2\nutf-8 utf-8\n"


async def test_binary_output_can_be_stored_as_json_and_utf8(handle):
    outcome = await handle.bash("head -c 4096 /dev/urandom")
    outcome.output.encode("utf-8")
    assert "\0" not in outcome.output
    assert (await handle.bash("echo fine")).output == "fine\n"


async def test_a_name_with_a_lone_surrogate_does_no_harm(handle):
    outcome = await handle.bash("touch '\ud800' && ls")
    assert outcome.exit_code == 0
    outcome.output.encode("utf-8")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("read -p 'Name? ' x; echo got=$x", "got="),
        ("git init -q r && cd r && touch a && git add a && git commit", "wanted input"),
        ("git clone https://127.0.0.1:1/private", "fatal"),
        ("git clone ssh://127.0.0.1/private", "fatal"),
        ("python3 -c 'input()'", "EOF"),
        ("sudo -k true", ""),
        (
            "git init -q q && cd q && for i in 1 2; do git commit -q --allow-empty -m $i; done; git rebase -i HEAD~1",
            "wanted input",
        ),
        ("cat > /dev/tty", "/dev/tty"),
        ("cat", ""),
        ("$EDITOR notes.txt", "wanted input"),
    ],
)
async def test_a_command_that_asks_for_input_ends_at_once(handle, line, says):
    outcome = await handle.bash(line, seconds=20)
    assert outcome.cause == "", "it waited until its time was over"
    assert says in outcome.output


async def test_commits_carry_the_agents_name(handle):
    outcome = await handle.bash(
        "git init -q . && git commit -q --allow-empty -m x && git log --format='%an <%ae>'"
    )
    assert outcome.output == "paca-agent <paca-agent@localhost>\n"


async def test_a_call_id_runs_once_however_often_it_is_requested(handle):
    first = await handle.bash("echo x >> once.txt; echo done", call_id="the-call")
    again = await handle.bash("echo x >> once.txt; echo done", call_id="the-call")
    seen: list[str] = []
    attached = await handle.sandbox.attach("the-call", seen.append)
    assert first == again == attached
    assert seen == ["done\n"]
    assert (await handle.bash("cat once.txt")).output == "x\n"


async def test_a_running_call_can_be_awaited_twice(handle):
    outcomes = await asyncio.gather(
        *(
            handle.bash("echo x >> once.txt; sleep 0.3; cat once.txt", call_id="shared")
            for _ in range(3)
        )
    )
    assert {outcome.output for outcome in outcomes} == {"x\n"}


async def test_an_unknown_call_cannot_be_attached(handle):
    with pytest.raises(CallUnknown):
        await handle.sandbox.attach("never-begun")
    await handle.sandbox.kill("never-begun")


async def test_cancelling_the_wait_leaves_the_command_running(handle):
    line = "until [ -e go-on ]; do sleep 0.05; done; echo through > done.txt"
    waiting = await handle.begin(line, call_id="slow")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await handle.bash("touch go-on")
    assert (await handle.sandbox.attach("slow")).exit_code == 0
    assert (await handle.bash("cat done.txt")).output == "through\n"


async def test_commands_run_side_by_side(handle):
    """Each command ends when all have started."""
    line = "touch begun-{0}; until [ $(ls begun-* | wc -l) = 8 ]; do sleep 0.05; done; echo {0}"
    outcomes = await asyncio.gather(*(handle.bash(line.format(i)) for i in range(8)))
    assert [outcome.output for outcome in outcomes] == [f"{i}\n" for i in range(8)]


async def test_too_many_commands_at_once_are_refused(handle):
    running = await asyncio.gather(
        *(handle.begin("sleep 300", call_id=f"busy-{i}", seconds=300) for i in range(32))
    )
    with pytest.raises(WorkspaceError, match="32 commands run already"):
        await handle.bash("echo one too many")
    await asyncio.gather(*(handle.sandbox.kill(f"busy-{i}") for i in range(32)))
    assert {outcome.cause for outcome in await asyncio.gather(*running)} == {"cancelled"}


@pytest.mark.parametrize("size", [100, 130_000, 150 << 10, 1_040_000])
async def test_a_long_script_runs_as_a_short_one_does(handle, size):
    lines = "".join(f"{number:099}\n" for number in range(size // 100))
    script = f"cat > copy.txt <<'END'\n{lines}END\nls /dev/fd/9; echo \"$0 $# $-\"; exit 7\n"
    outcome = await handle.bash(script)
    assert outcome.exit_code == 7
    assert outcome.output.endswith("No such file or directory\n/bin/bash 0 hBc\n")
    assert await handle.sandbox.read("copy.txt", limit=4 << 20) == lines.encode()


@pytest.mark.parametrize(
    "command",
    [
        Command("bad", shell="echo a\0b"),
        Command("bad", argv=()),
        Command("bad"),
        Command("bad", shell="x" * (1 << 20) + "x"),
        Command("bad", argv=("echo", "x" * 140_000)),
        Command("bad", shell="true", env={"A": "b\0c"}),
    ],
)
async def test_an_invalid_command_is_refused_with_a_reason(handle, command):
    with pytest.raises(WorkspaceError, match="command|NUL"):
        await handle.sandbox.run(command)
    assert (await handle.bash("echo alive")).output == "alive\n"


async def test_a_server_started_in_the_background_outlives_its_call(handle):
    began = await handle.bash(
        "(while true; do echo tick; echo >> ticks; sleep 0.05; done) & echo $! > pid; echo started"
    )
    assert "started" in began.output
    assert began.cause == "", "the call waited for it"
    goes_on = "n=$(wc -l < ticks); until [ $(wc -l < ticks) -gt $((n + 5)) ]; do sleep 0.05; done"
    assert (await handle.bash(goes_on)).exit_code == 0
    assert (await handle.bash("kill -0 $(cat pid) && echo alive")).output == "alive\n"
