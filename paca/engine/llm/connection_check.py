"""Checks whether an agent's model answers, and names the cause if it does not.

The check makes the same call as a run, with all parameters. A simpler call could succeed with
settings that fail in a run.
"""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from paca.common import clock
from paca.common.text import to_storable
from paca.engine.llm import http_pool, own_parameters, providers, server_words
from paca.engine.llm.base import Message, Reply, Request, Text, ToolSpec, Usage, UsageSeen
from paca.engine.llm.demo import scripted_model
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.model_errors import (
    ModelError,
    ModelMisconfigured,
    ToolsUnsupported,
    Unreachable,
)
from paca.engine.llm.provider_errors import from_transport, without_key, without_key_text
from paca.engine.llm.registry import PROVIDERS, is_own_server, open_llm

if TYPE_CHECKING:
    import httpx2

LIMITS = TimeLimits(connect=10, first_token=30, gap=20, total=45)
OWN_SERVER_LIMITS = TimeLimits(connect=10, first_token=55, gap=55, total=60, own_server=True)
LISTING_SECONDS = 10.0
TLS_SECONDS = 3.0  # a handshake that takes longer is no handshake
PLAIN_SECONDS = 2.0
PLAIN_HTTP = (
    "{address} speaks http and not https (TLS) at this port. Write http:// in the base URL."
)
READY = ToolSpec(
    "ready", "Say that you are ready.", {"type": "object", "properties": {}, "required": []}
)
SWITCH_ON = "Switch Tool calls as text on for this agent."
QUESTION = "Answer with the single word: ready"
MAX_ANSWER_TOKENS = 64
MAX_LISTED_MODELS = 200
MAX_SHOWN_MODELS = 8
MAX_LIST_BYTES = 4 * 1024 * 1024


@dataclasses.dataclass(frozen=True, slots=True)
class ConnectionCheck:
    """The result of the check. ``code`` is the code of the error, or empty if the model answered.

    ``models`` are the models that the server at the base URL lists, if it has a list. ``usage`` is that
    of the model call; None if the model was not asked.
    """

    works: bool
    detail: str
    code: str = ""
    seconds: float = 0.0
    models: tuple[str, ...] = ()
    usage: Usage | None = None


async def check_connection(
    model: str,
    *,
    base_url: str = "",
    api_key: str = "",
    parameters: dict[str, Any] | None = None,
    text_tool_calls: bool = False,
) -> ConnectionCheck:
    """Ask the model for one word, with a tool as in a run. A failure is in the result and not raised.

    ``text_tool_calls``: the model gets no tool, since its calls are written as text.
    """
    if model == scripted_model.MODEL:
        return ConnectionCheck(True, "The demo answers by itself and needs no connection.")
    provider = providers.find(model.partition("/")[0])
    tools = () if text_tool_calls else (READY,)
    how = (model, base_url, api_key, parameters or {}, tools)
    if provider is None or provider.name in PROVIDERS:
        return await _call_model(*how)
    try:
        # An address that cannot be reached is the first cause to name, also where a key is missing.
        models = await served_models(provider.address(base_url), api_key) if base_url else ()
        open_llm(model, base_url=base_url, api_key=api_key)
        if not base_url:
            models = await served_models(provider.address(base_url), api_key)
    except (ModelMisconfigured, Unreachable) as error:
        return ConnectionCheck(False, error.detail, error.code)
    found = await _call_model(*how)
    return _with_models(found, model.partition("/")[2], models)


async def served_models(address: str, api_key: str) -> tuple[str, ...]:
    """The models that the server at this address lists; empty if it has no list.

    Raises ``Unreachable`` or ``ModelMisconfigured`` if no server answers there.
    """
    import httpx2

    timeout = httpx2.Timeout(None, connect=TLS_SECONDS)
    headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
    async with http_pool.new_pool() as http:
        try:
            async with (
                asyncio.timeout(LISTING_SECONDS),
                http.stream("GET", f"{address}/models", headers=headers, timeout=timeout) as answer,
            ):
                body = await _read_at_most(answer.aiter_bytes())
        except TimeoutError:
            if await _speaks_http(http, address):
                raise ModelMisconfigured(PLAIN_HTTP.format(address=address)) from None
            raise Unreachable(f"{address} did not answer within {LISTING_SECONDS:g} s.") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            if await _speaks_http(http, address):
                raise ModelMisconfigured(PLAIN_HTTP.format(address=address)) from None
            raise without_key(from_transport(error, address), api_key) from None
    if not answer.is_success:
        return ()
    return _names(body, api_key, any_entry=server_words.may_be_read(address))


async def _speaks_http(http: "httpx2.AsyncClient", address: str) -> bool:
    """Whether the server at an address with https speaks plain http at this port."""
    import httpx2

    if not address.lower().startswith("https:"):
        return False
    try:
        async with asyncio.timeout(PLAIN_SECONDS):
            await http.head(f"http:{address[6:]}")
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, OSError):
        return False
    return True


async def _read_at_most(pieces: AsyncIterator[bytes]) -> bytes:
    """The first bytes of the list, so that a list without an end is not read for ever."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > MAX_LIST_BYTES:
            break
    return bytes(body)


def _names(body: bytes, api_key: str, *, any_entry: bool) -> tuple[str, ...]:
    """The names in the list, without the key: a server may repeat it.

    ``any_entry``: also of entries that do not say that they are models, as another program's would.
    """
    try:
        listed = json.loads(body)["data"][:MAX_LISTED_MODELS]
        names = [str(one["id"]) for one in listed if any_entry or one["object"] == "model"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
    return tuple(to_storable(without_key_text(name, api_key))[:200] for name in names)


def _with_models(found: ConnectionCheck, name: str, models: tuple[str, ...]) -> ConnectionCheck:
    """The result with the listed models. The detail of a failure names them if the model is not listed."""
    detail = found.detail
    if not found.works and models and name not in models:
        more = (
            f" and {len(models) - MAX_SHOWN_MODELS} more" if len(models) > MAX_SHOWN_MODELS else ""
        )
        detail += f" This address serves {', '.join(models[:MAX_SHOWN_MODELS])}{more}."
    return dataclasses.replace(found, detail=detail, models=models)


def _detail(error: ModelError) -> str:
    """The error in words, with the switch that mends it if there is one."""
    return f"{error.detail} {SWITCH_ON}" if isinstance(error, ToolsUnsupported) else error.detail


async def _call_model(
    model: str, base_url: str, api_key: str, parameters: dict[str, Any], tools: tuple[ToolSpec, ...]
) -> ConnectionCheck:
    question = Message("user", (Text(QUESTION),))
    request = Request(
        model,
        "",
        (question,),
        tools=tools,
        max_tokens=MAX_ANSWER_TOKENS,
        parameters=own_parameters.without(parameters),
    )
    limits = OWN_SERVER_LIMITS if is_own_server(model, base_url) else LIMITS
    began = clock.monotonic()
    asked, reported = False, None
    try:
        # The pool is closed here, since the event loop may end with this call.
        async with http_pool.new_pool() as http:
            llm = open_llm(model, base_url=base_url, api_key=api_key, limits=limits, http=http)
            asked = True
            async for chunk in llm.stream(request):
                if isinstance(chunk, Reply | UsageSeen):
                    reported = chunk.usage
                if isinstance(chunk, Reply):
                    break
    except ModelError as error:
        seconds = clock.monotonic() - began
        usage = reported or (Usage(estimated=error.may_be_billed) if asked else None)
        return ConnectionCheck(False, _detail(error), error.code, seconds, usage=usage)
    finally:
        await http_pool.close_connections()
    seconds = clock.monotonic() - began
    answered = f"{model} answered in {seconds:.1f} s."
    return ConnectionCheck(True, answered, seconds=seconds, usage=reported)
