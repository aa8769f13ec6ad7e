"""The contents of a traced call: made from its recording without secrets, packed, and read again.

A request repeats nearly all of the one before, so its body is stored as what is new between a common
beginning and a common end.
"""

from __future__ import annotations

import dataclasses
import json
import re
import struct
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from paca.common.secret_removal import text_without_secrets, without_secrets
from paca.common.text import to_encodable
from paca.engine.llm.base import Reply, Request
from paca.engine.llm.call_recording import (
    MAX_REFUSAL_BYTES,
    CallRecording,
    Exchange,
    Headers,
)
from paca.engine.llm.retrying import Attempt

# Of a larger body the beginning and the end are kept. The largest windows take about as much.
MAX_BODY_BYTES, KEPT_END_BYTES = 4 << 20, 1 << 20
MASK = "***"
# The end of a refusal that is cut may be the beginning of a secret. No form of one is longer.
REFUSAL_MARGIN = 16 * 1024
SECRET_HEADER = re.compile(r"auth|key|secret|token|cookie|password|signature|credential", re.I)
# In an answer these words stand in the names of limits too.
SECRET_REPLY_HEADER = re.compile(r"cookie|authenticat|authoriz|api-key|secret", re.I)
REQUEST_IDS = ("request-id", "x-request-id", "x-amzn-requestid", "apim-request-id", "x-goog-request-id", "cf-ray")  # fmt: skip
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Contents:
    """What one attempt sent and got: ``facts`` are JSON values, ``bodies`` the bodies of its requests."""

    facts: dict[str, Any]
    bodies: list[bytes] = field(default_factory=list)

    @property
    def request_bytes(self) -> int:
        """The bytes of all request bodies, as far as they are kept."""
        return sum(map(len, self.bodies))

    @property
    def omitted_bytes(self) -> int:
        """The bytes of the bodies that are not kept."""
        return sum(each["omitted_bytes"] for each in self.facts["exchanges"])

    @property
    def request_id(self) -> str:
        """The provider's id of the last request; empty if it gave none."""
        for exchange in reversed(self.facts["exchanges"]):
            given = {name.lower(): value for name, value in exchange["reply_headers"]}
            if found := next((given[name] for name in REQUEST_IDS if name in given), ""):
                return str(found)[:200]
        return ""


def make(recording: CallRecording, attempt: Attempt, secrets: Collection[str]) -> Contents:
    """The contents without secrets. ``secrets`` are further values than those of the recording."""
    hidden = frozenset({*secrets, *recording.secrets})
    exchanges, bodies = [], []
    for exchange in recording.exchanges or _in_words(attempt.request, recording.started):
        whole = without_secrets(exchange.body, hidden)
        body, omitted_bytes = _cut(whole)
        bodies.append(body)
        facts = _masked(_facts_of(exchange, recording.started), hidden)
        refusal = _refusal_of(exchange, hidden)
        exchanges.append({**facts, "refusal": refusal, "omitted_bytes": omitted_bytes})
    error = attempt.error
    found = {
        "exchanges_left_out": recording.left_out,
        "reply": _reply_facts(attempt.reply),
        # What was shown of an answer that does not count.
        "discarded_text": "" if attempt.reply else attempt.text,
        "error": {"code": error.code, "detail": error.detail} if error else None,
    }
    return Contents({"exchanges": exchanges, **_masked(found, hidden)}, bodies)


def _in_words(request: Request | None, started: float) -> list[Exchange]:
    """The request of a model that is asked without HTTP, such as the demo's."""
    if request is None:
        return []
    body = json.dumps(_plain(request), ensure_ascii=False).encode("utf-8", "surrogatepass")
    return [Exchange("", "", [], body, asked=started)]


def _facts_of(exchange: Exchange, started: float) -> dict[str, Any]:
    def since(moment: float | None) -> float | None:
        return None if moment is None else round(moment - started, 6)

    return {
        "method": exchange.method,
        "url": _safe_url(exchange.url),
        "headers": _headers(exchange.headers, SECRET_HEADER),
        "status": exchange.status,
        "reply_headers": _headers(exchange.reply_headers, SECRET_REPLY_HEADER),
        "asked_seconds": since(exchange.asked),
        "first_byte_seconds": since(exchange.first_byte),
        "last_byte_seconds": since(exchange.last_byte),
        "error": exchange.error,
    }


def _headers(headers: Headers, secret: re.Pattern[str]) -> list[list[str]]:
    pairs = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]
    # guard: trace-hides-credentials-in-headers
    return [[name, MASK if secret.search(name) else value] for name, value in pairs]


def _safe_url(url: str) -> str:
    """The address without a password, and without the values of a query that are secrets by their names."""
    parts = urlsplit(url)
    query = "&".join(
        f"{name}={MASK if SECRET_HEADER.search(name) or name == 'sig' else value}"
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    )
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=query))


def _refusal_of(exchange: Exchange, secrets: frozenset[str]) -> str:
    """The beginning of the body of a refusal as text without secrets."""
    data = _decompressed(exchange)
    # guard: unreadable-refusal-is-not-kept
    if data is None:
        return f"[{len(exchange.refusal)} bytes that cannot be read]"
    text = without_secrets(data, secrets)
    # guard: cut-refusal-ends-before-a-secret
    if max(len(data), len(exchange.refusal)) >= MAX_REFUSAL_BYTES:
        text = text[: max(0, len(text) - REFUSAL_MARGIN)]
    return text.decode("utf-8", "replace")


def _decompressed(exchange: Exchange) -> bytes | None:
    """The beginning of the body of a refusal; None if it cannot be read, and so may hold any secret."""
    values = [value for name, value in exchange.reply_headers if name.lower() == b"content-encoding"]  # fmt: skip
    encodings = {each.strip().lower() for each in b",".join(values).split(b",")} - {b"", b"identity"}  # fmt: skip
    if not encodings:
        return exchange.refusal
    if len(encodings) > 1 or not encodings <= {b"gzip", b"x-gzip", b"deflate"}:
        return None
    for window in (
        zlib.MAX_WBITS | 32,
        -zlib.MAX_WBITS,
    ):  # some servers send deflate without its head
        try:
            # A few bytes may stand for very many.
            return zlib.decompressobj(window).decompress(exchange.refusal, MAX_REFUSAL_BYTES)
        except zlib.error:
            continue
    return None


def _cut(body: bytes) -> tuple[bytes, int]:
    """The body, or its beginning and end with a line between them; and the number of bytes left out."""
    omitted = len(body) - MAX_BODY_BYTES
    if omitted <= 0:
        return body, 0
    line = f"\n[{omitted} bytes are not kept]\n".encode()
    return body[: MAX_BODY_BYTES - KEPT_END_BYTES] + line + body[-KEPT_END_BYTES:], omitted


def _reply_facts(reply: Reply | None) -> dict[str, Any] | None:
    return None if reply is None else _plain(reply)


def _plain(value: Any) -> Any:
    """A value of the engine as JSON values. The blocks of a message get their ``type``."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = {each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
        return {"type": type(value).__name__, **named}
    if isinstance(value, dict):
        return {str(name): _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value


def _masked(value: Any, secrets: frozenset[str]) -> Any:
    """The JSON value without secrets in its texts and names."""
    if isinstance(value, str):
        return to_encodable(text_without_secrets(value, secrets))
    if isinstance(value, dict):
        return {_masked(name, secrets): _masked(entry, secrets) for name, entry in value.items()}
    if isinstance(value, list):
        return [_masked(entry, secrets) for entry in value]
    return value


# --- packing ----------------------------------------------------------------------------------------


def pack(contents: Contents, base: bytes) -> bytes:
    """The contents as bytes, with the bodies as what is new against ``base``, and then each other."""
    parts, pieces = [], []
    for body in contents.bodies:
        prefix, suffix = _shared(base, body)
        pieces.append(body[prefix : len(body) - suffix])
        parts.append([prefix, suffix, len(pieces[-1])])
        base = body
    head = json.dumps({**contents.facts, "parts": parts}).encode()
    return zlib.compress(b"".join((_LENGTH.pack(len(head)), head, *pieces)))


def unpack(packed: bytes, base: bytes) -> Contents:
    """The contents that ``pack`` was given, with the same ``base``. Raises ``ValueError`` for anything else."""
    data = zlib.decompress(packed)
    (length,) = _LENGTH.unpack_from(data)
    at = _LENGTH.size + length
    facts = json.loads(data[_LENGTH.size : at])
    bodies = []
    for prefix, suffix, size in facts.pop("parts"):
        base = base[:prefix] + data[at : at + size] + base[len(base) - suffix :]
        bodies.append(base)
        at += size
    return Contents(facts, bodies)


def last_body(all_contents: Iterable[Contents]) -> bytes:
    """The last body of some contents, against which the next ones are packed."""
    last = b""
    for contents in all_contents:
        last = contents.bodies[-1] if contents.bodies else last
    return last


def shares_most(contents: Contents, base: bytes) -> bool:
    """Whether at least half of the first body also stands in ``base``."""
    first = contents.bodies[0] if contents.bodies else b""
    return 2 * sum(_shared(base, first)) >= len(first)


def _shared(base: bytes, body: bytes) -> tuple[int, int]:
    """The bytes at the beginning and at the end that the body has in common with ``base``."""
    prefix = _common(base, body)
    return prefix, _common(base[prefix:][::-1], body[prefix:][::-1])


def _common(one: bytes, other: bytes) -> int:
    """How many bytes both begin with, by halving: the comparison of slices is quick."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
