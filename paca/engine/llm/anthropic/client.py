"""The adapter for Claude."""

import functools
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from paca.engine.llm import plain_history
from paca.engine.llm.anthropic import headers
from paca.engine.llm.anthropic.encoder import Encoder
from paca.engine.llm.anthropic.stream import ReplyAssembler
from paca.engine.llm.base import Chunk, HistoryForm, Request
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.http_request import HttpRequest, Sender
from paca.engine.llm.model_errors import ContextExceeded, ModelError, RequestRefused, StreamBroken
from paca.engine.llm.provider_errors import without_key
from paca.engine.llm.response_body import AttemptBudget, drain, read
from paca.engine.llm.strict_parsing import EventReader

if TYPE_CHECKING:
    import httpx2

NO_API = "There is no Messages API at this base URL (HTTP 404)."


class AnthropicLLM:
    """The adapter for one run. The key is sent to this base URL only.

    An instance keeps the encoded messages, so that a step need not encode the whole history again.
    """

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str | None = None,
        limits: TimeLimits | None = None,
        http: "httpx2.AsyncClient | None" = None,
    ) -> None:
        """``http`` is a pool that the caller closes; the default is the pool of the event loop."""
        self._key = api_key
        self._base_url = _without_version(base_url or headers.HOST)
        self._limits = limits or TimeLimits()
        self._http = http
        self._encoder = Encoder()

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Yield the chunks of one attempt, as ``LLM`` describes. Raises ``ModelError``; its
        kind ``StreamBroken`` if the stream ends early."""
        budget = AttemptBudget(self._limits)
        response, form = await self._open(request, budget)
        try:
            if form is not None:
                yield form
            async with aclosing(_read(response, budget)) as chunks:
                async for chunk in chunks:
                    yield chunk
        except ModelError as error:
            raise without_key(error, self._key) from None
        finally:
            await response.aclose()

    async def _open(
        self, request: Request, budget: AttemptBudget
    ) -> tuple["httpx2.Response", HistoryForm | None]:
        """The response to the request, and a form that was learned. It is sent again without thinking or images if
        those are refused, and in the strictest form if its history is.
        """
        return await plain_history.send(
            request,
            address=self._base_url,
            post=lambda form: self._post_without_refused(form, budget),
        )

    async def _post_without_refused(
        self, request: Request, budget: AttemptBudget
    ) -> "httpx2.Response":
        while True:
            try:
                return await self._post(request, budget)
            except (RequestRefused, ContextExceeded) as refusal:
                if not self._drop(request, refusal):
                    raise

    def _drop(self, request: Request, refusal: ModelError) -> bool:
        """Leave out from now on what was refused; False if that is nothing of the kind, or is left out already."""
        if "thinking" in refusal.detail and "block" in refusal.detail:
            return self._encoder.drop_thinking(request)
        return self._encoder.drop_images(request, refusal)

    async def _post(self, request: Request, budget: AttemptBudget) -> "httpx2.Response":
        """Send the request; returns when the headers of a successful response are there."""
        content = self._encoder.encode(request)
        address = f"{self._base_url}/v1/messages"
        sent = HttpRequest(address, headers.with_key(self._key), content)
        sender = Sender(
            self._limits, self._http, NO_API, functools.partial(without_key, key=self._key)
        )
        return await sender.send(sent, budget)


async def _read(response: "httpx2.Response", budget: AttemptBudget) -> AsyncGenerator[Chunk, None]:
    """Yield the chunks of all events up to the end mark, and the whole reply."""
    reader, assembler = EventReader(), ReplyAssembler()
    body = response.aiter_bytes()
    while assembler.reply is None and (data := await read(body, budget)):
        for event in reader.feed(data):
            for chunk in assembler.take(event):
                yield chunk
    if assembler.reply is None:
        for event in reader.rest():
            for chunk in assembler.take(event):
                yield chunk
    else:
        await drain(body)
    if assembler.reply is None:
        raise StreamBroken("The model's answer ended without its end mark.")
    yield assembler.reply


def _without_version(base_url: str) -> str:
    """The base URL without ``/v1``, which many people write."""
    return base_url.strip().rstrip("/").removesuffix("/v1")
