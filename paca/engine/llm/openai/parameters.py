"""An agent's parameters in the form that a server of OpenAI's dialect takes them."""

from typing import Any

from paca.engine.llm.model_errors import ModelMisconfigured

SAME_NAME = ("temperature", "top_p", "top_k")
KNOWN = frozenset({*SAME_NAME, "max_tokens", "thinking_budget", "effort"})
# Services that have no field for a budget of reasoning, but one for its effort.
WITHOUT_BUDGET = (
    "openai", "mistral", "groq", "xai", "cerebras", "cohere", "azure", "azure_ai", "watsonx",
)  # fmt: skip
QWEN = ("dashscope", "qwencloud", "qwen_ai_platform", "modelscope")


def encode(
    given: dict[str, Any],
    max_tokens: int,
    *,
    provider: str,
    max_tokens_name: str,
    own_address: bool,
) -> dict[str, Any]:
    """The fields of the body. ``own_address``: the agent has a base URL, so any server may be behind it.

    Raises ``ModelMisconfigured`` for an unknown parameter, or one that the service has no field for.
    It is not dropped silently.
    """
    unknown = given.keys() - KNOWN
    if unknown:
        raise ModelMisconfigured(
            f"The model's parameters may not set {', '.join(sorted(unknown))}."
        )
    known = {name: value for name, value in given.items() if value is not None}
    found: dict[str, Any] = {max_tokens_name: known.get("max_tokens", max_tokens)}
    found |= {name: known[name] for name in SAME_NAME if name in known}
    if "top_k" in found and provider == "openai" and not own_address:
        raise ModelMisconfigured("This model does not take the parameter top_k.")
    if budget := known.get("thinking_budget"):
        found |= _thinking(budget, "" if own_address else provider)
        # The budget counts against the limit, so it is added for the answer.
        found[max_tokens_name] += budget
    if effort := known.get("effort"):
        found["reasoning_effort"] = effort
    return found


def _thinking(budget: int, provider: str) -> dict[str, Any]:
    if provider in WITHOUT_BUDGET:
        raise ModelMisconfigured(
            "This model does not take the parameter thinking_budget. Set effort in place of it."
        )
    if provider in ("gemini", "vertex_ai"):
        return {"extra_body": {"google": {"thinking_config": {"thinking_budget": budget}}}}
    if provider == "openrouter":
        return {"reasoning": {"max_tokens": budget}}
    if provider in QWEN:
        return {"enable_thinking": True, "thinking_budget": budget}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}
