"""Keeps what a server attached to a reply and its calls, so that it goes back to the same family of models.

Some models refuse a conversation whose reasoning, signatures or encrypted parts are missing later. Paca
does not read them. They are kept under the name of the family and go to no other.
"""

import hashlib
import json
import re
from typing import Any

from paca.common.text import to_storable_json

MAX_BYTES = 256 * 1024  # of one block; more is dropped whole, since a part would be refused
MAX_PARTS = 4096  # of one list or object
TOO_LONG = " " * (MAX_BYTES + 1)  # in place of a value that grew beyond these: its block is dropped
REPLY_FIELD = re.compile(
    r"reason|think|thought|signature|encrypt|extra_content|provider_specific", re.I
)
# Texts that come in pieces; of all other values the last one counts.
STREAMED = frozenset({"text", "summary", "data", "thinking", "content"})
CALL_FIELDS = frozenset({"index", "id", "type", "function"})
FUNCTION_FIELDS = frozenset({"name", "arguments"})
TEXT_FIELD = "text_field"  # the name under which the text of the reasoning came, and goes back
Fields = dict[str, Any]


def family_of(provider: str, model: str, address: str) -> str:
    """The family that a model belongs to: its provider, the beginning of its name, and a mark of its address."""
    word = re.split(r"[-.:@\d]", model.lower())[0]
    mark = hashlib.sha256(address.encode()).hexdigest()[:8] if address else ""
    return ":".join(part for part in (provider, word, mark) if part)


def merge(known: Fields, new: Fields) -> None:
    """Add the fields of the next piece of a stream to those that are known."""
    for name, value in new.items():
        if value is None:
            continue
        known[name] = _merged(name, known[name], value) if name in known else value


def _merged(name: str, old: Any, new: Any) -> Any:
    # Each piece is a copy of all before it: without a bound a long stream would take hours of computing.
    # guard: engine-attached-growth
    if len(old) > MAX_BYTES if isinstance(old, str) else _is_large(old):
        return TOO_LONG
    if isinstance(old, dict) and isinstance(new, dict):
        merged = dict(old)
        merge(merged, new)
        return merged
    if isinstance(old, list) and isinstance(new, list):
        return _merged_lists(old, new)
    if isinstance(old, str) and isinstance(new, str) and name in STREAMED:
        return old + new
    return new


def _is_large(value: Any) -> bool:
    return isinstance(value, dict | list) and len(value) > MAX_PARTS


def _merged_lists(old: list[Any], new: list[Any]) -> list[Any]:
    """Parts with the same index are pieces of one part."""
    merged = list(old)
    for part in new:
        index = part.get("index") if isinstance(part, dict) else None
        place = next(
            (n for n, known in enumerate(merged)
             if index is not None and isinstance(known, dict) and known.get("index") == index),
            None,
        )  # fmt: skip
        if place is None:
            merged.append(part)
        else:
            merged[place] = _merged("", merged[place], part)
    return merged


def of_reply(delta: Fields, *, without: tuple[str, ...]) -> Fields:
    """The fields of a message or its delta that the server may want back."""
    return {
        name: value
        for name, value in delta.items()
        if name not in without and value not in (None, "", [], {}) and REPLY_FIELD.search(name)
    }


def of_call(piece: Fields) -> Fields:
    """The fields of a call, and of its function, that are none of the documented ones."""
    found = {name: value for name, value in piece.items() if name not in CALL_FIELDS}
    function = piece.get("function") or {}
    inner = {name: value for name, value in function.items() if name not in FUNCTION_FIELDS}
    return {**found, "function": inner} if inner else found


def storable(family: str, fields: Fields) -> Fields:
    """The fields under the name of their family, in a form that a database takes; empty if too long."""
    if not fields:
        return {}
    text = to_storable_json(fields)
    # guard: engine-attached-bytes
    if len(text.encode()) > MAX_BYTES:
        return {}
    return {family: json.loads(text)}
