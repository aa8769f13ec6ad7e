"""From ``provider/model`` to a way to ask it."""

from collections.abc import Callable
from dataclasses import dataclass

from paca.engine.llm import demo
from paca.engine.llm.anthropic_client import AnthropicLLM
from paca.engine.llm.base import LLM, ModelMisconfigured
from paca.engine.llm.prices import TARIFFS


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that the pages offer; others of the same provider work too."""

    name: str
    label: str
    needs_key: bool


def known_models() -> list[KnownModel]:
    """The demo first, then the provider's models, the current ones first."""
    listed = [KnownModel(name, _label(name), needs_key=True) for name in TARIFFS]
    return [KnownModel(demo.MODEL, "Demo guide (no real model)", needs_key=False), *listed]


def open_llm(model: str, *, base_url: str = "", api_key: str = "") -> LLM:
    """The way to this model. Opens no connection and imports no library: the first stream does.

    ``Request.model`` may hold the same ``provider/model``; the provider is told only its own part.
    """
    provider, slash, name = model.partition("/")
    opener = PROVIDERS.get(provider)
    if not slash or not name or opener is None:
        raise ModelMisconfigured(
            f'"{model}" names no model that Paca can ask. Write it as provider/model, with one of '
            f"these providers: {', '.join(PROVIDERS)}."
        )
    return opener(name, base_url, api_key)


def _demo(name: str, base_url: str, api_key: str) -> LLM:
    if f"demo/{name}" != demo.MODEL:
        raise ModelMisconfigured(f'There is one demo model, "{demo.MODEL}".')
    return demo.DemoLLM()


def _anthropic(name: str, base_url: str, api_key: str) -> LLM:
    if not api_key:
        raise ModelMisconfigured("This model needs an API key. Set it on the agent's page.")
    return AnthropicLLM(api_key, base_url=base_url or None)


PROVIDERS: dict[str, Callable[[str, str, str], LLM]] = {"anthropic": _anthropic, "demo": _demo}


def _label(model: str) -> str:
    """``anthropic/claude-opus-5-5`` -> ``Claude Opus 5.5``."""
    words = model.partition("/")[2].split("-")
    numbers = [word for word in words if word.isdigit()]
    names = [word.capitalize() for word in words if not word.isdigit()]
    version = ".".join(number for number in numbers if len(number) < 8)
    dated = [number for number in numbers if len(number) == 8]
    return " ".join([*names, version, *(f"({date})" for date in dated)]).strip()
