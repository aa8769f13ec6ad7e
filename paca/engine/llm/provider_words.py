"""Finds a provider's words and code in an error of any form: objects, lists, texts, pages, JSON in texts."""

import html
import json
import re
from typing import Any

from paca.common.text import to_storable

MAX_QUOTE_CHARACTERS = 500
MAX_DEPTH = 12
# Where servers put their words, the most telling first. A value may hold the next such object.
OBJECT_KEYS = ("error", "errors", "detail", "base_resp", "status")
TEXT_KEYS = (
    "message", "detail", "msg", "error_message", "error_msg", "error_description", "status_msg",
    "error", "errors", "reason", "title", "base_resp", "status",
)  # fmt: skip
CODE_KEYS = ("code", "type", "status", "status_code", "error_code", "errorCode", "__type")
VAGUE = re.compile(
    r"(?i)^(provider returned error|error|bad request|internal error|upstream error)\.?$"
)
PAGE = re.compile(r"(?is)^\s*<(!doctype|html|head|body|\?xml|[a-z!])")
PAGE_TITLE = re.compile(r"(?is)<(title|h1)[^>]*>(.*?)</\1>")
UNSEEN = re.compile(r"(?is)<(script|style)\b.*?</\1>|<[^>]+>")


def words_of(body: object) -> str:
    """The provider's words in one line, storable and at most 500 characters; empty if there are none."""
    found = " ".join(_words(_parsed(body), MAX_DEPTH).split())
    return to_storable(found)[:MAX_QUOTE_CHARACTERS]


def codes_of(body: object) -> list[str]:
    """The codes, types and status numbers of an error in lower case, the innermost object's first."""
    return list(dict.fromkeys(_codes(_parsed(body), MAX_DEPTH)))


def is_page(body: object) -> bool:
    """Whether the body is a page for a browser, such as that of a proxy or a sign-in."""
    text = body.decode(errors="replace") if isinstance(body, bytes) else body
    return isinstance(text, str) and bool(PAGE.match(text))


def _parsed(body: object) -> object:
    """The JSON value of a body of bytes, or its text."""
    if not isinstance(body, bytes):
        return body
    return body.decode(errors="replace")


def _words(value: object, depth: int) -> str:
    if depth == 0:
        return ""
    if isinstance(value, str):
        return _words_of_text(value, depth)
    if isinstance(value, list):
        return next((words for each in value if (words := _words(each, depth - 1))), "")
    if isinstance(value, dict):
        return _words_of_object(value, depth)
    return ""


def _words_of_text(text: str, depth: int) -> str:
    """The text; the words inside if it is JSON; the heading if it is a page."""
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        inner = _json(stripped)
        if inner is not None and (not inner or (words := _words(inner, depth - 1))):
            return words if inner else ""
    elif (at := stripped.find("{")) > 0 and (inner := _json(stripped[at:])) is not None:
        # A gateway's sentence before the JSON of the server behind it.
        words = _words(inner, depth - 1)
        return f"{stripped[:at].rstrip(' :-')}: {words}" if words else stripped
    if PAGE.match(stripped):
        if title := PAGE_TITLE.search(stripped):
            return html.unescape(UNSEEN.sub(" ", title[2]))
        return html.unescape(UNSEEN.sub(" ", stripped))
    return stripped


def _json(text: str) -> object:
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _words_of_object(value: dict[Any, Any], depth: int) -> str:
    for key in OBJECT_KEYS:
        if isinstance(value.get(key), dict | list) and (words := _words(value[key], depth - 1)):
            return words
    words = next((found for key in TEXT_KEYS if (found := _text_at(value, key, depth))), "")
    metadata = value.get("metadata")
    raw = _words(metadata.get("raw"), depth - 1) if isinstance(metadata, dict) else ""
    if raw and raw not in words:
        return raw if VAGUE.match(words) or not words else f"{words} {raw}"
    return words


def _text_at(value: dict[Any, Any], key: str, depth: int) -> str:
    found = value.get(key)
    return _words(found, depth - 1) if isinstance(found, str | list | dict) else ""


def _codes(value: object, depth: int) -> list[str]:
    if depth == 0:
        return []
    if isinstance(value, str):
        inner = _json(value) if value.strip()[:1] in ("{", "[") else None
        return _codes(inner, depth - 1) if inner is not None else []
    if isinstance(value, list):
        return [code for each in value[:3] for code in _codes(each, depth - 1)]
    if not isinstance(value, dict):
        return []
    inside = [each for key in ("error", "message", "base_resp", "errors", "detail", "metadata", "raw")
              if isinstance(each := value.get(key), dict | list | str)]  # fmt: skip
    found = [code for each in inside for code in _codes(each, depth - 1)]
    own = (value.get(key) for key in CODE_KEYS)
    return found + [str(code).lower() for code in own if isinstance(code, str | int) and code != ""]
