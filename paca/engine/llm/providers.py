"""The known providers and models, with addresses and prices from litellm's release.

``models.json`` is written by ``scripts/make_models.py``, so that nothing here needs to load litellm.
"""

import ipaddress
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from paca.engine.llm.model_errors import ModelMisconfigured

# Model servers that people run themselves, by their usual names.
OLLAMA = "http://127.0.0.1:11434/v1"
SELF_HOSTED = {
    "ollama": OLLAMA,
    "ollama_chat": OLLAMA,
    "llamacpp": "http://127.0.0.1:8080/v1",
    "vllm": "http://127.0.0.1:8000/v1",
    "hosted_vllm": "http://127.0.0.1:8000/v1",
    "lm_studio": "http://127.0.0.1:1234/v1",
}
# Providers with a dialect of their own that also offer OpenAI's, which can be read strictly.
OPENAI_COMPATIBLE = {
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "cohere": "https://api.cohere.ai/compatibility/v1",
}
# litellm reaches these with credentials of the machine or of a person, which were never given to the agent,
# or by a protocol that is not HTTP.
UNSUPPORTED = {
    "sagemaker": "Use a gateway with an OpenAI-compatible address.",
    "sagemaker_chat": "Use a gateway with an OpenAI-compatible address.",
    "oci": "Use a gateway with an OpenAI-compatible address.",
    "sap": "Use a gateway with an OpenAI-compatible address.",
    "gigachat": "Use a gateway with an OpenAI-compatible address.",
    "vertex_ai_beta": "Use vertex_ai/<model>.",
    "azure_text": "Use azure/<deployment>.",
    "watsonx_text": "Use watsonx/<model>.",
    "bedrock_converse": "Use bedrock/<model>.",
    "github_copilot": "Use github/<model> with a token.",
}
LOCAL_ENDINGS = (".local", ".localhost", ".internal", ".lan", ".home.arpa")


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider that speaks OpenAI's dialect: its address, and what a request to it must have.

    ``path`` comes between an address and ``/chat/completions``; ``model_prefix`` comes before a model's
    name without a slash; ``max_tokens_name`` is its name for the limit of the answer, if not the usual one.
    """

    name: str
    base_url: str = ""
    path: str = ""
    model_prefix: str = ""
    max_tokens_name: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    def address(self, base_url: str) -> str:
        """The base URL for requests. Most servers serve below /v1, which people often leave out.

        Raises ``ModelMisconfigured`` if the provider has no address of its own and none is given.
        """
        given = base_url.strip().rstrip("/")
        found = given or self.base_url
        if not found:
            raise ModelMisconfigured(f"{self.name} needs a base URL: the address of its server.")
        if self.path:
            return found.removesuffix(self.path) + self.path
        if given and _path(given) in ("", "/"):
            return f"{given}/v1"
        return found

    def model(self, name: str) -> str:
        """The name that the provider calls the model by."""
        return name if "/" in name else self.model_prefix + name


def _path(address: str) -> str:
    try:
        return urlsplit(address).path
    except ValueError as error:
        raise ModelMisconfigured(f"The base URL is not valid: {error}") from None


def find(name: str) -> Provider | None:
    """The provider of this name, or None."""
    if address := SELF_HOSTED.get(name) or OPENAI_COMPATIBLE.get(name):
        return Provider(name, address)
    facts = _file()["providers"].get(name)
    if facts is None:
        return None
    headers = tuple(facts.get("headers", {}).items())
    return Provider(name, **{**facts, "headers": headers})


def names() -> list[str]:
    """The names of all providers, the most popular first."""
    first: list[str] = _file()["first"]
    others = _file()["providers"].keys() - SELF_HOSTED.keys() - set(first)
    return [*first, *SELF_HOSTED, *sorted(others)]


def models() -> dict[str, dict[str, Any]]:
    """The known models by name, each with its price if that is known."""
    found: dict[str, dict[str, Any]] = _file()["models"]
    return found


def is_local(base_url: str) -> bool:
    """Whether the address is on this machine or in a private network, where a key may not be needed."""
    try:
        host = urlsplit(base_url).hostname or ""
    except ValueError:
        return False
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return bool(host) and ("." not in host or host.endswith(LOCAL_ENDINGS))
    return address.is_private or address.is_loopback


@cache
def _file() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("models.json").read_text()
    found: dict[str, Any] = json.loads(text)
    return found
