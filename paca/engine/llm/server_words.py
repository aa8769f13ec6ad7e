"""Decides whether people read the words of a model's server, and hides them if not.

Anybody who may change an agent can set its base URL. ``PRIVATE_MODEL_SERVERS=local`` opens usual ports of
this machine, where other programs may listen. What such a program answers is for people who can reach it
themselves, so its words are shown only if the operator has listed it by its host and port.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import cast
from urllib.parse import urlsplit

from paca.engine.llm import http_pool, providers
from paca.engine.llm.base import LLM, Chunk, Request
from paca.engine.llm.model_errors import ModelError, ModelMisconfigured

HIDDEN = (
    "The words of the server are hidden. The operator can let people read them: "
    "PRIVATE_MODEL_SERVERS={host}:{port}."
)


class WordHidingLLM:
    """Wraps the adapter of a server whose words people must not read."""

    def __init__(self, llm: LLM, address: str) -> None:
        self._llm = llm
        self._address = address

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Stream the chunks. A ``ModelError`` of the adapter is raised without the words of the server."""
        chunks = cast(AsyncGenerator[Chunk, None], self._llm.stream(request))
        try:
            async with aclosing(chunks):
                async for chunk in chunks:
                    yield chunk
        except ModelError as error:
            raise hidden(error, self._address) from None


def guarded(llm: LLM, model: str, base_url: str) -> LLM:
    """The adapter, wrapped if people must not read the words of its server."""
    address = address_of(model, base_url)
    return llm if may_be_read(address) else WordHidingLLM(llm, address)


def address_of(model: str, base_url: str) -> str:
    """The address that the model's requests go to; empty for a public service at its own address."""
    provider = providers.find(model.partition("/")[0])
    try:
        return provider.address(base_url) if provider else base_url
    except ModelMisconfigured:
        return ""


def may_be_read(address: str) -> bool:
    """Whether people may read the words of the server: a public one, or a private one that is listed."""
    # guard: engine-words-of-private-servers
    if not providers.is_local(address):
        return True
    host, port = _host_and_port(address)
    return http_pool.allowed_servers().is_listed(host, port)


def hidden(error: ModelError, address: str) -> ModelError:
    """The error without the words of the server at this address."""
    if not error.said:
        return error
    host, port = _host_and_port(address)
    host = f"[{host}]" if ":" in host else host
    return error.without_said(HIDDEN.format(host=host, port=port))


def _host_and_port(address: str) -> tuple[str, int]:
    try:
        url = urlsplit(address)
        return url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
    except ValueError:
        return "", 0  # no server, so none that is listed
