"""Every model but Claude through litellm, which is imported when the first stream begins.

litellm knows where each provider is, how it wants its request, and its parameters. Its reading of
streams is not used: it makes a proper end of every end, and hands on halves of arguments. The raw
events are read, here; so only servers that speak OpenAI's dialect are asked, as nearly all do.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from paca.engine.llm import http_pool
from paca.engine.llm.base import (
    Chunk,
    ModelError,
    ModelMisconfigured,
    Request,
    StreamBroken,
    Unreachable,
    UsageSeen,
)
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.litellm import library
from paca.engine.llm.litellm.encoder import encode
from paca.engine.llm.litellm.errors import from_library
from paca.engine.llm.litellm.stream import Assembler
from paca.engine.llm.provider_errors import without_key
from paca.engine.llm.providers import Provider
from paca.engine.llm.response_body import (
    Deadlines,
    broken_connections,
    drain,
    read,
    refuse_other_than_events,
)
from paca.engine.llm.strict_parsing import EventReader

if TYPE_CHECKING:
    import httpx
    import httpx2

# Sent where a server of one's own wants no key: the header must hold something.
NO_KEY = "no-key"


class LiteLLM:
    """The model calls of one run: the key goes to this provider or base URL and nowhere else."""

    def __init__(
        self,
        provider: Provider,
        name: str,
        api_key: str,
        *,
        base_url: str = "",
        limits: TimeLimits | None = None,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        """``http`` is a pool of the caller's; without it the loop's common one is used."""
        self._provider = provider
        self._name = name
        self._key = api_key or NO_KEY
        self._own_server = bool(base_url) or provider.takes_more
        self._base_url = provider.address(base_url)
        self._limits = limits or TimeLimits()
        self._http = http
        self._client: Any = None

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        provider = self._provider
        await library.load(provider.litellm_name, over_sdk=provider.over_sdk)
        deadlines = Deadlines(self._limits)
        wrapper, asked = await self._open(request, deadlines)
        response = _response(wrapper)
        assembler = Assembler(asked)
        try:
            yield UsageSeen(assembler.usage)
            async with aclosing(_read(response, assembler, deadlines)) as chunks:
                async for chunk in chunks:
                    yield chunk
            reply = assembler.finish()
        except ModelError as error:
            raise without_key(error, self._key) from None
        finally:
            # Also if the run is cancelled at the first chunk: else the connection stays in the pool.
            await response.aclose()
        yield reply

    async def _open(self, request: Request, deadlines: Deadlines) -> tuple[Any, int]:
        """Ask; returns litellm's stream, of which nothing is read yet, and the request's length."""
        import litellm

        own = self._own_server
        body = encode(request, self._provider.name, own_server=own)
        asked = len(json.dumps(body, ensure_ascii=False))
        try:
            async with asyncio.timeout(deadlines.left()):
                wrapper = await litellm.acompletion(
                    model=self._name,
                    custom_llm_provider=self._provider.litellm_name,
                    api_key=self._key,
                    api_base=self._base_url or None,
                    client=self._connected(),
                    stream=True,
                    stream_options={"include_usage": True},
                    num_retries=0,
                    timeout=self._limits.total + 60,  # ours is shorter, and tells which it was
                    **body,
                )
        except TimeoutError:
            raise Unreachable(f"{self._place}: {deadlines.passed()}") from None
        except self._library_errors() as error:
            raise without_key(from_library(error, self._place), self._key) from None
        return wrapper, asked

    @property
    def _place(self) -> str:
        return self._base_url or self._provider.host or self._provider.name

    def _connected(self) -> Any:
        import httpx2

        if self._client is None:
            try:
                self._client = self._make_client()
            except httpx2.InvalidURL as error:
                raise ModelMisconfigured(f"The base URL is not valid: {error}") from None
        return self._client

    def _make_client(self) -> Any:
        if not self._provider.over_sdk:
            return library.http_client(http_pool.plain_pool(), self._check_host)
        pool = self._http or http_pool.pool()
        return library.sdk_client(self._key, self._base_url, pool, connect=self._limits.connect)

    def _check_host(self, host: str) -> None:
        """litellm would follow a variable of this server's environment to another address."""
        expected = urlsplit(self._base_url).hostname or self._provider.host
        if host != expected:
            raise ModelMisconfigured(
                f"This server's environment sends {self._provider.name} to {host}, which the key was "
                "not given for. Set that address as the agent's base URL."
            )

    def _library_errors(self) -> tuple[type[Exception], ...]:
        import openai

        return (openai.OpenAIError, *broken_connections(), ValueError)


def _response(wrapper: Any) -> httpx.Response | httpx2.Response:
    """The answer itself, unread. Which of the two it is depends on litellm's way to this provider."""
    source = getattr(wrapper, "completion_stream", None)
    response = getattr(source, "response", None) or getattr(source, "http_response", None)
    if response is None:
        raise StreamBroken("The provider's answer is no stream of events.")
    return response  # type: ignore[no-any-return]


async def _read(
    response: httpx.Response | httpx2.Response, assembler: Assembler, deadlines: Deadlines
) -> AsyncGenerator[Chunk, None]:
    """Read the events to the stream's end, which must be one: an end mark, or a clean close after
    the model's own reason for stopping."""
    refuse_other_than_events(response.headers.get("content-type", ""), response.url.host)
    reader = EventReader()
    body = response.aiter_bytes()
    while not reader.done and (data := await read(body, deadlines)):
        for event in reader.feed(data):
            for chunk in assembler.take(event):
                yield chunk
    if reader.done:
        await drain(body)
    for event in reader.rest():
        for chunk in assembler.take(event):
            yield chunk
