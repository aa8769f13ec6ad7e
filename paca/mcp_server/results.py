"""What MCP tools give: JSON of a bounded length, in which long texts are cut with a sign of it."""

import json
from typing import Any

MAX_CHARACTERS = 60_000
# A text is cut at the first of these lengths with which the whole result is short enough.
TEXT_LIMITS = (40_000, 8_000, 2_000, 400, 80)


def to_text(result: Any) -> str:
    """The result as JSON of at most 60,000 characters."""
    for limit in TEXT_LIMITS:
        text = _encode(cut(result, limit))
        if len(text) <= MAX_CHARACTERS:
            return text
    # Only a list of very many things is left; its reader asks for fewer.
    return _encode(
        {
            "too_long": "The result is too long. Ask for less, with a smaller limit.",
            "begins_with": text[:2_000],
        }
    )


def pick(row: dict[str, Any], *names: str) -> dict[str, Any]:
    """These fields of an object of the API."""
    return {name: row[name] for name in names if name in row}


def part_of(text: str, offset: int, limit: int) -> dict[str, Any]:
    """A part of a long text, with the offset of the next part if there is one; in characters."""
    part = text[offset : offset + limit]
    end = offset + len(part)
    more = {"next_offset": end} if end < len(text) else {}
    return {"text": part, "characters": len(text), **more}


def cut(value: Any, limit: int) -> Any:
    """The value with each text that is longer cut to ``limit`` characters, and the number of the others behind it."""
    if isinstance(value, str) and len(value) > limit:
        return f"{value[:limit]} [... {len(value) - limit} more characters]"
    if isinstance(value, list):
        return [cut(each, limit) for each in value]
    if isinstance(value, dict):
        return {name: cut(each, limit) for name, each in value.items()}
    return value


def _encode(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
