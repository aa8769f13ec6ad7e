"""A model with a window, in the test's own process: it refuses what is too long, and counts what a cache reads."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from paca.engine.llm import base, model_errors
from tests.engine.provider_rules import violations
from tests.support.model_script import Scripted, says
from tests.support.scripted_llm import reply


class WindowedLLM:
    """Answers by ``answer(request)``, and summaries by ``summary``.

    A request of more tokens than ``window``, at ``characters`` a token, is refused; one that breaks a rule
    of the providers is noted in ``faults``. ``tells``: a refusal names the window. The usage tells what a
    cache of the longest common beginning would have read.
    """

    def __init__(
        self,
        answer: Callable[[base.Request], Scripted],
        *,
        window: int,
        characters: float = 4,
        tells: bool = True,
        summary: Callable[[base.Request], Scripted] = lambda _request: says("Notes. " * 20),
    ) -> None:
        self.window, self.characters, self.tells = window, characters, tells
        self.requests: list[base.Request] = []
        self.summaries: list[base.Request] = []
        self.faults: list[str] = []
        self.usages: list[base.Usage] = []
        self.refusals = 0
        self.replies: list[Scripted] = []
        self._answer, self._summary = answer, summary
        self._sent = ""
        self._known: dict[int, tuple[base.Message, str]] = {}

    async def stream(self, request: base.Request) -> AsyncIterator[base.Chunk]:
        is_summary = not request.tools
        (self.summaries if is_summary else self.requests).append(request)
        self.faults += violations(request.messages)
        text = self._as_text(request)
        tokens = int(len(text) / self.characters)
        if tokens > self.window:
            self.refusals += 1
            words = f"maximum context length is {self.window} tokens" if self.tells else "too long"
            raise model_errors.ContextExceeded(words)
        usage = base.Usage(input=tokens, output=5)
        if not is_summary:
            read = int(common_beginning(self._sent, text) / self.characters)
            usage = base.Usage(input=tokens - read, cache_read=read, output=5)
            self._sent = text
            self.usages.append(usage)
        yield base.UsageSeen(usage)
        scripted = (self._summary if is_summary else self._answer)(request)
        if scripted.fault:
            raise model_errors.RequestRefused
        yield reply(scripted, usage)

    def _as_text(self, request: base.Request) -> str:
        """The request as a text that begins with what does not change, as caches see it."""
        parts = [str(request.tools), request.system]
        for message in request.messages:
            known = self._known.get(id(message))
            if known is None or known[0] is not message:
                known = self._known[id(message)] = message, _text_of(message)
            parts.append(known[1])
        return "".join(parts)


def _text_of(message: base.Message) -> str:
    return "".join(
        block.text if isinstance(block, base.Text | base.ToolResult) else str(block)
        for block in message.blocks
    )


def common_beginning(one: str, other: str) -> int:
    """How many characters both begin with."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low
