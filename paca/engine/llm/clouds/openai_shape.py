"""Clouds that speak OpenAI's dialect at paths of their own: Azure, Azure AI Foundry, watsonx and Vertex AI."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qs, quote, urlsplit

from paca.engine.llm import call_recording
from paca.engine.llm.base import Chunk, Request
from paca.engine.llm.clouds import access_token, vertex
from paca.engine.llm.credentials import PLAIN, Credentials
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.http_request import Sender
from paca.engine.llm.model_errors import ModelError, ModelMisconfigured
from paca.engine.llm.openai.client import OpenAILLM
from paca.engine.llm.openai.encoder import Encoder
from paca.engine.llm.openai.server_form import ServerForm
from paca.engine.llm.providers import Provider

if TYPE_CHECKING:
    import httpx2

AZURE_VERSION = "2024-10-21"
AZURE_AI_VERSION = "2024-05-01-preview"
WATSONX_VERSION = "2025-02-11"
IBM_IAM = "https://iam.cloud.ibm.com/identity/token"
IBM_HOST = ".cloud.ibm.com"
NO_EXCHANGE = "There is no token service at this address (HTTP 404)."


class CloudLLM(OpenAILLM):
    """An adapter of OpenAI's dialect whose address and headers follow from the agent's credentials."""

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
        """``provider`` has no address of its own, unless the cloud has one for all customers."""
        super().__init__(provider, model, "", base_url=base_url, limits=limits, http=http)
        self._given_key = api_key
        self._provider = provider.name
        self._base, _, self._query = base_url.strip().partition("?")
        self._base = self._base.rstrip("/")
        # The cloud is known whatever its address is, and so are its parameters.
        self._encoder = Encoder(provider, model, own_address=False, family=self._family)

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Yield the chunks of one attempt, as ``LLM`` describes. Raises ``ModelError``."""
        await self._connect(Credentials.parse(self._provider, self._given_key))
        chunks = cast(Any, super().stream(request))
        async with aclosing(chunks):
            async for chunk in chunks:
                yield chunk

    async def _connect(self, credentials: Credentials) -> None:
        """Set the address and the headers. A token may have to be fetched first."""
        raise NotImplementedError

    def _use(self, url: str, headers: dict[str, str], secret: str) -> None:
        self._url, self._key = url, secret
        call_recording.add_secret(secret)
        self._headers |= headers

    def _sender(self, credentials: Credentials) -> Sender:
        return Sender(self._limits, self._http, NO_EXCHANGE, credentials.mask)

    def _version(self, credentials: Credentials, default: str) -> str:
        in_query = parse_qs(self._query).get("api-version", [""])[0]
        return quote(credentials.get("api_version") or in_query or default, safe="")


class AzureLLM(CloudLLM):
    """A deployment of Azure OpenAI, at its own path or at the path of OpenAI's version 1."""

    async def _connect(self, credentials: Credentials) -> None:
        url = f"{self._base}/chat/completions"
        if not self._base.endswith("/openai/v1"):
            version = self._version(credentials, AZURE_VERSION)
            origin = self._base.removesuffix("/openai")
            url = f"{origin}/openai/deployments/{quote(self._model, safe='')}/chat/completions?api-version={version}"
        self._use(url, *_azure_headers(credentials))


class AzureAILLM(CloudLLM):
    """A model of Azure AI Foundry, at the common path of a resource or at an endpoint of its own."""

    async def _connect(self, credentials: Credentials) -> None:
        version = self._version(credentials, AZURE_AI_VERSION)
        url = f"{self._base}/chat/completions"
        if urlsplit(self._base).path in ("", "/models"):
            url = f"{self._base.removesuffix('/models')}/models/chat/completions?api-version={version}"
        self._use(url, *_azure_headers(credentials))


def _azure_headers(credentials: Credentials) -> tuple[dict[str, str], str]:
    if token := credentials.get("access_token"):
        return {"authorization": f"Bearer {token}"}, token
    (key,) = credentials.need(PLAIN, example='{"api_key": "...", "api_version": "2024-10-21"}')
    return {"api-key": key}, key


class WatsonxLLM(CloudLLM):
    """A model of IBM's watsonx.ai, in a project or a space, or a deployment."""

    async def _connect(self, credentials: Credentials) -> None:
        path = f"{self._base}/ml/v1/text/chat_stream"
        ids: dict[str, str] = {}
        if self._model.startswith("deployment/"):
            name = quote(self._model.removeprefix("deployment/"), safe="")
            path = f"{self._base}/ml/v1/deployments/{name}/text/chat_stream"
        else:
            ids = {"model_id": self._model, **_place(credentials)}
        token = credentials.get("access_token") or await self._token(credentials)
        self._encoder = cast(Any, _WatsonxEncoder(self._encoder, ids))
        version = self._version(credentials, WATSONX_VERSION)
        self._use(f"{path}?version={version}", {"authorization": f"Bearer {token}"}, token)

    async def _token(self, credentials: Credentials) -> str:
        example = '{"api_key": "...", "project_id": "..."}'
        (key,) = credentials.need(PLAIN, example=example)
        address = credentials.get("iam_url")
        # guard: engine-ibm-key-stays
        if not address and not (urlsplit(self._base).hostname or "").endswith(IBM_HOST):
            raise ModelMisconfigured(
                "The base URL is not one of IBM Cloud. Add iam_url to the agent's key: the address that exchanges "
                "the key for a token."
            )
        return await access_token.of_ibm(key, address or IBM_IAM, self._sender(credentials))


def _place(credentials: Credentials) -> dict[str, str]:
    """Where the model is used: in a space if one is given, else in a project."""
    if space := credentials.get("space_id"):
        return {"space_id": space}
    (project,) = credentials.need(
        "project_id", example='{"api_key": "...", "project_id": "..."} or with a space_id'
    )
    return {"project_id": project}


class _WatsonxEncoder:
    """Encodes for watsonx, which names the model and the choice of tools in its own way."""

    def __init__(self, inner: Encoder | _WatsonxEncoder, ids: dict[str, str]) -> None:
        self._inner: Encoder = inner._inner if isinstance(inner, _WatsonxEncoder) else inner
        self._ids = ids

    def drop_images(self, request: Request, refusal: ModelError, form: ServerForm) -> bool:
        return self._inner.drop_images(request, refusal, form)

    def encode(self, request: Request, form: ServerForm) -> bytes:
        body = json.loads(self._inner.encode(request, form))
        for name in ("model", "stream", "stream_options"):
            body.pop(name, None)
        if choice := body.pop("tool_choice", None):
            body["tool_choice_option"] = choice
        return json.dumps({**self._ids, **body}, ensure_ascii=False).encode(errors="replace")


class VertexLLM(CloudLLM):
    """Gemini and the open models of Vertex AI, at its endpoint for OpenAI's dialect."""

    async def _connect(self, credentials: Credentials) -> None:
        place = vertex.place_of(credentials, self._base)
        token = await vertex.token_of(credentials, self._sender(credentials))
        self._use(
            f"{place}/endpoints/openapi/chat/completions",
            {"authorization": f"Bearer {token}"},
            token,
        )
