"""Amazon Bedrock's Converse API: signed with an API key or an access key, answered in binary frames."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from paca.engine.llm.base import Request
from paca.engine.llm.credentials import PLAIN, Credentials
from paca.engine.llm.http_request import HttpRequest
from paca.engine.llm.litellm import translation
from paca.engine.llm.model_errors import ModelError, ModelMisconfigured, StreamBroken
from paca.engine.llm.openai import attachments
from paca.engine.llm.provider_errors import from_event

REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d{1,2}")
REGION_IN_URL = re.compile(r"bedrock-runtime[\w-]*\.([a-z]{2}(?:-[a-z]+)+-\d{1,2})\.amazonaws\.com")
EXAMPLE = (
    '{"api_key": "...", "region": "us-east-1"} with a Bedrock API key, or '
    '{"access_key_id": "...", "secret_access_key": "...", "region": "us-east-1"}'
)
# A frame names the error; these are the names that ``provider_errors.py`` knows.
EXCEPTIONS = {
    "throttlingException": "rate_limit_exceeded",
    "serviceUnavailableException": "service_unavailable",
    "internalServerException": "internal_server_error",
    "modelTimeoutException": "timeout_error",
    "validationException": "invalid_request_error",
    "accessDeniedException": "permission_error",
}
MAX_FRAME_BYTES = 24 * 1024 * 1024


class BedrockDialect:
    """Converse for one model. ``model`` is a model, an inference profile or its ARN."""

    no_service = "There is no Bedrock runtime at this address (HTTP 404)."

    def __init__(self, model: str, key: str, *, base_url: str = "") -> None:
        self._model = model.removeprefix("converse/")
        self._key = key
        self._base_url = base_url.strip().rstrip("/")
        self.address = self._base_url or "bedrock"
        self.family = attachments.family_of("bedrock", self._model.partition("anthropic.")[2] or self._model, base_url)  # fmt: skip

    def request(self, request: Request) -> HttpRequest:
        credentials = self._credentials()
        region = self._region(credentials)
        origin = self._base_url or _origin(region)
        url = f"{origin}/model/{quote(self._model, safe='')}/converse-stream"
        content = self._encode(request)
        return HttpRequest(url, _signed(url, content, credentials, region), content)

    def events(self) -> BedrockEvents:
        return BedrockEvents(self._model)

    def mask(self, error: ModelError) -> ModelError:
        return self._credentials().mask(error)

    def _credentials(self) -> Credentials:
        return Credentials.parse("bedrock", self._key)

    def _region(self, credentials: Credentials) -> str:
        named = REGION_IN_URL.search(self._base_url)
        region = credentials.get("region") or (named[1] if named else "")
        if not region and not (self._base_url and credentials.get(PLAIN)):
            credentials.need("region", example=EXAMPLE)
        # guard: engine-aws-region
        if region and not REGION.fullmatch(region):
            raise ModelMisconfigured(f"{region[:60]} is no region of AWS.")
        return region

    def _encode(self, request: Request) -> bytes:
        form = request if request.may_call else translation.without_calls(request)
        body = translation.openai_body(
            form, provider="bedrock", model=self._model, family=self.family
        )
        optional = translation.optional_parameters("bedrock", self._model, body)
        litellm: Any = importlib.import_module("litellm")
        encoded = litellm.AmazonConverseConfig()._transform_request(
            model=self._model,
            messages=body["messages"],
            optional_params=optional,
            litellm_params={},
            headers={},
        )
        written = json.dumps(encoded, ensure_ascii=False).encode(errors="replace")
        if "top_k" in body and b'"top_k"' not in written and b'"topK"' not in written:
            raise ModelMisconfigured("This model does not take the parameter top_k.")
        return written


class BedrockEvents:
    """Reads the frames of Amazon's event stream. Each has a checksum, and errors are frames too."""

    def __init__(self, model: str) -> None:
        self.done = False
        self._has_begun = False
        self._unread = 0
        frames: Any = importlib.import_module("botocore.eventstream")
        handler: Any = importlib.import_module("litellm.llms.bedrock.chat.invoke_handler")
        self._broken = frames.ParserError
        self._buffer = frames.EventStreamBuffer()
        self._decoder = handler.AWSEventStreamDecoder(model)

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The events of the frames that these bytes complete. Raises ``StreamBroken`` for an invalid one."""
        self._unread += len(data)
        try:
            self._buffer.add_data(data)
            for message in self._buffer:
                self._unread = 0
                yield from self._take(message.headers, message.payload)
        except self._broken:
            said = data[:200].decode(errors="replace")
            raise StreamBroken(
                "The answer is no event stream of Bedrock.", said=f"The server sent: {said}"
            ) from None
        if self._unread > MAX_FRAME_BYTES:
            raise StreamBroken("The model's answer has an event without an end.")

    def rest(self) -> Iterator[dict[str, Any]]:
        return iter(())

    def _take(self, headers: dict[str, str], payload: bytes) -> Iterator[dict[str, Any]]:
        facts = translation.translated(lambda: json.loads(payload) if payload else {})
        if headers.get(":message-type", "event") != "event":
            self._raise(headers, facts)
        kind = headers.get(":event-type", "")
        chunk = translation.translated(
            lambda: self._decoder.converse_chunk_parser(facts).model_dump(exclude_none=True)
        )
        delta = {k: v for k, v in chunk["choices"][0]["delta"].items() if v != ""}
        delta.pop("provider_specific_fields", None)
        self._has_begun = self._has_begun or kind == "contentBlockDelta"
        # litellm takes an unknown reason for a proper end, so Bedrock's own one is used.
        reason = facts.get("stopReason") if kind == "messageStop" else None
        yield translation.event(delta, reason=reason, usage=chunk.get("usage"))
        self.done = self.done or kind == "metadata"

    def _raise(self, headers: dict[str, str], facts: dict[str, Any]) -> None:
        name = headers.get(":exception-type") or headers.get(":error-code") or "error"
        words = facts.get("message") or headers.get(":error-message") or name
        code = EXCEPTIONS.get(name, name)
        raise from_event({"error": {"message": words, "code": code}}, has_begun=self._has_begun)


def _origin(region: str) -> str:
    china = ".cn" if region.startswith("cn-") else ""
    return f"https://bedrock-runtime.{region}.amazonaws.com{china}"


def _signed(url: str, content: bytes, credentials: Credentials, region: str) -> dict[str, str]:
    """The headers of a request: with the API key, or a signature by the access key."""
    headers = {"content-type": "application/json"}
    if key := credentials.get(PLAIN):
        return {**headers, "authorization": f"Bearer {key}"}
    access, secret = credentials.need("access_key_id", "secret_access_key", example=EXAMPLE)
    auth: Any = importlib.import_module("botocore.auth")
    request: Any = importlib.import_module("botocore.awsrequest")
    kinds: Any = importlib.import_module("botocore.credentials")
    given = kinds.Credentials(access, secret, credentials.get("session_token") or None)
    signed = request.AWSRequest("POST", url, data=content, headers=headers)
    auth.SigV4Auth(given, "bedrock", region).add_auth(signed)
    return dict(signed.headers.items())
