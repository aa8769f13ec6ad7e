"""Reading what a model streamed, strictly: bytes to events, and text to arguments or to an error."""

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

from paca.engine.llm.base import StreamBroken

LONGEST_EVENT = 8 * 1024 * 1024
LONGEST_NAME = 64
MOST_TOKENS = 10**9
DEEPEST = 100  # objects and lists within one another
_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_-]")


class EventReader:
    """Bytes in, events out: the part of the server-sent events format that is used here.

    ``done`` is set by OpenAI's end mark, which is no event.
    """

    def __init__(self) -> None:
        self.done = False
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        rest = self._rest + data
        if b"\r" in rest:
            rest = rest.replace(b"\r\n", b"\n")
        *blocks, self._rest = rest.split(b"\n\n")
        if len(self._rest) > LONGEST_EVENT:
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
        """The last event, of a server that ended well but left its blank line out."""
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
    """The arguments of a call as an object, or an error: a part of them is never taken."""
    try:
        # guard: engine-arguments-without-nan
        found = json.loads(raw, parse_constant=_no_number)
        raw.encode()
        if "\\u" in raw:  # half a character, escaped, parses but can be stored nowhere
            json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        refuse(tool)
    # guard: engine-argument-depth
    if not isinstance(found, dict) or _is_too_deep(found, raw):
        refuse(tool)
    return found


def tool_name(given: Any) -> str:
    """The name of the tool that a call asks for, as every provider takes it back and a row can hold it.

    Tools have such names. What is called otherwise does not exist, which the model is then told.
    """
    if not isinstance(given, str) or not given:
        raise StreamBroken("The model called a tool without a name.")
    return _NOT_OF_A_NAME.sub("_", given[:LONGEST_NAME])


def tokens(told: Any) -> int | None:
    """A count of tokens as a server tells it; None if it cannot be one, and no row could hold it."""
    if isinstance(told, bool) or not isinstance(told, int | float):
        return None
    return int(told) if 0 <= told <= MOST_TOKENS else None


def refuse(tool: str) -> NoReturn:
    """The arguments are none."""
    raise StreamBroken(f"The arguments of the model's call of {tool} do not parse.")


def _is_too_deep(found: dict[str, Any], raw: str) -> bool:
    """Whoever writes or shows it later may have less of the stack left than there was to parse it."""
    if raw.count("{") + raw.count("[") <= DEEPEST:
        return False
    level: list[Any] = [found]
    for _ in range(DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
    return bool(level)


def _inside(value: Any) -> list[Any]:
    """The objects and lists in an object or a list."""
    values = value.values() if isinstance(value, dict) else value
    return [each for each in values if isinstance(each, dict | list)]


def _no_number(constant: str) -> float:
    raise ValueError(constant)
