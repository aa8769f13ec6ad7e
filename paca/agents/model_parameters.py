"""What may stand in an agent's ``parameters``: what is sent along with each call of its model."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Bounds:
    """A number between two others."""

    least: float
    most: float
    whole: bool = True

    def complaint(self, name: str, value: Any) -> str:
        """What is wrong with a value; empty when nothing."""
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            return f"{name} must be a {'whole ' if self.whole else ''}number."
        if not self.least <= value <= self.most:
            return f"{name} must be between {self.least:,} and {self.most:,}."
        return ""


# The names are those which the adapters in ``engine/llm`` understand.
NUMBERS = {
    "temperature": Bounds(0, 2, whole=False),
    "top_p": Bounds(0, 1, whole=False),
    "top_k": Bounds(1, 1_000),
    "max_tokens": Bounds(1, 1_000_000),
    "thinking_budget": Bounds(1024, 1_000_000),
}
EFFORTS = ("low", "medium", "high", "xhigh", "max")
NAMES = (*NUMBERS, "effort")


def complaints(parameters: Any) -> list[str]:
    """What is wrong with them, one sentence each."""
    if not isinstance(parameters, dict):
        return ['Must be an object, such as {"temperature": 0.5}.']
    return [c for name, value in parameters.items() if (c := _complaint(name, value))]


def _complaint(name: str, value: Any) -> str:
    if name in NUMBERS:
        return NUMBERS[name].complaint(name, value)
    if name != "effort":
        return f"{name[:50]} is not known; there are {', '.join(NAMES)}."
    return "" if value in EFFORTS else f"effort must be one of {', '.join(EFFORTS)}."
