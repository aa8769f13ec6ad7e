"""The adapter for providers whose dialect litellm knows. It sends and reads everything itself.

litellm translates a request and single events; it opens no connection and sees no credentials. Whether an
answer is whole is told from the provider's own end, and never from litellm.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol

from paca.engine.llm import plain_history
from paca.engine.llm.base import Chunk, Reply, Request, UsageSeen
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.http_request import HttpRequest, Sender
from paca.engine.llm.litellm import library
from paca.engine.llm.model_errors import ModelError
from paca.engine.llm.openai.stream import ReplyAssembler
from paca.engine.llm.response_body import AttemptBudget, drain, read

if TYPE_CHECKING:
    import httpx2


class Events(Protocol):
    """Reads the body of one answer. ``done``: the provider has said that the answer ends here."""

    done: bool

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The events that these bytes complete, in the form of OpenAI's dialect. Raises ``ModelError``."""
        ...

    def rest(self) -> Iterator[dict[str, Any]]:
        """The events at the end of the body."""
        ...


class Dialect(Protocol):
    """The dialect of one provider, with the agent's credentials."""

    address: str
    family: str
    no_service: str

    def request(self, request: Request) -> HttpRequest:
        """The request to the provider. Raises ``ModelMisconfigured`` for what it cannot take."""
        ...

    def events(self) -> Events:
        """A reader for one answer."""
        ...

    def mask(self, error: ModelError) -> ModelError:
        """The error without the agent's credentials."""
        ...


class LiteLLM:
    """The adapter for one run."""

    def __init__(
        self,
        dialect: Dialect,
        *,
        limits: TimeLimits | None = None,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        """``http`` is a pool that the caller closes; the default is the pool of the event loop."""
        self._dialect = dialect
        self._limits = limits or TimeLimits()
        self._sender = Sender(self._limits, http, dialect.no_service, dialect.mask)

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Yield the chunks of one attempt, as ``LLM`` describes. Raises ``ModelError``."""
        await library.load()
        budget = AttemptBudget(self._limits)
        (response, request_length), form = await plain_history.send(
            request, address=self._dialect.address, post=lambda each: self._post(each, budget)
        )
        assembler = ReplyAssembler(request_length, family=self._dialect.family)
        reply = None
        try:
            if form is not None:
                yield form
            yield UsageSeen(assembler.usage)
            events = self._dialect.events()
            async with aclosing(_read(response, events, assembler, budget)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, Reply):
                        reply = chunk
                    else:
                        yield chunk
        except ModelError as error:
            raise self._dialect.mask(error) from None
        finally:
            await response.aclose()
        assert reply is not None
        yield reply

    async def _post(self, request: Request, budget: AttemptBudget) -> tuple[httpx2.Response, int]:
        # A long history takes litellm a while.
        sent = await library.in_thread(self._dialect.request, request)
        return await self._sender.send(sent, budget), len(sent.content)


async def _read(
    response: httpx2.Response, events: Events, assembler: ReplyAssembler, budget: AttemptBudget
) -> AsyncGenerator[Chunk, None]:
    """Yield the chunks of all events up to the end, and the whole reply."""
    body = response.aiter_bytes()
    while not events.done and (data := await read(body, budget)):
        for event in events.feed(data):
            for chunk in assembler.take(event):
                yield chunk
    if events.done:
        await drain(body)
    for event in events.rest():
        for chunk in assembler.take(event):
            yield chunk
    for chunk in assembler.close():
        yield chunk
    yield assembler.finish(has_end_mark=False)
