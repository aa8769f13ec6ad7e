"""Checks whether an agent's model answers, and names the cause if it does not.

The check makes the same call as a run, with all parameters. A simpler call could succeed with
settings that fail in a run.
"""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator
from typing import Any

from paca.common import clock
from paca.engine.llm import http_pool, providers
from paca.engine.llm.base import (
    Message,
    ModelError,
    ModelMisconfigured,
    Reply,
    Request,
    Text,
    Unreachable,
)
from paca.engine.llm.demo import scripted_model
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.provider_errors import from_transport, without_key
from paca.engine.llm.registry import PROVIDERS, open_llm

LIMITS = TimeLimits(connect=10, first_token=30, gap=20, total=45)
OWN_SERVER_LIMITS = TimeLimits(connect=10, first_token=55, gap=55, total=60, own_server=True)
LISTING_SECONDS = 10.0
QUESTION = "Answer with the single word: ready"
MAX_ANSWER_TOKENS = 64
MAX_LISTED_MODELS = 200
MAX_SHOWN_MODELS = 8
MAX_LIST_BYTES = 4 * 1024 * 1024


@dataclasses.dataclass(frozen=True, slots=True)
class ConnectionCheck:
    """The result of the check. ``code`` is the code of the error, or empty if the model answered.

    ``models`` are the models that the server at the base URL lists, if it has a list.
    """

    works: bool
    detail: str
    code: str = ""
    seconds: float = 0.0
    models: tuple[str, ...] = ()


async def check_connection(
    model: str, *, base_url: str = "", api_key: str = "", parameters: dict[str, Any] | None = None
) -> ConnectionCheck:
    """Ask the model for one word. A failure is in the result and not raised."""
    if model == scripted_model.MODEL:
        return ConnectionCheck(True, "The demo answers by itself and needs no connection.")
    provider = providers.find(model.partition("/")[0])
    if provider is None or provider.name in PROVIDERS:
        return await _call_model(model, base_url, api_key, parameters or {})
    try:
        open_llm(model, base_url=base_url, api_key=api_key)
        address = provider.address(base_url)
        models = await served_models(address, api_key) if address else ()
    except (ModelMisconfigured, Unreachable) as error:
        return ConnectionCheck(False, error.detail, error.code)
    found = await _call_model(model, base_url, api_key, parameters or {})
    return _with_models(found, model.partition("/")[2], models)


async def served_models(address: str, api_key: str) -> tuple[str, ...]:
    """The models that the server at this address lists; empty if it has no list.

    Raises ``Unreachable`` or ``ModelMisconfigured`` if no server answers there.
    """
    import httpx2

    headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
    async with http_pool.new_pool() as http:
        try:
            async with (
                asyncio.timeout(LISTING_SECONDS),
                http.stream("GET", f"{address}/models", headers=headers) as answer,
            ):
                body = await _read_at_most(answer.aiter_bytes())
        except TimeoutError:
            raise Unreachable(f"{address} did not answer within {LISTING_SECONDS:g} s.") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise without_key(from_transport(error, address), api_key) from None
    return _names(body) if answer.is_success else ()


async def _read_at_most(pieces: AsyncIterator[bytes]) -> bytes:
    """The first bytes of the list, so that a list without an end is not read for ever."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > MAX_LIST_BYTES:
            break
    return bytes(body)


def _names(body: bytes) -> tuple[str, ...]:
    try:
        listed = json.loads(body)["data"]
        return tuple(str(one["id"])[:200] for one in listed[:MAX_LISTED_MODELS])
    except (ValueError, KeyError, TypeError):
        return ()


def _with_models(found: ConnectionCheck, name: str, models: tuple[str, ...]) -> ConnectionCheck:
    """The result with the listed models. The detail of a failure names them if the model is not listed."""
    detail = found.detail
    if not found.works and models and name not in models:
        more = (
            f" and {len(models) - MAX_SHOWN_MODELS} more" if len(models) > MAX_SHOWN_MODELS else ""
        )
        detail += f" This address serves {', '.join(models[:MAX_SHOWN_MODELS])}{more}."
    return dataclasses.replace(found, detail=detail, models=models)


async def _call_model(
    model: str, base_url: str, api_key: str, parameters: dict[str, Any]
) -> ConnectionCheck:
    question = Message("user", (Text(QUESTION),))
    request = Request(model, "", (question,), max_tokens=MAX_ANSWER_TOKENS, parameters=parameters)
    began = clock.monotonic()
    try:
        # The pool is closed here, since the event loop may end with this call.
        async with http_pool.new_pool() as http:
            llm = open_llm(model, base_url=base_url, api_key=api_key, limits=LIMITS, http=http)
            async for chunk in llm.stream(request):
                if isinstance(chunk, Reply):
                    break
    except ModelError as error:
        return ConnectionCheck(False, error.detail, error.code, clock.monotonic() - began)
    finally:
        await http_pool.close_connections()
    seconds = clock.monotonic() - began
    return ConnectionCheck(True, f"{model} answered in {seconds:.1f} s.", seconds=seconds)
