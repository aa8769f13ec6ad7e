"""``demo/guide``: a scripted model without a network, which really calls tools.

Its state is the request's messages and nothing else, so a run goes on after a restart.
"""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from paca.engine.llm.base import (
    Chunk,
    Message,
    Reply,
    Request,
    StopReason,
    Text,
    TextDelta,
    ToolResult,
    ToolUse,
    Usage,
    UsageSeen,
)
from paca.engine.llm.demo.scripts import JOBS, Job, Step, quote

MODEL = "demo/guide"
PROMPTS = tuple((job.title, job.prompt) for job in JOBS)
PIECES_A_SECOND = 30.0
TRIES = 2

HELP = (
    "I am the demo guide: a script, not a language model, so I cannot answer that. What I can do "
    "is show you how an agent works here, with real commands in a real sandbox. Send one of "
    "these:\n\n"
    + "\n".join(f"- **{title}**: {prompt}" for title, prompt in PROMPTS)
    + "\n\nFor answers to anything else, give this agent a real model: open **Agents**, choose this "
    "agent, set its model (written as `provider/model`, for example "
    "`anthropic/claude-sonnet-5-5`) and its API key, and press *Save and test connection*."
)

GO_ON = re.compile(r"\s*(please\s+)?(continue|go on|carry on|proceed|resume|next)\b", re.I)


@dataclass(slots=True)
class Progress:
    """How far the job of the newest prompt has come, read from the messages."""

    job: Job | None = None
    outputs: list[list[str]] = field(default_factory=list)  # of each step that is done
    failures: list[ToolResult] = field(default_factory=list)  # of the step that is not
    reported: bool = False
    aside: str = ""  # what else was said while the job ran

    @property
    def step(self) -> Step | None:
        if self.job is None or len(self.outputs) == len(self.job.steps):
            return None
        return self.job.steps[len(self.outputs)]


class DemoLLM:
    """The scripted model. ``pieces_a_second=0`` streams without a pause."""

    def __init__(self, *, pieces_a_second: float | None = None) -> None:
        pace = PIECES_A_SECOND if pieces_a_second is None else pieces_a_second
        self._pause = 1 / pace if pace else 0.0

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        yield UsageSeen(Usage())
        text, calls = decide(request)
        for piece in re.findall(r"\S+\s*", text):
            await asyncio.sleep(self._pause)
            yield TextDelta(piece)
        stop = StopReason.TOOLS if calls else StopReason.END
        yield Reply((Text(text), *calls), stop, Usage())


def decide(request: Request) -> tuple[str, tuple[ToolUse, ...]]:
    """What to say next and which tools to call."""
    progress = read(request.messages)
    if progress.job is None or progress.reported:
        return HELP, ()
    step = progress.step
    if step is None:
        return _report(progress.job, progress), ()
    if len(progress.failures) >= TRIES:
        return _gave_up(step, progress.failures[-1]), ()
    missing = {tool for tool, _ in step.calls} - {spec.name for spec in request.tools}
    if missing or not request.may_call:
        return _so_far(progress.job, progress, missing if request.tools else set()), ()
    calls = tuple(ToolUse(uuid.uuid4().hex, tool, dict(args)) for tool, args in step.calls)
    again = "I try this step once more. " if progress.failures else ""
    return again + step.say, calls


def read(messages: Sequence[Message]) -> Progress:
    """Fold the messages into the progress of the newest prompt."""
    progress = Progress()
    asked: tuple[ToolUse, ...] = ()
    for message in messages:
        if message.role == "assistant":
            asked = tuple(block for block in message.blocks if isinstance(block, ToolUse))
            progress.reported = not asked
            continue
        results = {b.call_id: b for b in message.blocks if isinstance(b, ToolResult)}
        if results:
            _note(progress, [results[call.call_id] for call in asked if call.call_id in results])
        busy = bool(results) and not progress.failures
        for block in message.blocks:
            if isinstance(block, Text):
                progress, busy = _hear(progress, block.text.strip(), busy=busy)
    return progress


def _note(progress: Progress, results: list[ToolResult]) -> None:
    """The results of a step: it is done, or it failed."""
    step = progress.step
    if step is None:
        return
    if len(results) == len(step.calls) and step.accepts(results):
        progress.outputs.append([result.output for result in results])
        progress.failures.clear()
    else:
        progress.failures.extend([result for result in results if result.failed][:1] or results[:1])


def _hear(progress: Progress, words: str, *, busy: bool) -> tuple[Progress, bool]:
    """A prompt begins its job and "continue" goes on with it.

    Other words end it, unless it is just going well (``busy``): then they are answered at its end.
    """
    if words.startswith("[") and words.endswith("]"):  # the platform's, not a person's
        return progress, busy and "interrupted" not in words
    plain = _plain(words)
    for job in JOBS:
        if _plain(job.prompt) in plain or _plain(job.title) in plain:
            return Progress(job=job), False
    if GO_ON.match(words) and progress.step is not None:
        progress.failures.clear()
        progress.reported = False
        return progress, busy
    if busy and progress.step is not None:
        progress.aside = words
        return progress, busy
    return Progress(), False


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def _gave_up(step: Step, failure: ToolResult) -> str:
    tools = " and ".join(dict.fromkeys(f"`{tool}`" for tool, _ in step.calls))
    return (
        f"I could not go on: {tools} did not do what this step needs, and I tried {TRIES} times. "
        f"The last answer was:\n\n{quote(failure.output)}\n\n"
        "If the sandbox is not available, `manage.py doctor` says what it lacks. "
        'Write "continue" to let me try again from here.'
    )


def _report(job: Job, progress: Progress) -> str:
    report = job.report(progress.outputs)
    if not progress.aside:
        return report
    return f"{report}\n\nYou also wrote “{progress.aside[:200]}”. {HELP}"


def _so_far(job: Job, progress: Progress, missing: set[str]) -> str:
    """The tools were taken away: a summary instead of the next step."""
    why = f" I may not use {', '.join(sorted(missing))} here." if missing else ""
    done = f"{len(progress.outputs)} of {len(job.steps)} steps of “{job.title}” are done.{why}"
    if not progress.outputs:
        return f'{done} Write "continue" to let me begin.'
    latest = quote(progress.outputs[-1][-1])
    return f'{done} The latest output was:\n\n{latest}\n\nWrite "continue" to let me finish it.'
