"""From ``provider/model`` to a way to ask it, and a try whether that way is open."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from paca.engine.llm import connections, demo
from paca.engine.llm.anthropic_client import AnthropicLLM
from paca.engine.llm.base import LLM, Message, ModelError, ModelMisconfigured, Reply, Request, Text
from paca.engine.llm.connections import TimeLimits
from paca.engine.llm.prices import TARIFFS

if TYPE_CHECKING:
    import httpx2

TEST_LIMITS = TimeLimits(connect=10, first_token=30, gap=20, total=45)
TEST_QUESTION = "Answer with the single word: ready"
TEST_TOKENS = 64


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that the pages offer; others of the same provider work too."""

    name: str
    label: str
    needs_key: bool


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """What came of one tiny call. ``code`` is empty when it went well, else that of the error."""

    works: bool
    detail: str
    code: str = ""
    seconds: float = 0.0


def known_models() -> list[KnownModel]:
    """The demo first, then the provider's models, the current ones first."""
    listed = [KnownModel(name, _label(name), needs_key=True) for name in TARIFFS]
    return [KnownModel(demo.MODEL, "Demo guide (no real model)", needs_key=False), *listed]


def open_llm(
    model: str,
    *,
    base_url: str = "",
    api_key: str = "",
    limits: TimeLimits | None = None,
    http: "httpx2.AsyncClient | None" = None,
) -> LLM:
    """The way to this model, for one run. The first stream, not this, connects and imports an SDK.

    ``Request.model`` may hold the same ``provider/model``; the provider is told only its own part.
    """
    provider, slash, name = model.partition("/")
    opener = PROVIDERS.get(provider)
    if not slash or not name or opener is None:
        raise ModelMisconfigured(
            f'"{model}" names no model that Paca can ask. Write it as provider/model, with one of '
            f"these providers: {', '.join(PROVIDERS)}."
        )
    return opener(name, base_url=base_url, api_key=api_key, limits=limits, http=http)


async def check_connection(
    model: str, *, base_url: str = "", api_key: str = "", parameters: dict[str, Any] | None = None
) -> ConnectionTest:
    """Ask the model one word. A failure is told with its cause, and is no exception."""
    if model == demo.MODEL:
        return ConnectionTest(True, "The demo answers by itself and needs no connection.")
    question = Message("user", (Text(TEST_QUESTION),))
    request = Request(model, "", (question,), max_tokens=TEST_TOKENS, parameters=parameters or {})
    began = time.monotonic()
    try:
        # A pool of its own: this may run on a loop that ends with it.
        async with connections.new_pool() as http:
            llm = open_llm(model, base_url=base_url, api_key=api_key, limits=TEST_LIMITS, http=http)
            await _reply(llm, request)
    except ModelError as error:
        return ConnectionTest(False, error.detail, error.code, time.monotonic() - began)
    seconds = time.monotonic() - began
    return ConnectionTest(True, f"{model} answered in {seconds:.1f} s.", seconds=seconds)


async def _reply(llm: LLM, request: Request) -> Reply:
    async for chunk in llm.stream(request):
        if isinstance(chunk, Reply):
            reply = chunk
    return reply


class Opener(Protocol):
    """Makes the adapter of one provider."""

    def __call__(
        self,
        name: str,
        *,
        base_url: str,
        api_key: str,
        limits: TimeLimits | None,
        http: "httpx2.AsyncClient | None",
    ) -> LLM: ...


def _demo(name: str, **_: object) -> LLM:
    if f"demo/{name}" != demo.MODEL:
        raise ModelMisconfigured(f'There is one demo model, "{demo.MODEL}".')
    return demo.DemoLLM()


def _anthropic(
    name: str,
    *,
    base_url: str,
    api_key: str,
    limits: TimeLimits | None,
    http: "httpx2.AsyncClient | None",
) -> LLM:
    if not api_key:
        raise ModelMisconfigured("This model needs an API key. Set it on the agent's page.")
    return AnthropicLLM(api_key, base_url=base_url or None, limits=limits, http=http)


PROVIDERS: dict[str, Opener] = {"anthropic": _anthropic, "demo": _demo}


def _label(model: str) -> str:
    """``anthropic/claude-opus-5-5`` -> ``Claude Opus 5.5``."""
    words = model.partition("/")[2].split("-")
    numbers = [word for word in words if word.isdigit()]
    names = [word.capitalize() for word in words if not word.isdigit()]
    version = ".".join(number for number in numbers if len(number) < 8)
    dated = [number for number in numbers if len(number) == 8]
    return " ".join([*names, version, *(f"({date})" for date in dated)]).strip()
