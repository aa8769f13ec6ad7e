"""A model in the test's own process: says what it was told to, and records what it was asked."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from paca.engine.llm import base
from tests.support.model_script import Call, Scripted, Thought

Item = Scripted | base.ModelError | Callable[[base.Request], "Scripted | base.ModelError"]
STOPS = {
    "": base.StopReason.END,
    "end_turn": base.StopReason.END,
    "max_tokens": base.StopReason.OUTPUT_LIMIT,
    "refusal": base.StopReason.REFUSED,
}


class ScriptedLLM:
    """``ScriptedLLM([says("hi")])``. An item may be an error to raise, or a function of the request.

    With ``hold`` an ``asyncio.Event``, each stream waits for it after its first piece.
    """

    def __init__(self, replies: Iterable[Item], *, hold: asyncio.Event | None = None) -> None:
        self.replies = list(replies)
        self.requests: list[base.Request] = []
        self.streaming = asyncio.Event()
        self.closed = 0
        self._hold = hold

    async def stream(self, request: base.Request) -> AsyncIterator[base.Chunk]:
        self.requests.append(request)
        if not self.replies:
            raise AssertionError("the script is at its end and the model was asked again")
        item = self.replies.pop(0)
        scripted = item(request) if callable(item) else item
        if isinstance(scripted, base.ModelError):
            raise scripted
        usage = base.Usage(input=10, output=5)
        finished = False
        try:
            yield base.UsageSeen(usage)
            for chunk in _pieces(scripted):
                yield chunk
                self.streaming.set()
                if self._hold is not None:
                    await self._hold.wait()
            if scripted.fault:
                raise base.StreamBroken
            finished = True
            yield reply(scripted, usage)
        finally:
            if not finished:
                self.closed += 1


def _pieces(scripted: Scripted) -> Iterable[base.TextDelta | base.ThinkingDelta]:
    for part in scripted.parts:
        if isinstance(part, str):
            half = (len(part) + 1) // 2
            yield from (base.TextDelta(piece) for piece in (part[:half], part[half:]) if piece)
        elif isinstance(part, Thought):
            yield base.ThinkingDelta(part.text)


def reply(scripted: Scripted, usage: base.Usage | None = None) -> base.Reply:
    """The finished reply of a script, with call ids of ours."""
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
            blocks.append(base.ToolUse(uuid.uuid4().hex, part.tool, part.arguments))
    if scripted.calls and stop is base.StopReason.END:
        stop = base.StopReason.TOOLS
    return base.Reply(tuple(blocks), stop, usage or base.Usage(input=10, output=5))
