"""Validates an agent's ``parameters``: those that are sent with each call of its model, and Paca's own."""

from dataclasses import dataclass
from typing import Any

from paca.engine.model_state import DETERMINED, QUICK
from paca.engine.titles import OFF


@dataclass(frozen=True, slots=True)
class NumberRange:
    """A number between two bounds, both allowed."""

    minimum: float
    maximum: float
    integer: bool = True

    def find_error(self, name: str, value: Any) -> str:
        """The error of a value as a sentence; empty if it is valid."""
        if isinstance(value, bool) or not isinstance(value, int if self.integer else int | float):
            return f"{name} must be a {'whole ' if self.integer else ''}number."
        if not self.minimum <= value <= self.maximum:
            return f"{name} must be between {self.minimum:,} and {self.maximum:,}."
        return ""


# The adapters in ``engine/llm`` know the parameters by these names.
NUMBERS = {
    "temperature": NumberRange(0, 2, integer=False),
    "top_p": NumberRange(0, 1, integer=False),
    "top_k": NumberRange(1, 1_000),
    "max_tokens": NumberRange(1, 1_000_000),
    "thinking_budget": NumberRange(1024, 1_000_000),
}
# Paca keeps these to itself (``engine/llm/own_parameters.py``).
OWN_NUMBERS = {
    "first_token_seconds": NumberRange(1, 86_400),
    "silence_seconds": NumberRange(1, 86_400),
    "total_seconds": NumberRange(1, 86_400),
    "context_window": NumberRange(1_000, 100_000_000),
}
EFFORTS = ("low", "medium", "high", "xhigh", "max")
SENT_NAMES = (*NUMBERS, "effort")
# Models, as ``provider/model``.
COMPACTION_MODEL = "compaction_model"
TITLE_MODEL = "title_model"  # or ``off``
HELPER_MODEL = "helper_model"
MODELS = (COMPACTION_MODEL, TITLE_MODEL, HELPER_MODEL)
NAMES = (*SENT_NAMES, *OWN_NUMBERS, *MODELS)
MAX_MODEL_CHARACTERS = 200


MODEL, STEPS = "model", "steps"
# What an effort may change: the model, what is sent with it, and the step limit.
EFFORT_NUMBERS = {
    "thinking_budget": NUMBERS["thinking_budget"],
    "max_tokens": NUMBERS["max_tokens"],
    "context_window": OWN_NUMBERS["context_window"],
    STEPS: NumberRange(1, 1_000),
}
EFFORT_NAMES = (MODEL, "effort", *EFFORT_NUMBERS)
ALIASES = (QUICK, DETERMINED)


def find_errors(parameters: Any, *, without: tuple[str, ...] = ()) -> list[str]:
    """The errors of the parameters, one sentence each; empty if they are valid.

    Those named in ``without`` have no effect here, and are refused as unknown.
    """
    if not isinstance(parameters, dict):
        return ['Must be an object, such as {"temperature": 0.5}.']
    known = tuple(name for name in NAMES if name not in without)
    return [
        error for name, value in parameters.items() if (error := _find_error(name, value, known))
    ]


def find_errors_of_efforts(efforts: Any) -> list[str]:
    """The errors of what the efforts of messages change, one sentence each; empty if it is valid."""
    if not isinstance(efforts, dict):
        return ['Must be an object, such as {"quick": {"effort": "low"}}.']
    errors = [
        f"{str(name)[:50]} is no effort that can be set; there are {' and '.join(ALIASES)}."
        for name in efforts
        if name not in ALIASES
    ]
    for effort in ALIASES:
        changes = efforts.get(effort, {})
        if not isinstance(changes, dict):
            errors.append(f"{effort} must be an object.")
            continue
        errors += [
            f"{effort}: {error}"
            for name, value in changes.items()
            if (error := _find_error_of_effort(name, value))
        ]
    return errors


def _find_error_of_effort(name: str, value: Any) -> str:
    if known := EFFORT_NUMBERS.get(name):
        return known.find_error(name, value)
    if name == MODEL:
        return _find_error_of_model(value, MODEL)
    return _find_error(name, value, EFFORT_NAMES)


def _find_error(name: str, value: Any, known: tuple[str, ...]) -> str:
    if name not in known:
        return f"{str(name)[:50]} is not known; there are {', '.join(known)}."
    if number := {**NUMBERS, **OWN_NUMBERS}.get(name):
        return number.find_error(name, value)
    if name in MODELS:
        return "" if (name, value) == (TITLE_MODEL, OFF) else _find_error_of_model(value, name)
    return "" if value in EFFORTS else f"effort must be one of {', '.join(EFFORTS)}."


def _find_error_of_model(value: Any, name: str) -> str:
    is_name = isinstance(value, str) and value.isprintable() and "/" in value.strip("/")
    if is_name and len(value) <= MAX_MODEL_CHARACTERS:
        return ""
    return f"{name} must be a model, written as provider/model."
