"""Opens the adapters of clouds and of providers with a dialect of their own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from paca.engine.llm.base import LLM
from paca.engine.llm.clouds import claude, openai_shape
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.litellm.bedrock import BedrockDialect
from paca.engine.llm.litellm.client import LiteLLM
from paca.engine.llm.litellm.cohere import CohereDialect
from paca.engine.llm.litellm.replicate import ReplicateLLM
from paca.engine.llm.model_errors import ModelMisconfigured
from paca.engine.llm.providers import Provider

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

# Where a base URL must be given, an example of one.
NEEDED_ADDRESSES = {
    "azure": "https://<resource>.openai.azure.com",
    "azure_ai": "https://<resource>.services.ai.azure.com",
    "watsonx": "https://us-south.ml.cloud.ibm.com",
}
WITH_LITELLM = frozenset({"bedrock", "cohere_chat", "replicate"})
# Models that the pages offer. Those of the other clouds are named by their customers.
SUGGESTED = (
    "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock/us.amazon.nova-premier-v1:0",
    "vertex_ai/gemini-2.5-pro",
    "vertex_ai/claude-sonnet-4-5@20250929",
    "cohere_chat/command-a-03-2025",
    "replicate/meta/meta-llama-3-70b-instruct",
)
GOOGLE = "https://aiplatform.googleapis.com"
NO_KEY = "This model needs an API key. Set it on the agent's page."


def _cloud(
    cls: type[openai_shape.CloudLLM], provider: Provider, name: str, *, base_url: str, api_key: str, **how: Any
) -> LLM:  # fmt: skip
    return cls(provider, name, api_key, base_url=base_url, **how)


def _azure_ai(name: str, *, base_url: str, api_key: str, **how: Any) -> LLM:
    if name.startswith("claude"):
        return claude.AzureClaudeLLM(name, api_key, base_url=base_url, **how)
    return openai_shape.AzureAILLM(Provider("azure_ai"), name, api_key, base_url=base_url, **how)


def _vertex(name: str, *, base_url: str, api_key: str, **how: Any) -> LLM:
    if name.startswith("claude"):
        return claude.VertexClaudeLLM(name, api_key, base_url=base_url, **how)
    provider = Provider("vertex_ai", base_url=GOOGLE, model_prefix="google/")
    return openai_shape.VertexLLM(provider, name, api_key, base_url=base_url, **how)


def _bedrock(name: str, *, base_url: str, api_key: str, **how: Any) -> LLM:
    return LiteLLM(BedrockDialect(name, api_key, base_url=base_url), **how)


def _cohere(name: str, *, base_url: str, api_key: str, **how: Any) -> LLM:
    return LiteLLM(CohereDialect(name, api_key, base_url=base_url), **how)


def _replicate(name: str, *, base_url: str, api_key: str, **how: Any) -> LLM:
    return ReplicateLLM(name, api_key, base_url=base_url, **how)


_OPENERS: dict[str, Callable[..., LLM]] = {
    "azure": partial(_cloud, openai_shape.AzureLLM, Provider("azure")),
    "azure_ai": _azure_ai,
    "bedrock": _bedrock,
    "cohere_chat": _cohere,
    "replicate": _replicate,
    "vertex_ai": _vertex,
    "watsonx": partial(_cloud, openai_shape.WatsonxLLM, Provider("watsonx")),
}


def _checked(
    provider: str,
    name: str,
    *,
    base_url: str,
    api_key: str,
    limits: TimeLimits | None,
    http: httpx2.AsyncClient | None,
) -> LLM:
    """The adapter. Raises ``ModelMisconfigured`` if the key or the base URL is missing."""
    if not api_key:
        raise ModelMisconfigured(NO_KEY)
    if not base_url.strip() and (example := NEEDED_ADDRESSES.get(provider)):
        raise ModelMisconfigured(f"{provider} needs a base URL, such as {example}.")
    return _OPENERS[provider](name, base_url=base_url, api_key=api_key, limits=limits, http=http)


OPENERS = {provider: partial(_checked, provider) for provider in _OPENERS}
