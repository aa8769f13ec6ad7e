"""Imports litellm once, in a thread, without its logging and without this server's environment."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx
    import httpx2
    import openai

_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")
_loaded: set[str] = set()


async def load(litellm_name: str = "openai", *, over_sdk: bool = True) -> None:
    """Import litellm in a thread: it takes seconds, and leases and other runs go on meanwhile."""
    if litellm_name not in _loaded:
        await asyncio.to_thread(_load, litellm_name, over_sdk)
        _loaded.add(litellm_name)


def _load(litellm_name: str, over_sdk: bool) -> None:
    """Import litellm and make one call to an address without a server.

    litellm imports half of itself in the first call to a provider. This call, in an event loop of
    its own, keeps those imports out of the loop of the runs.
    """
    if not _loaded:
        _import()
    import openai

    with contextlib.suppress(openai.OpenAIError):
        asyncio.run(_make_dummy_call(litellm_name, over_sdk))


async def _make_dummy_call(litellm_name: str, over_sdk: bool) -> None:
    import httpx
    import httpx2
    import litellm

    async with (
        httpx.AsyncClient(transport=httpx.MockTransport(_refuse)) as plain,
        httpx2.AsyncClient(transport=httpx2.MockTransport(_refuse)) as pool,
    ):
        nowhere = "http://127.0.0.1:9/v1"
        await litellm.acompletion(
            model="model",
            custom_llm_provider=litellm_name,
            messages=[{"role": "user", "content": "Hi"}],
            api_key="nobody's",
            api_base=nowhere,
            client=sdk_client("nobody's", nowhere, pool, connect=1)
            if over_sdk
            else http_client(plain, lambda host: None),
            stream=True,
            num_retries=0,
        )


def _refuse(request: Any) -> Any:
    raise ConnectionRefusedError


def _import() -> None:
    # Without these litellm would download a list of prices and read keys from a .env file.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    litellm: Any = importlib.import_module("litellm")
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(logging.CRITICAL)
        logger.propagate = False
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.turn_off_message_logging = True
    litellm.disable_streaming_logging = True
    litellm.drop_params = False
    litellm.modify_params = False
    litellm.num_retries = 0
    litellm.cache = None
    for list_of in ("callbacks", "success_callback", "failure_callback", "input_callback"):
        setattr(litellm, list_of, [])


def sdk_client(
    key: str, base_url: str, http: httpx2.AsyncClient, *, connect: float
) -> openai.AsyncOpenAI:
    """OpenAI's client for litellm's SDK route, with our pool, our key and no retries."""
    import httpx2
    import openai

    class Client(openai.AsyncOpenAI):
        """Has no organization and project, which litellm would set from the environment."""

        organization = property(lambda self: None, lambda self, value: None)
        project = property(lambda self: None, lambda self, value: None)

    client = Client(
        api_key=key,
        base_url=base_url,
        max_retries=0,
        timeout=httpx2.Timeout(None, connect=connect),
        http_client=http,
    )
    client._custom_headers = {}  # the SDK would take them from the environment, for every host
    return client


def http_client(http: httpx.AsyncClient, check_host: Callable[[str], None]) -> Any:
    """The client for litellm's other routes, with our pool, no retries and no redirects."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    class Client(AsyncHTTPHandler):
        """Sends each request once, and only to the host that the key was given for."""

        def __init__(self) -> None:
            self._client, self._owns_client = http, False
            self.timeout, self.event_hooks, self.follow_redirects = None, None, False

        async def post(
            self,
            url: str,
            data: Any = None,
            json: Any = None,
            params: Any = None,
            headers: Any = None,
            stream: bool = False,
            content: Any = None,
            **_: Any,
        ) -> httpx.Response:
            if isinstance(data, str | bytes):
                data, content = None, data
            request = http.build_request(
                "POST", url, data=data, json=json, params=params, headers=headers, content=content
            )
            check_host(request.url.host)
            response = await http.send(request, stream=stream)
            if not response.is_success:
                await response.aread()
                response.raise_for_status()
            return response

    return Client()
