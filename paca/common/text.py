"""Text that can be stored: two kinds of characters that cannot be, and their replacements.

A lone surrogate (U+D800 to U+DFFF, half of a pair) is valid in ``str`` and in JSON, but UTF-8 cannot
encode it: no file, socket or database takes it. NUL (U+0000) is valid UTF-8, but PostgreSQL refuses it.
"""

import json
from typing import Any

NUL_SYMBOL = "\u2400"


def is_encodable(text: str) -> bool:
    """Whether UTF-8 can encode the text: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_storable(text: str) -> bool:
    """Whether a database can store the text: it has no lone surrogates and no NUL."""
    return "\0" not in text and is_encodable(text)


def has_storable_texts(value: Any) -> bool:
    """Whether a database can store each text and each name in this value of JSON."""
    left = [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            if not is_storable(each):
                return False
        elif isinstance(each, dict):
            left += [*each, *each.values()]
        elif isinstance(each, list | tuple):
            left += each
    return True


def to_utf8(text: str) -> bytes:
    """The text as UTF-8, with ``?`` for each lone surrogate."""
    return text.encode("utf-8", "replace")


def to_encodable(text: str) -> str:
    """The text with ``?`` for each lone surrogate."""
    return text if text.isascii() else to_utf8(text).decode()


def to_storable(text: str) -> str:
    """The text with ``?`` for each lone surrogate and the symbol ``\u2400`` for each NUL."""
    return to_encodable(text.replace("\0", NUL_SYMBOL))


def to_storable_json(value: Any, *, sort_keys: bool = False) -> str:
    """The value as compact JSON text, with its texts and names made storable."""
    text = _dump(value, sort_keys)
    if "\\u0000" in text or not is_encodable(text):
        text = _dump(_storable_value(value), sort_keys)
    return text


def truncate_utf8(text: str, max_bytes: int) -> str:
    """The beginning of the text, at most ``max_bytes`` long in UTF-8, without half a character."""
    return to_utf8(text)[:max_bytes].decode(errors="ignore")


def _dump(value: Any, sort_keys: bool) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys)


def _storable_value(value: Any) -> Any:
    if isinstance(value, str):
        return to_storable(value)
    if isinstance(value, dict):
        return {_storable_value(name): _storable_value(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_storable_value(entry) for entry in value]
    return value
