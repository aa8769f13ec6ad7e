"""Takes arguments that can be meant in one way only, such as ``"5"`` for a whole number."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from paca.engine.tools.schema import short_json

MAX_NAMED_FIELDS = 5
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.0+)?")
NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]+)?")


def coerce(
    arguments: Mapping[str, Any], schema: dict[str, Any], *, takes_other_fields: bool = False
) -> tuple[dict[str, Any], list[str]]:
    """The arguments that the schema accepts if they can be meant in one way, and a note for each change.

    A field that the schema does not have is left out, unless it resembles one that is not given: it may
    be that one, misspelled, or the tool takes other fields. What is ambiguous stays as it is, and is refused by the
    schema.
    """
    fields = schema["properties"]
    taken: dict[str, Any] = {}
    notes: list[str] = []
    for name, value in arguments.items():
        if name in fields:
            taken[name] = meant = _meant(value, fields[name].get("type", ""))
            if meant is not value:
                notes.append(
                    f"{name} was {short_json(value)} and was taken as {short_json(meant)}."
                )
        elif takes_other_fields or _may_be_misspelled(name, fields, arguments):
            taken[name] = value
    unknown = [short_json(name) for name in arguments if name not in taken]
    if unknown:
        named = ", ".join(unknown[:MAX_NAMED_FIELDS])
        notes.append(f"There is no field {named}; it was ignored.")
    return taken, notes


def _may_be_misspelled(name: str, fields: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    return bool(difflib.get_close_matches(name, [field for field in fields if field not in given]))


def _meant(value: Any, kind: Any) -> Any:
    """The value of this JSON type that can only be meant, or the given value."""
    read = _READERS.get((type(value), kind)) if isinstance(kind, str) else None
    meant = read(value) if read else None
    return value if meant is None else meant


def _whole_number(text: str) -> int | None:
    return int(text.strip().partition(".")[0]) if WHOLE_NUMBER.fullmatch(text.strip()) else None


def _whole_float(number: float) -> int | None:
    return int(number) if number.is_integer() and abs(number) < 1e15 else None


def _number(text: str) -> float | None:
    return float(text) if NUMBER.fullmatch(text.strip()) else None


def _truth_value(text: str) -> bool | None:
    return {"true": True, "false": False}.get(text.strip().lower())


def _encoded(kind: type) -> Callable[[str], Any]:
    """Reads a value that the model has encoded twice: JSON inside a text."""

    def read(text: str) -> Any:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, kind) else None

    return read


_READERS: dict[tuple[type, str], Callable[[Any], Any]] = {
    (str, "integer"): _whole_number,
    (float, "integer"): _whole_float,
    (str, "number"): _number,
    (str, "boolean"): _truth_value,
    (str, "array"): _encoded(list),
    (str, "object"): _encoded(dict),
}
