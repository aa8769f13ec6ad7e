"""A model in the test's own process that counts tokens as Anthropic's prompt cache does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from paca.engine.llm.anthropic.encoder import Encoder
from paca.engine.llm.base import Chunk, Message, Request, Usage, UsageSeen
from tests.support.model_script import Scripted
from tests.support.scripted_llm import reply

CHARACTERS_PER_TOKEN = 4
LEAST_TOKENS = 1024  # a shorter beginning is not kept
LOOKBACK = 20  # blocks before a mark in which a kept beginning is found
READ_PRICE, WRITE_PRICE = 0.1, 1.25  # as parts of the price of an input token


@dataclass(frozen=True, slots=True)
class _Beginning:
    """A request up to the end of one block."""

    digest: str
    tokens: int
    is_marked: bool


class PromptCache:
    """Keeps the beginnings of requests up to each of their marks, and nothing else."""

    def __init__(self) -> None:
        self._kept: set[str] = set()

    def count(self, body: dict[str, Any]) -> Usage:
        """The input of a request: what was read from the cache, what was written to it, and the rest."""
        beginnings = list(_beginnings(body))
        total = beginnings[-1].tokens
        marks = [number for number, each in enumerate(beginnings) if each.is_marked]
        found = [
            beginnings[number].tokens
            for mark in marks
            for number in range(max(0, mark - LOOKBACK), mark + 1)
            if beginnings[number].digest in self._kept
        ]
        read = max(found, default=0)
        kept = [beginnings[mark] for mark in marks if beginnings[mark].tokens >= LEAST_TOKENS]
        self._kept |= {each.digest for each in kept}
        written = max((each.tokens for each in kept), default=0) - read
        return Usage(input=total - read - written, cache_read=read, cache_write=written)


def _beginnings(body: dict[str, Any]) -> Iterator[_Beginning]:
    digest, characters = hashlib.sha256(body["model"].encode()), 0
    blocks = [
        *(("tool", each) for each in body.get("tools", ())),
        *(("system", each) for each in body.get("system", ())),
        *((m["role"], block) for m in body["messages"] for block in m["content"]),
    ]
    for role, block in blocks:
        plain = {name: value for name, value in block.items() if name != "cache_control"}
        text = json.dumps([role, plain])
        digest.update(text.encode())
        characters += len(text)
        tokens = characters // CHARACTERS_PER_TOKEN
        yield _Beginning(digest.hexdigest(), tokens, "cache_control" in block)


class CachingLLM:
    """Answers by ``answer(request)``. ``shorten`` changes the messages of each request before it is sent."""

    def __init__(
        self,
        answer: Callable[[Request], Scripted],
        *,
        shorten: Callable[[tuple[Message, ...]], tuple[Message, ...]] = lambda messages: messages,
    ) -> None:
        self.requests: list[Request] = []
        self.usages: list[Usage] = []
        self.replies: list[Scripted] = []
        self._answer, self._shorten = answer, shorten
        self._encoder, self._cache = Encoder(), PromptCache()

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        self.requests.append(request)
        sent = replace(request, messages=self._shorten(request.messages))
        usage = replace(self._cache.count(json.loads(self._encoder.encode(sent))), output=5)
        self.usages.append(usage)
        yield UsageSeen(usage)
        yield reply(self._answer(request), usage)

    @property
    def tokens(self) -> int:
        """The input tokens of all requests; what they cost without a cache."""
        return sum(each.input + each.cache_read + each.cache_write for each in self.usages)

    @property
    def read(self) -> int:
        """The input tokens that were read from the cache."""
        return sum(each.cache_read for each in self.usages)

    @property
    def cost(self) -> float:
        """The cost of the input, as a number of input tokens at the full price."""
        return sum(
            each.input + READ_PRICE * each.cache_read + WRITE_PRICE * each.cache_write
            for each in self.usages
        )
