"""Replicate: a prediction that is begun, asked for until its end, and cancelled with the run."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from paca.common import clock
from paca.engine.llm.base import Chunk, Request, Text, UsageSeen
from paca.engine.llm.credentials import PLAIN, Credentials
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.http_request import HttpRequest, Sender
from paca.engine.llm.litellm import library, translation
from paca.engine.llm.model_errors import ModelError, StreamBroken, ToolsUnsupported
from paca.engine.llm.openai.stream import ReplyAssembler
from paca.engine.llm.provider_errors import from_event
from paca.engine.llm.response_body import AttemptBudget, read

if TYPE_CHECKING:
    import httpx2

ADDRESS = "https://api.replicate.com"
NO_SERVICE = "Replicate does not have this model (HTTP 404)."
PREDICTION_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")
POLL_SECONDS = 0.5
CANCEL_SECONDS = 5.0
LEAST_SECONDS = 5  # the shortest time that Replicate takes
ENDED = {"succeeded": "stop", "canceled": "cancelled", "aborted": "aborted", "failed": "error"}


class ReplicateLLM:
    """The adapter for one run. The answers have no calls: Replicate has no field for tools."""

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
        self._model = model
        self._credentials = Credentials("replicate", {PLAIN: api_key})
        self._api = (base_url.strip().rstrip("/").removesuffix("/v1") or ADDRESS) + "/v1"
        self._headers = {"content-type": "application/json", "authorization": f"Bearer {api_key}"}
        self._limits = limits or TimeLimits()
        self._sender = Sender(self._limits, http, NO_SERVICE, self._credentials.mask)

    async def stream(self, request: Request) -> AsyncIterator[Chunk]:
        """Yield the chunks of one attempt, as ``LLM`` describes. Raises ``ModelError``; its kinds
        ``ToolsUnsupported`` if the model shall call tools, and ``StreamBroken`` for no whole answer.
        """
        if request.tools and request.may_call:
            raise ToolsUnsupported("Replicate does not support tool calls. Switch Tool calls as text on for this agent.")  # fmt: skip
        await library.load()
        budget = AttemptBudget(self._limits)
        content = await library.in_thread(self._encode, translation.without_calls(request))
        assembler = ReplyAssembler(len(content))
        yield UsageSeen(assembler.usage)
        shown = ""
        async with aclosing(self._predictions(content, budget)) as predictions:
            async for facts in predictions:
                text = _output(facts)
                if not text.startswith(shown):
                    raise StreamBroken("The model's answer has changed in the middle.")
                for chunk in assembler.take(_event(facts, text[len(shown) :])):
                    yield chunk
                shown = text
        for chunk in assembler.close():
            yield chunk
        yield assembler.finish()

    async def _predictions(
        self, content: bytes, budget: AttemptBudget
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The prediction as it grows, up to its end. One that has not ended is cancelled on the way out."""
        address = ""
        try:
            facts = await self._ask("POST", self._url(), content)
            address, changed_at = self._address(facts), clock.monotonic()
            while facts["status"] not in ENDED:
                yield facts
                budget.begun = bool(_output(facts))
                self._check_time(budget, changed_at)
                await asyncio.sleep(min(POLL_SECONDS, budget.seconds_left()))
                before, facts = facts, await self._ask("GET", address)
                if _output(facts) != _output(before):
                    changed_at = clock.monotonic()
            address = ""
            if facts["status"] == "failed":
                words = {"error": facts.get("error") or "failed"}
                raise from_event(words, has_begun=budget.begun)
            yield facts
        except ModelError as error:
            raise self._credentials.mask(error) from None
        finally:
            if address:
                await self._cancel(address)

    def _check_time(self, budget: AttemptBudget, changed_at: float) -> None:
        """Polls are short, so the limits of an attempt are checked between them."""
        silent = budget.begun and clock.monotonic() - changed_at >= self._limits.gap
        if silent or budget.seconds_left() <= 0:
            raise budget.timeout_error("Replicate")

    def _url(self) -> str:
        owner, _, rest = self._model.partition("/")
        name, _, version = rest.partition(":")
        if version:
            return f"{self._api}/predictions"
        kind = "deployments" if owner == "deployments" else "models"
        path = rest if owner == "deployments" else f"{owner}/{name}"
        return f"{self._api}/{kind}/{quote(path)}/predictions"

    def _encode(self, request: Request) -> bytes:
        body = translation.openai_body(request, provider="replicate", model=self._model, family="")
        optional = translation.optional_parameters("replicate", self._model, body)
        system = {"system_prompt": request.system} if request.system else {}
        # litellm would fetch a template for the prompt from another host. The models have their own.
        given = {"prompt": _prompt(request), **system, **optional}
        encoded: dict[str, Any] = {"input": given}
        if version := self._model.partition(":")[2]:
            encoded["version"] = version
        return json.dumps(encoded, ensure_ascii=False).encode(errors="replace")

    async def _ask(self, method: str, url: str, content: bytes = b"") -> dict[str, Any]:
        """The prediction as the server describes it. Raises ``ModelError``."""
        budget, body = AttemptBudget(self._limits), b""
        headers = dict(self._headers)
        if method == "POST":
            # If this process dies, nobody cancels the prediction: Replicate then ends it by itself.
            headers["cancel-after"] = f"{max(LEAST_SECONDS, math.ceil(self._limits.total))}s"
        sent = HttpRequest(url, headers, content, method)
        response = await self._sender.send(sent, budget)
        try:
            pieces = response.aiter_bytes()
            while data := await read(pieces, budget):
                body += data
        finally:
            await response.aclose()
        try:
            facts = json.loads(body)
        except (ValueError, RecursionError):
            facts = None
        if not isinstance(facts, dict) or not isinstance(facts.get("status"), str):
            raise StreamBroken("Replicate's answer is no prediction.")
        return facts

    def _address(self, facts: dict[str, Any]) -> str:
        """Where to ask for the prediction: at the address of the key, whatever the answer names."""
        found = str(facts.get("id", ""))
        # guard: engine-prediction-id
        if not PREDICTION_ID.fullmatch(found):
            raise StreamBroken("Replicate's answer is no prediction.")
        return f"{self._api}/predictions/{found}"

    async def _cancel(self, address: str) -> None:
        """Stop the prediction, which would go on and cost otherwise. A failure changes nothing."""
        sent = HttpRequest(f"{address}/cancel", self._headers)
        with suppress(ModelError, TimeoutError):
            async with asyncio.timeout(CANCEL_SECONDS):
                answer = await self._sender.send(sent, AttemptBudget(self._limits))
                await answer.aclose()


def _prompt(request: Request) -> str:
    """The conversation as one text: a single message as it is, several with the names of their roles."""
    texts = [
        (message.role, "\n\n".join(b.text for b in message.blocks if isinstance(b, Text)))
        for message in request.messages
    ]
    if len(texts) == 1:
        return texts[0][1]
    return "\n\n".join(f"{role.capitalize()}: {text}" for role, text in texts) + "\n\nAssistant:"


def _output(facts: dict[str, Any]) -> str:
    """The whole output so far: a text, or a list of its pieces."""
    found = facts.get("output") or ""
    return "".join(map(str, found)) if isinstance(found, list) else str(found)


def _event(facts: dict[str, Any], new: str) -> dict[str, Any]:
    reason = ENDED.get(facts["status"])
    metrics = facts.get("metrics") or {}
    usage = None
    if reason and "input_token_count" in metrics:
        usage = {
            "prompt_tokens": metrics["input_token_count"],
            "completion_tokens": metrics.get("output_token_count"),
        }
    return translation.event({"content": new} if new else {}, reason=reason, usage=usage)
