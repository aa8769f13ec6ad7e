"""Strict parsing of a model's stream: bytes to events, and text to tool arguments or an error."""

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from paca.engine.llm.base import StreamBroken

MAX_EVENT_BYTES = 8 * 1024 * 1024
MAX_NAME_CHARACTERS = 64
MAX_TOKENS = 10**9
MAX_DEPTH = 100  # of nested objects and lists
_INVALID_NAME_CHARACTER = re.compile(r"[^A-Za-z0-9_-]")


class EventReader:
    """Parses server-sent events, as far as providers use the format.

    ``done`` is True after OpenAI's end mark, which is no event.
    """

    def __init__(self) -> None:
        self.done = False
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The events that these bytes complete. Raises ``StreamBroken`` for an invalid event."""
        rest = self._rest + data
        if b"\r" in rest:
            rest = rest.replace(b"\r\n", b"\n")
        *blocks, self._rest = rest.split(b"\n\n")
        if len(self._rest) > MAX_EVENT_BYTES:
            raise StreamBroken("The model's answer has an event without an end.")
        for block in blocks:
            lines = (line[5:] for line in block.split(b"\n") if line.startswith(b"data:"))
            payload = b"\n".join(lines).strip()
            if payload == b"[DONE]":
                self.done = True
                return
            if payload:
                yield _event(payload)

    def rest(self) -> Iterator[dict[str, Any]]:
        """The last event, if the server ended the stream without a blank line after it."""
        if self._rest.strip() and not self.done:
            yield from self.feed(b"\n\n")


def _event(payload: bytes) -> dict[str, Any]:
    try:
        event = json.loads(payload)
    except (ValueError, RecursionError):
        raise StreamBroken("The model's answer has an event that is no JSON.") from None
    if not isinstance(event, dict):
        raise StreamBroken("The model's answer has an event that is no object.")
    return event


def arguments(raw: str, tool: str) -> dict[str, Any]:
    """The arguments of a tool call. Raises ``StreamBroken`` if any part of them is invalid."""
    try:
        # guard: engine-arguments-without-nan
        found = json.loads(raw, parse_constant=_refuse_constant)
        raw.encode()
        if "\\u" in raw:  # an escaped half of a surrogate pair parses, but UTF-8 cannot encode it
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise_unparsable(tool)
    # guard: engine-argument-depth
    if not isinstance(found, dict) or _is_too_deep(found, raw):
        raise_unparsable(tool)
    return found


def tool_name(given: Any) -> str:
    """The tool's name in a form that every provider and the database accept.

    All tools have such names. A name that is changed here belongs to no tool, and the call gets
    the result for an unknown tool. Raises ``StreamBroken`` if the name is empty or no text.
    """
    if not isinstance(given, str) or not given:
        raise StreamBroken("The model called a tool without a name.")
    return _INVALID_NAME_CHARACTER.sub("_", given[:MAX_NAME_CHARACTERS])


def token_count(value: Any) -> int | None:
    """The count of tokens that a server reports; None if the value cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if 0 <= value <= MAX_TOKENS else None


def raise_unparsable(tool: str) -> NoReturn:
    """Raises ``StreamBroken`` for arguments that cannot be parsed."""
    raise StreamBroken(f"The arguments of the model's call of {tool} do not parse.")


def _is_too_deep(found: dict[str, Any], raw: str) -> bool:
    """Whether the nesting is too deep for later code, which may have less stack left than the parser."""
    if raw.count("{") + raw.count("[") <= MAX_DEPTH:
        return False
    level: list[Any] = [found]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _children(outer)]
    return bool(level)


def _children(value: Any) -> list[Any]:
    """The objects and lists directly in an object or a list."""
    values = value.values() if isinstance(value, dict) else value
    return [each for each in values if isinstance(each, dict | list)]


def _refuse_constant(constant: str) -> float:
    raise ValueError(constant)
