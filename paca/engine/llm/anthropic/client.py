"""Claude through the anthropic SDK, which is imported when the first stream begins."""

import asyncio
import importlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from paca.engine.llm import provider_errors
from paca.engine.llm.anthropic import errors
from paca.engine.llm.anthropic.encoder import Encoder
from paca.engine.llm.anthropic.stream import Assembler
from paca.engine.llm.base import (
    Chunk,
    ModelError,
    ModelMisconfigured,
    Request,
    RequestRefused,
    StreamBroken,
    Unreachable,
)
from paca.engine.llm.http_pool import TimeLimits, pool
from paca.engine.llm.provider_errors import without_key
from paca.engine.llm.response_body import Deadlines, drain, read, refuse_other_than_events
from paca.engine.llm.strict_parsing import EventReader

if TYPE_CHECKING:
    import anthropic
    import httpx2

HOST = "https://api.anthropic.com"


class AnthropicLLM:
    """The model calls of one run: the key goes to this base URL and nowhere else.

    One instance keeps what it encoded, so that a long history costs little at each step.
    """

    def __init__(
        self,
        api_key: str,
        *,
        base_url: str | None = None,
        limits: TimeLimits | None = None,
        http: "httpx2.AsyncClient | None" = None,
    ) -> None:
        """``http`` is a pool of the caller's; without it the loop's common one is used."""
        self._key = api_key
        self._base_url = _without_version(base_url or HOST)
        self._limits = limits or TimeLimits()
        self._http = http
        self._client: anthropic.AsyncAnthropic | None = None
        self._encoder = Encoder()

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        await _import_sdk()
        deadlines = Deadlines(self._limits)
        response = await self._open(request, deadlines)
        try:
            kind = response.headers.get("content-type", "")
            refuse_other_than_events(kind, response.url.host)
            reader, assembler = EventReader(), Assembler()
            body = response.aiter_bytes()
            while data := await read(body, deadlines):
                for event in reader.feed(data):
                    chunk = assembler.take(event)
                    if chunk is not None:
                        yield chunk
                if assembler.reply is not None:
                    await drain(body)
                    yield assembler.reply
                    return
            raise StreamBroken("The model's answer ended without its end mark.")
        except ModelError as error:
            raise without_key(error, self._key) from None
        finally:
            await response.aclose()

    async def _open(self, request: Request, deadlines: Deadlines) -> "httpx2.Response":
        try:
            return await self._post(request, deadlines)
        except RequestRefused as refusal:
            about_thinking = "thinking" in refusal.detail and "block" in refusal.detail
            if not (about_thinking and self._encoder.forget_thinking(request)):
                raise
            return await self._post(request, deadlines)

    async def _post(self, request: Request, deadlines: Deadlines) -> "httpx2.Response":
        """Send the request; returns once the head of a good answer is there."""
        import anthropic

        content = self._encoder.encode(request)
        client = self._connected()
        try:
            async with asyncio.timeout(deadlines.left()):
                # One step below ``messages.create``, which walks the whole body and builds a typed
                # object of each event: that costs more than all the rest of a call.
                stream = await client.post(
                    "/v1/messages",
                    content=content,
                    options={"headers": {"content-type": "application/json"}},
                    cast_to=object,
                    stream=True,
                    stream_cls=anthropic.AsyncStream[object],
                )
        except TimeoutError:
            raise Unreachable(f"{self._base_url}: {deadlines.passed()}") from None
        except anthropic.APIStatusError as error:
            told = errors.from_status(error.status_code, error.body, error.response.headers)
            raise without_key(told, self._key) from None
        except anthropic.APIConnectionError as error:
            raise provider_errors.from_transport(error, self._base_url) from None
        return stream.response

    def _connected(self) -> "anthropic.AsyncAnthropic":
        import anthropic
        import httpx2

        if self._client is None:
            try:
                # All that the SDK would else look up in the environment is given here.
                self._client = anthropic.AsyncAnthropic(
                    api_key=self._key,
                    base_url=self._base_url,
                    webhook_key="",
                    max_retries=0,
                    timeout=httpx2.Timeout(None, connect=self._limits.connect),
                    http_client=self._http or pool(),
                    open_telemetry=False,
                )
            except httpx2.InvalidURL as error:
                raise ModelMisconfigured(f"The base URL is not valid: {error}") from None
            # The one thing it offers no argument for: headers for every host, from the environment.
            self._client._custom_headers = {}
        return self._client


_sdk_is_there = False


async def _import_sdk() -> None:
    """Importing takes seconds: it is done in a thread, so that other runs go on meanwhile."""
    global _sdk_is_there
    if not _sdk_is_there:
        await asyncio.to_thread(importlib.import_module, "anthropic")
        _sdk_is_there = True


def _without_version(base_url: str) -> str:
    """The SDK adds ``/v1/messages`` itself; many write the address with ``/v1`` at its end."""
    return base_url.strip().rstrip("/").removesuffix("/v1")
