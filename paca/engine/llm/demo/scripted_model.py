"""``demo/guide``: a scripted model without a network, which calls real tools.

Its only state is the messages of the request, so a run goes on after a restart.
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
from paca.engine.llm.demo import board, task_requests
from paca.engine.llm.demo.scripts import JOBS, DemoJob, ScriptedStep, quote
from paca.engine.llm.demo.task_requests import Cause, TaskRequest

MODEL = "demo/guide"
PROMPTS = tuple((job.title, job.prompt) for job in JOBS)
PIECES_PER_SECOND = 30.0
MAX_TRIES = 2
NOT_RUN = "Not run"  # how the result of a call begins that no person has approved

REAL_MODEL = (
    "For anything else, give this agent a real model: open **Agents**, choose this agent, open its "
    "settings, enter a model (written as `provider/model`, for example "
    "`anthropic/claude-sonnet-5-5`) and its API key, and test the connection."
)
HELP = (
    "I am the demo guide: a script, not a language model, so I cannot answer that. What I can do "
    "is show you how an agent works here, with real commands in a real sandbox. Send one of "
    "these:\n\n"
    + "\n".join(f"- **{title}**: {prompt}" for title, prompt in PROMPTS)
    + "\n\nOr open the **Board** and assign me one of its tasks. "
    + REAL_MODEL
)
TASK_HELP = (
    "I am the demo guide: a script, not a language model, so I cannot do that. These are "
    "the tasks that I can do, also if you make a task with such a title yourself:\n\n"
    + "\n".join(f"- {task.title}" for task in board.TASKS if task.job)
    + "\n\nAfter them I can make a change, if you mention me in a comment and write "
    + " or ".join(f"*{words}*" for words in board.CHANGES)
    + ".\n\n"
    + REAL_MODEL
)

GO_ON = re.compile(r"\s*(please\s+)?(continue|go on|carry on|proceed|resume|next)\b", re.I)
# How texts begin that the platform adds from the workspace and from skills.
TEXTS_OF_PLATFORM = ("[The workspace has ", "[A message ")


@dataclass(slots=True)
class JobProgress:
    """The progress of the newest prompt's job, derived from the messages."""

    job: DemoJob | None = None
    outputs: list[list[str]] = field(default_factory=list)  # of each finished step
    failures: list[ToolResult] = field(default_factory=list)  # of the current step
    reported: bool = False
    aside: str = ""  # another message that came while the job ran
    help: str = HELP  # the answer to what is not in the script
    titles: tuple[str, ...] = ()  # of the jobs that the conversation has begun

    def next(self, job: DemoJob | None, text: str) -> "JobProgress":
        """The progress at the beginning of this job; ``text`` helps if there is none."""
        titles = (*self.titles, job.title) if job else self.titles
        return JobProgress(job, help=text, titles=titles)

    @property
    def step(self) -> ScriptedStep | None:
        if self.job is None or len(self.outputs) == len(self.job.steps):
            return None
        return self.job.steps[len(self.outputs)]


class DemoLLM:
    """The scripted model. ``pieces_per_second=0`` streams without a pause."""

    def __init__(self, *, pieces_per_second: float | None = None) -> None:
        pace = PIECES_PER_SECOND if pieces_per_second is None else pieces_per_second
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
    """The text and the tool calls of the next reply."""
    progress = progress_of(request.messages)
    if progress.job is None or progress.reported:
        return progress.help, ()
    step = progress.step
    if step is None:
        return _report(progress.job, progress), ()
    if progress.failures and progress.failures[-1].output.startswith(NOT_RUN):
        return _refusal_text(progress.failures[-1]), ()
    if len(progress.failures) >= MAX_TRIES:
        return _failure_text(step, progress.failures[-1]), ()
    missing = {tool for tool, _ in step.calls} - {spec.name for spec in request.tools}
    if missing or not request.may_call:
        return _interim_report(progress.job, progress, missing if request.tools else set()), ()
    calls = tuple(ToolUse(uuid.uuid4().hex, tool, dict(args)) for tool, args in step.calls)
    again = "I try this step once more. " if progress.failures else ""
    return again + step.text, calls


def progress_of(messages: Sequence[Message]) -> JobProgress:
    """The progress of the newest prompt's job after these messages."""
    progress = JobProgress()
    calls: tuple[ToolUse, ...] = ()
    for message in messages:
        if message.role == "assistant":
            calls = tuple(block for block in message.blocks if isinstance(block, ToolUse))
            progress.reported = not calls
            continue
        results = {b.call_id: b for b in message.blocks if isinstance(b, ToolResult)}
        if results:
            _take_results(
                progress, [results[call.call_id] for call in calls if call.call_id in results]
            )
        busy = bool(results) and not progress.failures
        for block in message.blocks:
            if isinstance(block, Text):
                progress, busy = _take_message(progress, block.text.strip(), busy=busy)
    return progress


def _take_results(progress: JobProgress, results: list[ToolResult]) -> None:
    """Count the step as finished or failed, by its results."""
    step = progress.step
    if step is None:
        return
    if len(results) == len(step.calls) and step.accepts(results):
        progress.outputs.append([result.output for result in results])
        progress.failures.clear()
    else:
        progress.failures.extend([result for result in results if result.failed][:1] or results[:1])


def _take_message(progress: JobProgress, text: str, *, busy: bool) -> tuple[JobProgress, bool]:
    """A prompt begins its job, and "continue" goes on with it.

    Other text ends the job, unless its steps run (``busy``): the report answers it then.
    """
    if text.startswith(TEXTS_OF_PLATFORM) or (text.startswith("[") and text.endswith("]")):
        return progress, busy and "interrupted" not in text
    request = task_requests.read(text)
    words = request.words if request else text
    if GO_ON.match(words) and progress.step is not None:
        progress.failures.clear()
        progress.reported = False
        return progress, busy
    if request is not None:
        job = _job_of(request, progress)
        if busy and job and request.cause is Cause.MENTION and progress.job:
            progress.job = progress.job.followed_by(job)
            return progress, busy
    else:
        job = board.find_job(text) or board.find_follow_up(text, progress.titles)
    if job is None and busy and progress.step is not None:
        progress.aside = words
        return progress, busy
    return progress.next(job, TASK_HELP if request else HELP), False


def _job_of(request: TaskRequest, progress: JobProgress) -> DemoJob | None:
    """The job that is asked for on a task; None if it is not in the script."""
    if request.cause is Cause.DESCRIPTION:
        return board.write_description(request)
    if request.cause is Cause.MENTION:
        asked = request.words
        if found := board.find_follow_up(asked, progress.titles) or board.find_job(asked):
            return found
    found = board.find_job(request.title)
    return board.on_task(found, request.key) if found and request.key else None


def _failure_text(step: ScriptedStep, failure: ToolResult) -> str:
    tools = " and ".join(dict.fromkeys(f"`{tool}`" for tool, _ in step.calls))
    return (
        f"I could not go on: {tools} did not do what this step needs, and I tried {MAX_TRIES} times. "
        f"The last answer was:\n\n{quote(failure.output)}\n\n"
        "If the sandbox is not available, `manage.py doctor` says what it lacks. "
        'Write "continue" to let me try again from here.'
    )


def _refusal_text(refusal: ToolResult) -> str:
    return (
        f"I leave it there, because this step may not run:\n\n{quote(refusal.output)}\n\n"
        'Write "continue" to let me ask once more.'
    )


def _report(job: DemoJob, progress: JobProgress) -> str:
    report = job.report(progress.outputs)
    if not progress.aside:
        return report
    return f"{report}\n\nYou also wrote “{progress.aside[:200]}”. {progress.help}"


def _interim_report(job: DemoJob, progress: JobProgress, missing: set[str]) -> str:
    """A summary in place of the next step, if its tools are not available."""
    why = f" I may not use {', '.join(sorted(missing))} here." if missing else ""
    done = f"{len(progress.outputs)} of {len(job.steps)} steps of “{job.title}” are done.{why}"
    if not progress.outputs:
        return f'{done} Write "continue" to let me begin.'
    latest = quote(progress.outputs[-1][-1])
    return f'{done} The latest output was:\n\n{latest}\n\nWrite "continue" to let me finish it.'
