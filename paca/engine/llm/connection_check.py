"""Tries whether an agent's model answers, and names what is wrong if it does not.

The call itself is the one that a run makes, parameters and all: a lighter one would say "works" of
settings that do not. Where it needs litellm it is made in a child process, which takes some seconds
more, so that a process which serves pages never loads it. What can be found out without it (an
address that cannot be reached, the models that are served there) is found out here.
"""

import asyncio
import dataclasses
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import paca
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
LISTING_SECONDS = 10.0
CHILD_SECONDS = 120.0  # with the import, on a slow machine
QUESTION = "Answer with the single word: ready"
TOKENS = 64
MOST_NAMES = 200
NAMES_TOLD = 8
LONGEST_LIST = 4 * 1024 * 1024


@dataclasses.dataclass(frozen=True, slots=True)
class ConnectionTest:
    """What came of one tiny call. ``code`` is empty when it went well, else that of the error.

    ``models`` are those that the base URL says it serves, if it says so.
    """

    works: bool
    detail: str
    code: str = ""
    seconds: float = 0.0
    models: tuple[str, ...] = ()


async def check_connection(
    model: str, *, base_url: str = "", api_key: str = "", parameters: dict[str, Any] | None = None
) -> ConnectionTest:
    """Ask the model one word. A failure is told with its cause, and is no exception."""
    if model == scripted_model.MODEL:
        return ConnectionTest(True, "The demo answers by itself and needs no connection.")
    provider = providers.find(model.partition("/")[0])
    if provider is None or provider.name in PROVIDERS:
        return await _ask(model, base_url, api_key, parameters or {})
    try:
        open_llm(model, base_url=base_url, api_key=api_key)
        address = provider.address(base_url)
        models = await served_models(address, api_key) if address else ()
    except (ModelMisconfigured, Unreachable) as error:
        return ConnectionTest(False, error.detail, error.code)
    found = await _ask_in_child(model, base_url, api_key, parameters or {})
    return _with_models(found, model.partition("/")[2], models)


async def served_models(address: str, api_key: str) -> tuple[str, ...]:
    """The models that this address lists; none if it has no list. Raises where it is not there."""
    import httpx2

    headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
    async with http_pool.new_pool() as http:
        try:
            async with (
                asyncio.timeout(LISTING_SECONDS),
                http.stream("GET", f"{address}/models", headers=headers) as answer,
            ):
                body = await _beginning(answer.aiter_bytes())
        except TimeoutError:
            raise Unreachable(f"{address} did not answer within {LISTING_SECONDS:g} s.") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise without_key(from_transport(error, address), api_key) from None
    return _names(body) if answer.is_success else ()


async def _beginning(pieces: AsyncIterator[bytes]) -> bytes:
    """A list that does not end is not read to the end."""
    body = bytearray()
    async for piece in pieces:
        body += piece
        if len(body) > LONGEST_LIST:
            break
    return bytes(body)


def _names(body: bytes) -> tuple[str, ...]:
    try:
        listed = json.loads(body)["data"]
        return tuple(str(one["id"])[:200] for one in listed[:MOST_NAMES])
    except (ValueError, KeyError, TypeError):
        return ()


def _with_models(found: ConnectionTest, name: str, models: tuple[str, ...]) -> ConnectionTest:
    """The same, and where the model is the cause, with those that there are."""
    detail = found.detail
    if not found.works and models and name not in models:
        more = f" and {len(models) - NAMES_TOLD} more" if len(models) > NAMES_TOLD else ""
        detail += f" This address serves {', '.join(models[:NAMES_TOLD])}{more}."
    return dataclasses.replace(found, detail=detail, models=models)


async def _ask(
    model: str, base_url: str, api_key: str, parameters: dict[str, Any]
) -> ConnectionTest:
    question = Message("user", (Text(QUESTION),))
    request = Request(model, "", (question,), max_tokens=TOKENS, parameters=parameters)
    began = clock.monotonic()
    try:
        # A pool of its own: this may run on a loop that ends with it.
        async with http_pool.new_pool() as http:
            llm = open_llm(model, base_url=base_url, api_key=api_key, limits=LIMITS, http=http)
            async for chunk in llm.stream(request):
                if isinstance(chunk, Reply):
                    break
    except ModelError as error:
        return ConnectionTest(False, error.detail, error.code, clock.monotonic() - began)
    finally:
        await http_pool.close_connections()
    seconds = clock.monotonic() - began
    return ConnectionTest(True, f"{model} answered in {seconds:.1f} s.", seconds=seconds)


# --- the child ------------------------------------------------------------------------------------


async def _ask_in_child(*what: Any) -> ConnectionTest:
    """The same in a process of its own. The key goes over its standard input, where nobody looks."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __name__,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd=Path(paca.__file__).parent.parent,
    )
    try:
        async with asyncio.timeout(CHILD_SECONDS):
            out, _ = await child.communicate(json.dumps(what).encode())
        return ConnectionTest(**{**json.loads(out), "models": ()})
    except (TimeoutError, ValueError):
        detail = "The test itself failed on this server; the connection was not tried."
        return ConnectionTest(False, detail, "internal_error")
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


async def _main() -> None:
    from paca.engine.llm.litellm import library

    what = json.loads(sys.stdin.read())
    provider = providers.find(what[0].partition("/")[0])
    assert provider is not None
    # Before the clock starts: what is told is how fast the model is.
    await library.load(provider.litellm_name, over_sdk=provider.over_sdk)
    sys.stdout.write(json.dumps(dataclasses.asdict(await _ask(*what))))


if __name__ == "__main__":
    asyncio.run(_main())
