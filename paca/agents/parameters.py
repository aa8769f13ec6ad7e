"""What may stand in an agent's ``parameters``: what is sent along with each call of its model."""

from typing import Any

# name: (least, most, whole numbers only)
BOUNDS: dict[str, tuple[float, float, bool]] = {
    "temperature": (0, 2, False),
    "top_p": (0, 1, False),
    "max_tokens": (1, 1_000_000, True),
    "thinking_tokens": (1024, 1_000_000, True),
}


def complaints(parameters: Any) -> list[str]:
    """What is wrong with them, one sentence each."""
    if not isinstance(parameters, dict):
        return ['Must be an object, such as {"temperature": 0.5}.']
    found = [c for name, value in parameters.items() if (c := _complaint(name, value))]
    return found or _contradictions(parameters)


def _complaint(name: str, value: Any) -> str:
    if name not in BOUNDS:
        return f"{name!r} is not known; there are {', '.join(BOUNDS)}."
    least, most, whole = BOUNDS[name]
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return f"{name} must be a {'whole ' if whole else ''}number."
    if not least <= value <= most:
        return f"{name} must be between {least:,} and {most:,}."
    return ""


def _contradictions(parameters: dict[str, Any]) -> list[str]:
    thinking, most = parameters.get("thinking_tokens"), parameters.get("max_tokens")
    if thinking and most and thinking >= most:
        return ["thinking_tokens must be less than max_tokens, which includes them."]
    return []
