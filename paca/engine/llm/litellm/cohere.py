"""Cohere's own chat API, version 2."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from typing import Any

from paca.engine.llm.base import Request
from paca.engine.llm.credentials import PLAIN, Credentials
from paca.engine.llm.http_request import HttpRequest
from paca.engine.llm.litellm import translation
from paca.engine.llm.model_errors import ModelError, ModelMisconfigured
from paca.engine.llm.openai import attachments
from paca.engine.llm.openai.errors import reports_error
from paca.engine.llm.provider_errors import from_event
from paca.engine.llm.strict_parsing import TEXT_BODY, EventReader

ADDRESS = "https://api.cohere.com"


class CohereDialect:
    """Version 2 of the chat API for one model."""

    no_service = "There is no chat API of Cohere at this base URL (HTTP 404)."

    def __init__(self, model: str, key: str, *, base_url: str = "") -> None:
        self._model = model
        self._credentials = Credentials("cohere_chat", {PLAIN: key})
        origin = base_url.strip().rstrip("/") or ADDRESS
        self.address = origin.removesuffix("/v2") + "/v2/chat"
        self.family = attachments.family_of("cohere_chat", model, base_url)

    def request(self, request: Request) -> HttpRequest:
        (key,) = self._credentials.need(PLAIN, example="the key alone")
        headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
        return HttpRequest(self.address, headers, self._encode(request))

    def events(self) -> CohereEvents:
        return CohereEvents()

    def mask(self, error: ModelError) -> ModelError:
        return self._credentials.mask(error)

    def _encode(self, request: Request) -> bytes:
        body = translation.openai_body(
            request, provider="cohere_chat", model=self._model, family=self.family
        )
        own: dict[str, Any] = {"stream": True}
        if thinking := body.pop("thinking", None):
            own["thinking"] = {"type": "enabled", "token_budget": thinking["budget_tokens"]}
        if "top_k" in body:
            own["k"] = body.pop("top_k")
        if body.pop("tool_choice", None):
            own["tool_choice"] = "NONE"
        if "reasoning_effort" in body:
            raise ModelMisconfigured("This model does not take the parameter effort.")
        optional = translation.optional_parameters("cohere_chat", self._model, body)
        module: Any = importlib.import_module("litellm.llms.cohere.chat.v2_transformation")
        encoded = module.CohereV2ChatConfig().transform_request(
            self._model, body["messages"], optional, {}, {}
        )
        return json.dumps({**encoded, **own}, ensure_ascii=False).encode(errors="replace")


class CohereEvents:
    """Reads Cohere's events. Only ``message-end`` is an end, and it alone has the usage."""

    def __init__(self) -> None:
        self.done = False
        self._has_begun = False
        self._reader = EventReader()
        module: Any = importlib.import_module("litellm.llms.cohere.common_utils")
        self._parser = module.CohereV2ModelResponseIterator(None, sync_stream=False)

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        for event in self._reader.feed(data):
            yield from self._take(event)

    def rest(self) -> Iterator[dict[str, Any]]:
        for event in self._reader.rest():
            yield from self._take(event)

    def _take(self, event: dict[str, Any]) -> Iterator[dict[str, Any]]:
        delta = event.get("delta") or {}
        if self.done:
            return
        failed = event if _is_error(event) else delta if delta.get("error") else None
        if failed is not None:
            raise from_event(failed, has_begun=self._has_begun)
        if event.get("type") == "message-end":
            self.done = True
            yield translation.event({}, reason=delta.get("finish_reason"), usage=_usage(delta))
            return
        found = translation.translated(lambda: self._delta(event))
        self._has_begun = self._has_begun or bool(found)
        yield translation.event(found)

    def _delta(self, event: dict[str, Any]) -> dict[str, Any]:
        message = (event.get("delta") or {}).get("message") or {}
        content = message.get("content")
        thought = content.get("thinking") if isinstance(content, dict) else None
        # litellm's parser reads neither of these two.
        if thought := thought or message.get("tool_plan"):
            return {"reasoning_content": thought}
        chunk = self._parser.chunk_parser(event)
        found: dict[str, Any] = {"content": chunk["text"]} if chunk["text"] else {}
        if chunk["tool_use"]:
            found["tool_calls"] = [chunk["tool_use"]]
        return found


def _is_error(event: dict[str, Any]) -> bool:
    if "type" not in event or event.get("object") == TEXT_BODY:
        return reports_error(event) or bool(event.get("message"))
    return reports_error(event)


def _usage(delta: dict[str, Any]) -> dict[str, Any] | None:
    tokens = (delta.get("usage") or {}).get("tokens") or {}
    if "input_tokens" not in tokens:
        return None
    return {
        "prompt_tokens": tokens["input_tokens"],
        "completion_tokens": tokens.get("output_tokens"),
    }
