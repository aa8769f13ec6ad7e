"""The headers of the anthropic SDK, which knows the version of the API and how a key is sent."""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx2

HOST = "https://api.anthropic.com"
KEY = "{key}"  # stands for the key in the headers that are kept: no key is kept

_sdk_is_imported = False
_template: dict[str, str] = {}


async def import_sdk() -> None:
    """Import the SDK in a thread: it takes seconds, and other runs go on meanwhile."""
    global _sdk_is_imported
    if not _sdk_is_imported:
        await asyncio.to_thread(importlib.import_module, "anthropic")
        _sdk_is_imported = True


def with_key(key: str, http: httpx2.AsyncClient) -> dict[str, str]:
    """The headers of a request with this key. ``http`` is any pool: nothing is sent.

    The SDK is asked once a process, and itself sends no request: each took it half a millisecond.
    """
    if not _template:
        _template.update(_ask_sdk(http))
    return {name: value.replace(KEY, key) for name, value in _template.items()}


def _ask_sdk(http: httpx2.AsyncClient) -> dict[str, str]:
    import anthropic

    # Everything is passed explicitly, or the SDK would take it from the environment.
    client = anthropic.AsyncAnthropic(
        api_key=KEY, base_url=HOST, webhook_key="", http_client=http, open_telemetry=False
    )
    # There is no argument for these headers, which the SDK takes from the environment.
    client._custom_headers = {}
    given = client.default_headers
    return {name: value for name, value in given.items() if isinstance(value, str)}
