"""The adapter for every server that speaks OpenAI's chat completions dialect, as nearly all do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from paca.engine.llm import plain_history
from paca.engine.llm.base import Chunk, HistoryForm, Reply, Request, UsageSeen
from paca.engine.llm.http_pool import TimeLimits, pool
from paca.engine.llm.http_request import HttpRequest, build
from paca.engine.llm.model_errors import ModelError, ModelMisconfigured
from paca.engine.llm.openai import attachments, errors, server_form
from paca.engine.llm.openai.encoder import Encoder
from paca.engine.llm.openai.stream import ReplyAssembler
from paca.engine.llm.provider_errors import from_transport, without_key
from paca.engine.llm.providers import Provider
from paca.engine.llm.response_body import (
    AttemptBudget,
    connection_errors,
    drain,
    read,
)
from paca.engine.llm.strict_parsing import EventReader

if TYPE_CHECKING:
    import httpx2

MAX_REFUSAL_BYTES = 256 * 1024


class OpenAILLM:
    """The adapter for one run. The key is sent to this provider or base URL only.

    An instance keeps the encoded messages, so that a step need not encode the whole history again.
    """

    def __init__(
        self,
        provider: Provider,
        model: str,
        api_key: str,
        *,
        base_url: str = "",
        limits: TimeLimits | None = None,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        """``http`` is a pool that the caller closes; the default is the pool of the event loop."""
        self._key = api_key
        self._address = provider.address(base_url)
        self._url = f"{self._address}/chat/completions"
        self._model = model
        self._headers = {"content-type": "application/json", **dict(provider.headers)}
        if api_key:
            self._headers["authorization"] = f"Bearer {api_key}"
        self._limits = limits or TimeLimits()
        self._http = http
        self._form = server_form.form_for(provider, model, self._address)
        self._family = attachments.family_of(provider.name, model, base_url and self._address)
        self._encoder = Encoder(provider, model, own_address=bool(base_url), family=self._family)

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Yield the chunks of one attempt, as ``LLM`` describes. Raises ``ModelError``."""
        budget = AttemptBudget(self._limits)
        (response, request_length), form = await self._open(request, budget)
        assembler = ReplyAssembler(request_length, family=self._family)
        reply = None
        try:
            if form is not None:
                yield form
            yield UsageSeen(assembler.usage)
            async with aclosing(_read(response, assembler, budget)) as chunks:
                async for chunk in chunks:
                    if isinstance(chunk, Reply):
                        reply = chunk
                    else:
                        yield chunk
        except ModelError as error:
            raise without_key(error, self._key) from None
        finally:
            # Also if the run is cancelled at the first chunk: else the connection stays in the pool.
            await response.aclose()
        assert reply is not None
        yield reply

    async def _open(
        self, request: Request, budget: AttemptBudget
    ) -> tuple[tuple[httpx2.Response, int], HistoryForm | None]:
        """The successful response with the length of the request in bytes, and a form that was learned.

        A request whose fields the server refuses by name is sent once more without them, and a history
        that it refuses once more in the strictest form.
        """
        return await plain_history.send(
            request, address=self._address, post=lambda form: self._post_learning(form, budget)
        )

    async def _post_learning(
        self, request: Request, budget: AttemptBudget
    ) -> tuple[httpx2.Response, int]:
        try:
            return await self._post(request, budget)
        except ModelError as refusal:
            if refusal.retryable:
                raise
            if self._encoder.drop_images(request, refusal, self._form):
                return await self._post_learning(request, budget)
            learned = server_form.learn(
                self._form, refusal.detail, model=self._model, address=self._address
            )
            if learned is None:
                raise
            self._form = learned
        return await self._post(request, budget)

    async def _post(self, request: Request, budget: AttemptBudget) -> tuple[httpx2.Response, int]:
        """Send the request; returns when the headers of a successful response are there."""
        import httpx2

        content = self._encoder.encode(request, self._form)
        http = self._http or pool()
        try:
            sent = build(
                HttpRequest(self._url, self._headers, content),
                http,
                connect_seconds=self._limits.connect,
            )
            async with asyncio.timeout(budget.seconds_left()):
                response = await http.send(sent, stream=True)
                if response.status_code == httpx2.codes.OK:
                    return response, len(content)
                body = await _read_refusal(response)
        except TimeoutError:
            raise budget.timeout_error(self._address) from None
        except httpx2.InvalidURL as error:
            raise ModelMisconfigured(f"The base URL is not valid: {error}") from None
        except UnicodeEncodeError:
            raise ModelMisconfigured("The key has characters that cannot be sent.") from None
        except connection_errors() as error:
            failure = without_key(from_transport(error, self._address), self._key)
            raise budget.with_patience(failure) from None
        refusal = errors.from_status(response.status_code, body, response.headers)
        raise budget.refusal(without_key(refusal, self._key), response.status_code)


async def _read_refusal(response: httpx2.Response) -> bytes:
    """The beginning of the body of a refusal."""
    body = bytearray()
    with suppress(*connection_errors()):
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MAX_REFUSAL_BYTES:
                break
    await response.aclose()
    return bytes(body)


async def _read(
    response: httpx2.Response, assembler: ReplyAssembler, budget: AttemptBudget
) -> AsyncGenerator[Chunk, None]:
    """Yield the chunks of all events up to the end of the stream, and the whole reply.

    A proper end is an end mark, or a clean close after the model's stop reason.
    """
    reader = EventReader()
    body = response.aiter_bytes()
    while not reader.done and (data := await read(body, budget)):
        for event in reader.feed(data):
            for chunk in assembler.take(event):
                yield chunk
    if reader.done:
        await drain(body)
    for event in reader.rest():
        for chunk in assembler.take(event):
            yield chunk
    for chunk in assembler.close():
        yield chunk
    yield assembler.finish(has_end_mark=reader.done)
