"""Strict parsing of a model's stream: bytes to events, and text to tool arguments or an error."""

import json
import re
from collections.abc import Iterator
from typing import Any

from paca.common.text import to_storable
from paca.engine.llm.base import COST_DIGITS
from paca.engine.llm.model_errors import StreamBroken

MAX_EVENT_BYTES = 8 * 1024 * 1024
MAX_QUOTE_BYTES = 300
NO_JSON = "The model's answer has an event that is no JSON."
MAX_QUOTE_CHARACTERS = 2000
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
END_MARK = b"[DONE]"
TEXT_BODY = "text_body"  # marks the event for a body that is a text or a page
FIELD = re.compile(rb"[A-Za-z][\w-]*:|:|$")  # a field of an event, a comment or an empty line
MAX_NAME_CHARACTERS = 64
MAX_TOKENS = 10**9
MAX_COST_USD = 10_000.0  # of one call: a larger figure is no cost in dollars
MAX_DEPTH = 100  # of nested objects and lists
_INVALID_NAME_CHARACTER = re.compile(r"[^A-Za-z0-9_-]")


class UnusableArguments(ValueError):
    """Arguments of a tool call that cannot be used, with the reason as the text."""


class EventReader:
    """Parses the body of an answer: server-sent events, as far as providers use the format.

    Its first bytes tell what the body is, since labels are often wrong. A body of JSON is one event,
    or one event a line. A page or a text is an event that reports an error, so that its words are told.
    ``done`` is True after OpenAI's end mark, which is no event, and after a whole body of JSON.
    """

    def __init__(self) -> None:
        self.done = False
        self._rest = b""
        self._has_begun = False
        self._is_events = True
        self._seen = False
        self._unknown = b""

    def feed(self, data: bytes) -> Iterator[dict[str, Any]]:
        """The events that these bytes complete. Raises ``StreamBroken`` for an invalid event."""
        rest = self._rest + data
        if not self._has_begun:
            rest = self._begin(rest)
        if not self._is_events or not self._has_begun:
            self._rest = rest
            _limit(rest)
            return
        if b"\r" in rest:
            rest = rest.replace(b"\r\n", b"\n")
        *blocks, self._rest = rest.split(b"\n\n")
        _limit(self._rest)
        for block in blocks:
            yield from self._block(block)
            if self.done:
                return

    def rest(self) -> Iterator[dict[str, Any]]:
        """The last events at the end of the body: one without a blank line after it, or a body of JSON."""
        if self.done:
            return
        if not self._is_events:
            yield from self._whole_body()
        elif self._rest.strip():
            yield from self.feed(b"\n\n")
        # guard: engine-unknown-lines-are-told
        if self._unknown and not self._seen:
            yield {"object": TEXT_BODY, "error": self._unknown.decode(errors="replace")}

    def _begin(self, rest: bytes) -> bytes:
        """Tell the form of the body from its first bytes, once there are enough of them."""
        # guard: engine-byte-order-mark
        rest = rest.removeprefix(BYTE_ORDER_MARK)
        start = rest.lstrip()
        if start and not BYTE_ORDER_MARK.startswith(rest):
            self._has_begun = True
            self._is_events = start[:1] not in (b"{", b"[", b"<")
            return start
        return rest

    def _block(self, block: bytes) -> Iterator[dict[str, Any]]:
        """The events of one block of lines."""
        data, name = [], b""
        for line in block.split(b"\n"):
            if line.startswith(b"data:"):
                data.append(line[5:].strip())
            elif line.startswith(b"event:"):
                name = line[6:].strip()
            elif line.startswith((b"{", b"error:")):
                data.append(line.removeprefix(b"error:").strip())
                name = name if line.startswith(b"{") else b"error"
            elif not FIELD.match(line):
                self._unknown = self._unknown or line.strip()
        payload = b"\n".join(data).strip()
        if payload:
            yield from self._events(payload, data, is_error=name == b"error")

    def _events(
        self, payload: bytes, lines: list[bytes], *, is_error: bool
    ) -> Iterator[dict[str, Any]]:
        if payload == END_MARK:
            self.done = True
            return
        self._seen = True
        if is_error:
            event = _json(payload)
            has_error = isinstance(event, dict) and "error" in event
            yield event if has_error else {"error": event or payload.decode(errors="replace")}
        elif len(lines) > 1 and _json(payload) is None:
            # Some servers leave out the blank line between events.
            for line in filter(None, lines):
                yield from self._events(line, [line], is_error=False)
        else:
            yield _event(payload)

    def _whole_body(self) -> Iterator[dict[str, Any]]:
        """The events of a body that is no stream of events. The server has sent all of it."""
        text = self._rest.strip()
        if not text:
            return
        self._seen = True
        if text[:1] == b"<":
            yield {"object": TEXT_BODY, "error": text.decode(errors="replace")}
            return
        whole = _json(text)
        found = whole if isinstance(whole, list) else [whole]
        if whole is None:
            found = [_event(line.strip()) for line in text.split(b"\n") if line.strip()]
        for event in found:
            if not isinstance(event, dict):
                raise StreamBroken("The model's answer has an event that is no object.")
            yield event
        self.done = whole is not None


def _limit(rest: bytes) -> None:
    if len(rest) > MAX_EVENT_BYTES:
        raise StreamBroken("The model's answer has an event without an end.")


def _json(payload: bytes) -> Any:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        return None


def _event(payload: bytes) -> dict[str, Any]:
    event = _json(payload)
    if event is None:
        said = to_storable(payload[:MAX_QUOTE_BYTES].decode(errors="replace"))
        raise StreamBroken(NO_JSON, said=f"The server sent: {said}")
    if not isinstance(event, dict):
        raise StreamBroken("The model's answer has an event that is no object.")
    return event


def arguments(raw: str) -> dict[str, Any]:
    """The arguments of a tool call: an object as JSON, perhaps as JSON in a JSON text.

    Control characters in texts are allowed: many models write real line feeds. Raises
    ``UnusableArguments`` if any part is invalid, since a call that was cut must not be run.
    """
    found = _parsed_arguments(raw)
    # guard: engine-arguments-encoded-twice
    if isinstance(found, str):
        found = _parsed_arguments(found)
    if not isinstance(found, dict):
        raise UnusableArguments("They are no JSON object.")
    # guard: engine-argument-depth
    if raw.count("{") + raw.count("[") > MAX_DEPTH and _is_too_deep(found):
        raise UnusableArguments("They are nested too deeply.")
    return found


def arguments_or_problem(raw: str) -> tuple[dict[str, Any], str]:
    """The arguments, and an empty text; or none, and why they cannot be used. No text is no arguments."""
    if raw.strip() in ("", "null"):
        return {}, ""
    try:
        return arguments(raw), ""
    except UnusableArguments as error:
        quote = to_storable(raw[:MAX_QUOTE_CHARACTERS])
        return {}, f"{error} You wrote: {quote}"


def _parsed_arguments(raw: str) -> Any:
    try:
        # guard: engine-arguments-without-nan
        found = json.loads(raw, strict=False, parse_constant=_refuse_constant)
        raw.encode()
        if "\\u" in raw:  # an escaped half of a surrogate pair parses, but UTF-8 cannot encode it
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise UnusableArguments("They hold half of a character.") from None
    except json.JSONDecodeError as error:
        raise UnusableArguments(f"They are no valid JSON: {error}.") from None
    except (ValueError, RecursionError) as error:
        raise UnusableArguments(f"They are no valid JSON: {error}.") from None
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


def cost_usd(usage: dict[str, Any]) -> float | None:
    """The dollars that a reported usage names as its cost; None if it names none, or no sum of money.

    OpenRouter and gateways of litellm report ``cost``. With a key of one's own (``is_byok``),
    OpenRouter's is only its fee, and the provider's bill stands beside it.
    """
    cost = usage.get("cost")
    if isinstance(cost, dict):  # Perplexity names the parts of the sum too
        cost = cost.get("total_cost")
    cost = _dollars(cost)
    if cost is None or not usage.get("is_byok"):
        return cost
    details = usage.get("cost_details")
    bill = _dollars(details.get("upstream_inference_cost") if isinstance(details, dict) else None)
    # guard: engine-own-key-costs-the-bill-too
    return None if bill is None else round(cost + bill, COST_DIGITS)


def _dollars(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # guard: engine-reported-cost-is-money
    return abs(round(float(value), COST_DIGITS)) if 0 <= value <= MAX_COST_USD else None


def _is_too_deep(found: dict[str, Any]) -> bool:
    """Whether the nesting is too deep for later code, which may have less stack left than the parser."""
    level: list[Any] = [found]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _children(outer)]
    return bool(level)


def _children(value: Any) -> list[Any]:
    """The objects and lists directly in an object or a list."""
    values = value.values() if isinstance(value, dict) else value
    return [each for each in values if isinstance(each, dict | list)]


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON value")
