"""A model in the test's own process. It gives scripted replies and records its requests."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from paca.engine.llm import base, model_errors
from paca.engine.llm.strict_parsing import arguments_or_problem
from tests.support.model_script import Call, Scripted, Thought

Item = (
    Scripted
    | model_errors.ModelError
    | Callable[[base.Request], "Scripted | model_errors.ModelError"]
)
# The errors of faults that come before the first chunk. Other faults break the stream after its chunks.
ERRORS: dict[str, type[model_errors.ModelError]] = {
    "429": model_errors.RateLimited,
    "529": model_errors.Overloaded,
    "500": model_errors.Overloaded,
    "503": model_errors.Overloaded,
    "401": model_errors.KeyRefused,
    "403": model_errors.KeyRefused,
    "nocredit": model_errors.NoCredit,
    "badrequest": model_errors.RequestRefused,
    "ctx": model_errors.ContextExceeded,
}
STOPS = {
    "": base.StopReason.END,
    "end_turn": base.StopReason.END,
    "max_tokens": base.StopReason.OUTPUT_LIMIT,
    "refusal": base.StopReason.REFUSED,
}


class ScriptedLLM:
    """A model that gives the replies of a list: ``ScriptedLLM([says("hi")])``.

    An item may also be an error to raise, or a function of the request that gives an item.

    A reply of ``fails(kind)`` raises the error of that kind, ``hang`` never starts and ``stall``
    never ends. If ``hold`` is given, each stream waits for that event after its first chunk.

    ``closed`` counts the streams that were closed before their end. ``form`` is what each stream learns.
    ``usage`` is that of each reply.
    """

    def __init__(self, replies: Iterable[Item], *, hold: asyncio.Event | None = None) -> None:
        self.replies = list(replies)
        self.requests: list[base.Request] = []
        self.streaming = asyncio.Event()
        self.closed = 0
        self.usage = base.Usage(input=10, output=5)
        self.form: base.HistoryForm | None = None
        self._hold = hold

    async def stream(self, request: base.Request) -> AsyncIterator[base.Chunk]:
        self.requests.append(request)
        await asyncio.sleep(0)  # others run here, as during a real request
        scripted = self._next(request)
        usage = self.usage
        finished = False
        try:
            if self.form is not None:
                yield self.form
            yield base.UsageSeen(usage)
            await self._hang_if(scripted.fault == "hang")
            for chunk in _pieces(scripted):
                yield chunk
                self.streaming.set()
                await asyncio.sleep(0)
                if self._hold is not None:
                    await self._hold.wait()
            await self._hang_if(scripted.fault == "stall")
            if scripted.fault:
                raise model_errors.StreamBroken
            finished = True
            yield reply(scripted, usage)
        finally:
            if not finished:
                self.closed += 1

    def _next(self, request: base.Request) -> Scripted:
        """The next reply. Raises ``ModelError`` if it is an error, or a fault before the stream."""
        if not self.replies:
            raise AssertionError("the model got a request after the end of its script")
        item = self.replies.pop(0)
        scripted = item(request) if callable(item) else item
        if isinstance(scripted, model_errors.ModelError):
            raise scripted
        if scripted.fault in ERRORS:
            after = float(scripted.retry_after) if scripted.retry_after else None
            raise ERRORS[scripted.fault](retry_after_seconds=after)
        return scripted

    async def _hang_if(self, hangs: bool) -> None:
        if hangs:
            self.streaming.set()
            await asyncio.Event().wait()


def _pieces(scripted: Scripted) -> Iterable[base.TextDelta | base.ThinkingDelta]:
    for part in scripted.parts:
        if isinstance(part, str):
            half = (len(part) + 1) // 2
            yield from (base.TextDelta(piece) for piece in (part[:half], part[half:]) if piece)
        elif isinstance(part, Thought):
            yield base.ThinkingDelta(part.text)


def _tool_use(call: Call) -> base.ToolUse:
    """The call; one with ``raw`` arguments as an adapter reads them."""
    if call.raw is None:
        return base.ToolUse(uuid.uuid4().hex, call.tool, call.arguments)
    return base.ToolUse(uuid.uuid4().hex, call.tool, *arguments_or_problem(call.raw))


def reply(scripted: Scripted, usage: base.Usage | None = None) -> base.Reply:
    """The complete reply of a scripted item. Its calls get new ids."""
    stop = STOPS[scripted.stop]
    blocks: list[Any] = []
    for part in scripted.parts:
        if isinstance(part, str):
            blocks.append(base.Text(part))
        elif isinstance(part, Thought):
            blocks.append(
                base.Thinking(part.text, "" if part.redacted else "signed", part.redacted)
            )
        elif isinstance(part, Call) and stop is not base.StopReason.OUTPUT_LIMIT:
            blocks.append(_tool_use(part))
    if scripted.calls and stop is base.StopReason.END:
        stop = base.StopReason.TOOLS
    return base.Reply(tuple(blocks), stop, usage or base.Usage(input=10, output=5))
