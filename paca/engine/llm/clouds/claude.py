"""Claude on clouds: Anthropic's dialect at the addresses of Vertex AI and Azure AI Foundry."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from paca.engine.llm import call_recording
from paca.engine.llm.anthropic.client import AnthropicLLM
from paca.engine.llm.base import Request
from paca.engine.llm.clouds import vertex
from paca.engine.llm.credentials import PLAIN, Credentials
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.http_request import HttpRequest, Sender
from paca.engine.llm.response_body import AttemptBudget

if TYPE_CHECKING:
    import httpx2

GOOGLE = "https://aiplatform.googleapis.com"
NO_MODEL = "This cloud does not have this model at this address (HTTP 404)."
API_VERSION = "2023-06-01"
VERTEX_VERSION = b'"anthropic_version":"vertex-2023-10-16"'
MODEL_FIELD = re.compile(rb'"model":"(?:[^"\\]|\\.)*"')


class CloudClaudeLLM(AnthropicLLM):
    """Encodes and reads as for Anthropic, and sends with the cloud's address and credentials."""

    service = ""

    def __init__(
        self,
        model: str,
        api_key: str,
        *,
        base_url: str = "",
        limits: TimeLimits | None = None,
        http: httpx2.AsyncClient | None = None,
    ) -> None:
        """``http`` is a pool that the caller closes; the default is the pool of the event loop."""
        super().__init__(api_key, base_url=base_url or GOOGLE, limits=limits, http=http)
        self._model, self._given_key = model, api_key
        self._given_url = base_url.strip().rstrip("/")

    async def _post(self, request: Request, budget: AttemptBudget) -> httpx2.Response:
        credentials = Credentials.parse(self.service, self._given_key)
        sender = Sender(self._limits, self._http, NO_MODEL, credentials.mask)
        sent = await self._request(self._encoder.encode(request), credentials, sender)
        call_recording.add_secret(self._key)
        masking = Credentials(self.service, {**credentials.values, "used": self._key})
        return await Sender(self._limits, self._http, NO_MODEL, masking.mask).send(sent, budget)

    async def _request(
        self, content: bytes, credentials: Credentials, sender: Sender
    ) -> HttpRequest:
        """The request to the cloud; sets the secret that is sent."""
        raise NotImplementedError


class VertexClaudeLLM(CloudClaudeLLM):
    """Claude on Vertex AI."""

    service = "vertex_ai"

    async def _request(
        self, content: bytes, credentials: Credentials, sender: Sender
    ) -> HttpRequest:
        place = vertex.place_of(credentials, self._given_url)
        self._key = await vertex.token_of(credentials, sender)
        return HttpRequest(
            f"{place}/publishers/anthropic/models/{quote(self._model, safe='@')}:streamRawPredict",
            {"authorization": f"Bearer {self._key}", "content-type": "application/json"},
            # The encoder writes the model first; here the address names it.
            MODEL_FIELD.sub(VERTEX_VERSION, content, count=1),
        )


class AzureClaudeLLM(CloudClaudeLLM):
    """Claude on Azure AI Foundry."""

    service = "azure_ai"

    async def _request(
        self, content: bytes, credentials: Credentials, sender: Sender
    ) -> HttpRequest:
        headers = {"anthropic-version": API_VERSION, "content-type": "application/json"}
        if token := credentials.get("access_token"):
            self._key, given = token, {"authorization": f"Bearer {token}"}
        else:
            (self._key,) = credentials.need(PLAIN, example="the key alone")
            given = {"x-api-key": self._key}
        origin = self._given_url.removesuffix("/v1").removesuffix("/anthropic")
        return HttpRequest(f"{origin}/anthropic/v1/messages", {**headers, **given}, content)
