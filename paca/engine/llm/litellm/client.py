"""The adapter for all models except Claude. It uses litellm, which the first stream imports.

litellm knows the address, the request format and the parameters of each provider. Its stream parser
is not used: it treats every end of a stream as a proper end, and yields incomplete arguments. This
adapter parses the raw events itself. It therefore supports only servers that speak OpenAI's
dialect, as nearly all do.
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
from paca.engine.llm.litellm.stream import ReplyAssembler
from paca.engine.llm.provider_errors import without_key
from paca.engine.llm.providers import Provider
from paca.engine.llm.response_body import (
    AttemptBudget,
    connection_errors,
    drain,
    read,
    require_event_stream,
)
from paca.engine.llm.strict_parsing import EventReader

if TYPE_CHECKING:
    import httpx
    import httpx2

# Sent to self-hosted servers without a key, since the header must not be empty.
NO_KEY = "no-key"


class LiteLLM:
    """The adapter for one run. The key is sent to this provider or base URL only."""

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
        """``http`` is a pool that the caller closes; the default is the pool of the event loop."""
        self._provider = provider
        self._name = name
        self._key = api_key or NO_KEY
        self._is_self_hosted = bool(base_url) or provider.takes_extra_parameters
        self._base_url = provider.address(base_url)
        self._limits = limits or TimeLimits()
        self._http = http
        self._client: Any = None

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Yield the chunks of one attempt, as ``LLM`` describes. Raises ``ModelError``."""
        provider = self._provider
        await library.load(provider.litellm_name, over_sdk=provider.over_sdk)
        budget = AttemptBudget(self._limits)
        wrapper, request_length = await self._open(request, budget)
        response = _response(wrapper)
        assembler = ReplyAssembler(request_length)
        try:
            yield UsageSeen(assembler.usage)
            async with aclosing(_read(response, assembler, budget)) as chunks:
                async for chunk in chunks:
                    yield chunk
            reply = assembler.finish()
        except ModelError as error:
            raise without_key(error, self._key) from None
        finally:
            # Also if the run is cancelled at the first chunk: else the connection stays in the pool.
            await response.aclose()
        yield reply

    async def _open(self, request: Request, budget: AttemptBudget) -> tuple[Any, int]:
        """Send the request; returns litellm's unread stream, and the length of the request in characters."""
        import litellm

        body = encode(request, self._provider.name, self_hosted=self._is_self_hosted)
        request_length = len(json.dumps(body, ensure_ascii=False))
        try:
            async with asyncio.timeout(budget.seconds_left()):
                wrapper = await litellm.acompletion(
                    model=self._name,
                    custom_llm_provider=self._provider.litellm_name,
                    api_key=self._key,
                    api_base=self._base_url or None,
                    client=self._http_client(),
                    stream=True,
                    stream_options={"include_usage": True},
                    num_retries=0,
                    # Our own limit is shorter and has a better error text.
                    timeout=self._limits.total + 60,
                    **body,
                )
        except TimeoutError:
            raise Unreachable(f"{self._address}: {budget.timeout_text()}") from None
        except self._library_errors() as error:
            raise without_key(from_library(error, self._address), self._key) from None
        return wrapper, request_length

    @property
    def _address(self) -> str:
        return self._base_url or self._provider.host or self._provider.name

    def _http_client(self) -> Any:
        import httpx2

        if self._client is None:
            try:
                self._client = self._make_client()
            except httpx2.InvalidURL as error:
                raise ModelMisconfigured(f"The base URL is not valid: {error}") from None
        return self._client

    def _make_client(self) -> Any:
        if not self._provider.over_sdk:
            return library.http_client(http_pool.httpx_pool(), self._check_host)
        pool = self._http or http_pool.pool()
        return library.sdk_client(self._key, self._base_url, pool, connect=self._limits.connect)

    def _check_host(self, host: str) -> None:
        """Raises ``ModelMisconfigured`` if an environment variable of this server changed the address."""
        expected = urlsplit(self._base_url).hostname or self._provider.host
        if host != expected:
            raise ModelMisconfigured(
                f"This server's environment sends {self._provider.name} to {host}, which the key was "
                "not given for. Set that address as the agent's base URL."
            )

    def _library_errors(self) -> tuple[type[Exception], ...]:
        import openai

        return (openai.OpenAIError, *connection_errors(), ValueError)


def _response(wrapper: Any) -> httpx.Response | httpx2.Response:
    """The unread HTTP response of litellm's stream. Its type depends on how litellm asks the provider."""
    source = getattr(wrapper, "completion_stream", None)
    response = getattr(source, "response", None) or getattr(source, "http_response", None)
    if response is None:
        raise StreamBroken("The provider's answer is no stream of events.")
    return response  # type: ignore[no-any-return]


async def _read(
    response: httpx.Response | httpx2.Response, assembler: ReplyAssembler, budget: AttemptBudget
) -> AsyncGenerator[Chunk, None]:
    """Yield the chunks of all events up to the end of the stream.

    A proper end is an end mark, or a clean close after the model's stop reason.
    """
    require_event_stream(response.headers.get("content-type", ""), response.url.host)
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
