"""The known providers and models, with addresses and prices from litellm's release.

``models.json`` is written by ``scripts/make_models.py``, so that no page needs to load litellm.
"""

import ipaddress
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from paca.engine.llm.base import ModelMisconfigured

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
# For these litellm would use credentials that it finds on this server. They are a person's or the
# machine's, and were never given to the agent.
UNSUPPORTED = {
    "azure": "Use openai/<deployment> with the base URL https://<resource>.openai.azure.com/openai/v1.",
    "bedrock": "Use bedrock_mantle/<model> with a Bedrock API key, or a gateway.",
    "vertex_ai": "Use gemini/<model> with an API key, or a gateway.",
    "sagemaker": "Use a gateway with an OpenAI-compatible address.",
    "github_copilot": "Use github/<model> with a token.",
}
LOCAL_ENDINGS = (".local", ".localhost", ".internal", ".lan", ".home.arpa")


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider's address, and how litellm reaches it: over OpenAI's SDK or its own HTTP client."""

    name: str
    litellm_name: str
    base_url: str
    host: str
    over_sdk: bool

    @property
    def takes_extra_parameters(self) -> bool:
        """Whether it accepts parameters that OpenAI's own service refuses."""
        return self.litellm_name == "openai" and self.name != "openai"

    def address(self, base_url: str) -> str:
        """The base URL for requests. Self-hosted servers serve below /v1, which people often leave out.

        Raises ``ModelMisconfigured`` if the provider has no address of its own and none is given.
        """
        given = base_url.strip().rstrip("/")
        if given and self.over_sdk and urlsplit(given).path in ("", "/"):
            return f"{given}/v1"
        found = given or self.base_url
        if not found and not self.host:
            raise ModelMisconfigured(f"{self.name} needs a base URL: the address of its server.")
        return found


def find(name: str) -> Provider | None:
    """The provider of this name, or None."""
    if address := SELF_HOSTED.get(name) or OPENAI_COMPATIBLE.get(name):
        return Provider(name, "openai", address, "", over_sdk=True)
    facts = _file()["providers"].get(name)
    if facts is None:
        return None
    base_url = facts.get("base_url", "")
    host = facts.get("host") or urlsplit(base_url).hostname or ""
    return Provider(name, name, base_url, host, over_sdk=facts["over_sdk"])


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
