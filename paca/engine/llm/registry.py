"""Opens the adapter for a ``provider/model``, and lists the models that pages offer."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from paca.engine.llm import cloud_openers, http_pool, providers, server_words
from paca.engine.llm.anthropic.client import AnthropicLLM
from paca.engine.llm.base import LLM
from paca.engine.llm.demo import scripted_model
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.litellm import library
from paca.engine.llm.model_errors import ModelMisconfigured
from paca.engine.llm.openai.client import OpenAILLM
from paca.engine.llm.prices import TARIFFS

if TYPE_CHECKING:
    import httpx2

MAX_SUGGESTED_PROVIDERS = 12


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that the pages offer. Other models of the same provider work too."""

    name: str
    label: str
    needs_key: bool


def known_models() -> list[KnownModel]:
    """The demo model, then Anthropic's models, then those of the other providers, by provider."""
    by_provider = providers.names()
    others = sorted(providers.models(), key=lambda name: by_provider.index(name.partition("/")[0]))
    names = (*TARIFFS, *others, *cloud_openers.SUGGESTED)
    listed = [KnownModel(name, _label(name), needs_key=True) for name in names]
    return [
        KnownModel(scripted_model.MODEL, "Demo guide (no real model)", needs_key=False),
        *listed,
    ]


def open_llm(
    model: str,
    *,
    base_url: str = "",
    api_key: str = "",
    limits: TimeLimits | None = None,
    http: "httpx2.AsyncClient | None" = None,
) -> LLM:
    """The adapter of this model, for one run. The first stream connects.

    ``Request.model`` may be the same ``provider/model``; the provider gets the part after the slash.

    Raises ``ModelMisconfigured`` if there is no such provider, or its key or base URL is missing.
    """
    provider, slash, name = model.partition("/")
    opener = PROVIDERS.get(provider) or _openai_opener(provider)
    if not slash or not name or opener is None:
        raise ModelMisconfigured(_unknown_model_text(model, provider))
    llm = opener(name, base_url=base_url, api_key=api_key, limits=limits, http=http)
    return server_words.guarded(llm, model, base_url)


def is_own_server(model: str, base_url: str) -> bool:
    """Whether the model runs on a server in the own network, which is slower and needs no key."""
    return providers.is_local(server_words.address_of(model, base_url))


async def warm(models: Iterable[str]) -> None:
    """Import in the background what the first call to these models would otherwise wait for."""
    used = {model.partition("/")[0] for model in models}
    if used - {"demo"}:
        await http_pool.load_library()
    if used & cloud_openers.WITH_LITELLM:
        await library.load()


def _unknown_model_text(model: str, provider: str) -> str:
    if instead := providers.UNSUPPORTED.get(provider):
        return f"{provider} cannot be used. {instead}"
    usual = [name for name in PROVIDERS if name not in cloud_openers.OPENERS]
    some = ", ".join([*usual, *providers.names()][:MAX_SUGGESTED_PROVIDERS])
    return (
        f'"{model}" is not a known model. Write it as provider/model, such as one of '
        f"{some}, or of the clouds {', '.join(cloud_openers.OPENERS)}; "
        "for a server of your own openai/model with its base URL."
    )


class Opener(Protocol):
    """Creates the adapter of one provider."""

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
    if f"demo/{name}" != scripted_model.MODEL:
        raise ModelMisconfigured(f'There is one demo model, "{scripted_model.MODEL}".')
    return scripted_model.DemoLLM()


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


def _openai_opener(provider: str) -> Opener | None:
    """The opener of a provider that speaks OpenAI's dialect, or None."""
    found = providers.find(provider)
    return None if found is None else functools.partial(_openai, found)


def _openai(
    provider: providers.Provider,
    name: str,
    *,
    base_url: str,
    api_key: str,
    limits: TimeLimits | None,
    http: "httpx2.AsyncClient | None",
) -> LLM:
    keyless = providers.is_local(provider.address(base_url))
    if not api_key and not keyless:
        raise ModelMisconfigured("This model needs an API key. Set it on the agent's page.")
    return OpenAILLM(provider, name, api_key, base_url=base_url, limits=limits, http=http)


PROVIDERS: dict[str, Opener] = {"anthropic": _anthropic, "demo": _demo, **cloud_openers.OPENERS}


def _label(model: str) -> str:
    """``anthropic/claude-opus-5-5`` -> ``Claude Opus 5.5``; other providers' names stay as they are."""
    if not model.startswith("anthropic/"):
        return model
    words = model.partition("/")[2].split("-")
    numbers = [word for word in words if word.isdigit()]
    names = [word.capitalize() for word in words if not word.isdigit()]
    version = ".".join(number for number in numbers if len(number) < 8)
    dated = [number for number in numbers if len(number) == 8]
    return " ".join([*names, version, *(f"({date})" for date in dated)]).strip()
