"""The demo model: real tool calls, real results in its answers, and no state except the messages."""

import subprocess
import time

import pytest

from paca.engine.llm.base import Message, Reply, StopReason, Text, TextDelta, ToolResult, ToolSpec
from paca.engine.llm.demo import scripted_model
from tests.engine.llm.request_builders import (
    assistant_message,
    chunks_of,
    reply_of,
    request_with,
    user_message,
)

pytestmark = pytest.mark.anyio

TOOLS = tuple(
    ToolSpec(name, "A tool.", {"type": "object"})
    for name in ("bash", "read_file", "write_file", "edit_file", "list_directory")
)
LOOK, PROGRAM, BUG = (text for _, text in scripted_model.PROMPTS)


class Sandbox:
    """Runs the demo's calls in a real folder."""

    def __init__(self, folder) -> None:
        self.folder = folder
        self.calls: list[str] = []
        self.broken = 0

    def run(self, call) -> ToolResult:
        self.calls.append(call.tool)
        if self.broken:
            self.broken -= 1
            return ToolResult(call.call_id, "The sandbox is not available.", failed=True)
        output, failed = getattr(self, call.tool)(**call.arguments)
        return ToolResult(call.call_id, output, failed)

    def bash(self, command):
        done = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr, done.returncode != 0

    def write_file(self, path, content):
        (self.folder / path).write_text(content)
        return f"wrote {path}", False

    def read_file(self, path):
        return (self.folder / path).read_text(), False

    def edit_file(self, path, old, new):
        text = (self.folder / path).read_text()
        assert text.count(old) == 1
        (self.folder / path).write_text(text.replace(old, new))
        return "edited", False

    def list_directory(self, path):
        return "\n".join(sorted(p.name for p in self.folder.iterdir())) or "(empty)", False


@pytest.fixture
def sandbox(tmp_path) -> Sandbox:
    return Sandbox(tmp_path)


def asked(*messages, **changes):
    return request_with(*messages, **{"tools": TOOLS, "model": scripted_model.MODEL, **changes})


async def carry_on(sandbox, history: list[Message], *, most=12, **changes) -> Reply:
    """Ask and run the calls until an answer comes. Each request goes to a new model without memory."""
    for _ in range(most):
        reply = await reply_of(
            scripted_model.DemoLLM(pieces_per_second=0), asked(*history, **changes)
        )
        history.append(assistant_message(*reply.blocks))
        if not reply.calls:
            return reply
        history.append(user_message(*(sandbox.run(call) for call in reply.calls)))
    raise AssertionError("the demo does not end")


async def test_demo_looks_around_and_quotes_the_output(sandbox):
    (sandbox.folder / "hello.txt").write_text("hello")
    reply = await carry_on(sandbox, [user_message(LOOK)])
    assert sandbox.calls == ["bash", "list_directory"]
    assert str(sandbox.folder) in reply.text
    assert "hello.txt" in reply.text
    assert "Python 3" in reply.text


async def test_demo_writes_a_working_program_and_quotes_its_output(sandbox):
    reply = await carry_on(sandbox, [user_message(PROGRAM)])
    assert sandbox.calls == ["write_file", "bash", "bash"]
    assert "17 primes below 60" in reply.text
    assert "78498 primes below 1000000" in reply.text
    assert "real" in reply.text
    assert "Traceback" not in reply.text


async def test_demo_finds_a_real_bug_and_fixes_it(sandbox):
    reply = await carry_on(sandbox, [user_message(BUG)])
    assert sandbox.calls == ["write_file", "write_file", "bash", "read_file", "edit_file", "bash"]
    assert "AssertionError" in reply.text
    assert "OK" in reply.text
    assert not sandbox.bash("python3 test_cart.py")[1]


async def test_demo_does_one_job_after_the_other_in_one_conversation(sandbox):
    history = [user_message(PROGRAM)]
    await carry_on(sandbox, history)
    history.append(user_message(LOOK))
    assert "primes.py" in (await carry_on(sandbox, history)).text
    history.append(user_message(PROGRAM))
    assert "17 primes" in (await carry_on(sandbox, history)).text


async def test_demo_answers_an_unknown_prompt_with_its_help(sandbox):
    for words in ("What is the capital of France?", "continue", "<script>", "go on"):
        reply = await carry_on(sandbox, [user_message(words)])
        assert sandbox.calls == []
        assert all(title in reply.text for title, _ in scripted_model.PROMPTS)
        assert "API key" in reply.text
        assert "not a language model" in reply.text


@pytest.mark.parametrize(
    "words", [LOOK.upper(), f"Hello! {LOOK}", "look around the sandbox", f"{LOOK}\n"]
)
async def test_demo_recognizes_a_prompt_in_another_spelling(sandbox, words):
    await carry_on(sandbox, [user_message(words)])
    assert sandbox.calls == ["bash", "list_directory"]


async def test_demo_repeats_a_failed_step_once(sandbox):
    sandbox.broken = 1
    reply = await carry_on(sandbox, [user_message(PROGRAM)])
    assert sandbox.calls == ["write_file", "write_file", "bash", "bash"]
    assert "17 primes" in reply.text


async def test_demo_gives_up_without_a_sandbox_and_tells_the_next_step(sandbox):
    sandbox.broken = 100
    history = [user_message(PROGRAM)]
    reply = await carry_on(sandbox, history)
    assert sandbox.calls == ["write_file"] * 2
    assert "The sandbox is not available." in reply.text
    assert "doctor" in reply.text
    sandbox.broken = 0
    history.append(user_message("Please continue."))
    assert "17 primes" in (await carry_on(sandbox, history)).text


async def test_demo_counts_an_unexpected_result_as_a_failure(sandbox):
    """The step expects a failing test; another failure must not count as one."""
    sandbox.bash = lambda command: ("python3: not found", True)
    reply = await carry_on(sandbox, [user_message(BUG)])
    assert "python3: not found" in reply.text
    assert "is found and fixed" not in reply.text


async def test_demo_summarises_if_calls_are_forbidden_and_goes_on_later(sandbox):
    """As at the step limit, the tools are in the request and must not be called."""
    history = [user_message(PROGRAM)]
    for _ in range(2):
        reply = await reply_of(scripted_model.DemoLLM(pieces_per_second=0), asked(*history))
        history += [
            assistant_message(*reply.blocks),
            user_message(*(sandbox.run(c) for c in reply.calls)),
        ]
    summary = await carry_on(sandbox, history, may_call=False)
    assert "2 of 3 steps" in summary.text
    assert "17 primes" in summary.text
    history.append(user_message("Continue"))
    assert "78498" in (await carry_on(sandbox, history)).text
    assert sandbox.calls == ["write_file", "bash", "bash"]


async def test_demo_names_the_tools_that_it_may_not_use(sandbox):
    reply = await carry_on(sandbox, [user_message(LOOK)], tools=TOOLS[:1])
    assert "list_directory" in reply.text
    assert sandbox.calls == []


async def begun(sandbox, *after) -> list[Message]:
    """The messages after the first step of a job, with more text in the last one."""
    history = [user_message(BUG)]
    reply = await reply_of(scripted_model.DemoLLM(pieces_per_second=0), asked(*history))
    results = [sandbox.run(call) for call in reply.calls]
    return [*history, assistant_message(*reply.blocks), user_message(*results, *after)]


async def test_demo_ignores_notices_of_the_platform(sandbox):
    history = await begun(sandbox, "[2 steps are left in this turn. Finish what matters most.]")
    assert "fixed" in (await carry_on(sandbox, history)).text


async def test_demo_answers_a_message_during_a_job_in_its_report(sandbox):
    history = await begun(sandbox, "And what is 2 + 2?")
    reply = await carry_on(sandbox, history)
    assert "fixed" in reply.text
    assert "And what is 2 + 2?" in reply.text
    assert "not a language model" in reply.text


async def test_demo_switches_to_another_prompt_during_a_job(sandbox):
    history = await begun(
        sandbox, "[Ada interrupted you here. What they say next comes first.]", LOOK
    )
    reply = await carry_on(sandbox, history)
    assert "cart.py" in reply.text
    assert sandbox.calls[2:] == ["bash", "list_directory"]


async def test_demo_ends_the_job_after_an_interruption_with_other_text(sandbox):
    history = await begun(
        sandbox, "[Ada interrupted you here. What they say next comes first.]", "No!"
    )
    reply = await carry_on(sandbox, history)
    assert len(sandbox.calls) == 2
    assert reply.text == scripted_model.HELP


async def test_demo_reports_a_missing_network_only_if_it_is_missing(sandbox):
    for networks, is_reported in (("lo", True), ("lo eth0", False), ("", False)):
        sandbox.bash = lambda command, found=networks: (f"user: x\nnetwork: {found}\n", False)
        assert ("no way out" in (await carry_on(sandbox, [user_message(LOOK)])).text) == is_reported


async def test_demo_quotes_a_part_of_long_output(sandbox):
    for number in range(100):
        (sandbox.folder / f"file{number:03}.txt").touch()
    reply = await carry_on(sandbox, [user_message(LOOK)])
    assert "file000.txt" in reply.text
    assert "file050.txt" not in reply.text
    assert len(reply.text) < 3000


async def test_demo_quotation_cannot_be_closed_by_the_output(sandbox):
    (sandbox.folder / "```").touch()
    reply = await carry_on(sandbox, [user_message(LOOK)])
    assert reply.text.count("```") == 4


async def test_demo_streams_in_small_pieces_at_reading_pace():
    began = time.monotonic()
    chunks = await chunks_of(scripted_model.DemoLLM(pieces_per_second=200), asked(LOOK))
    pieces = [chunk.text for chunk in chunks if isinstance(chunk, TextDelta)]
    assert len(pieces) > 5
    assert "".join(pieces) == chunks[-1].text
    assert time.monotonic() - began >= len(pieces) / 200 * 0.9
    assert chunks[-1].stop is StopReason.TOOLS
    assert isinstance(chunks[-1].blocks[0], Text)


async def test_demo_jobs_take_a_few_seconds_each(sandbox):
    for prompt in (LOOK, PROGRAM, BUG):
        history = [user_message(prompt)]
        await carry_on(sandbox, history)
        text = " ".join(b.text for m in history[1:] for b in m.blocks if isinstance(b, Text))
        assert 1 < len(text.split()) / scripted_model.PIECES_PER_SECOND < 8
