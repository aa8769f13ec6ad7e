"""OTLP in JSON: spans, their ids and attributes, and the envelope of a request.

It is written by hand: the SDK takes 70 to 200 ms to import and draws its ids at random, and what is sent
is one small object.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

Value = str | int | float | bool | list[str] | None
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCHEMA = "https://opentelemetry.io/schemas/1.37.0"


class SpanKind(IntEnum):
    """Whether a span is work of this process or a call of another service."""

    INTERNAL = 1
    CLIENT = 3


@dataclass(frozen=True, slots=True)
class Span:
    """A span. ``error`` is empty if it ended well. Attributes that are None are left out."""

    trace_id: str
    id: str
    name: str
    start: datetime
    end: datetime
    parent_id: str = ""
    kind: SpanKind = SpanKind.INTERNAL
    attributes: Mapping[str, Value] = field(default_factory=dict)
    error: str = ""

    def as_json(self) -> dict[str, Any]:
        """The span as OTLP writes it."""
        given = {**self.attributes, "error.type": self.error or None}
        found = {
            "traceId": self.trace_id,
            "spanId": self.id,
            "name": self.name,
            "kind": self.kind.value,
            "startTimeUnixNano": _nanoseconds(self.start),
            "endTimeUnixNano": _nanoseconds(max(self.start, self.end)),
            "attributes": attributes(given),
            "status": {"code": 2, "message": self.error} if self.error else {},
        }
        return {**found, "parentSpanId": self.parent_id} if self.parent_id else found


def trace_id(*names: object) -> str:
    """The id of a trace, which is the same whenever it is made of the same names."""
    return _digest("trace", *names)[:32]


def span_id(*names: object) -> str:
    """The id of a span, which is the same whenever it is made of the same names."""
    return _digest("span", *names)[:16]


def request(spans: Sequence[Span], *, service: str) -> dict[str, Any]:
    """The body of a request to ``/v1/traces``."""
    scope = {"scope": {"name": "paca"}, "schemaUrl": SCHEMA}
    resource = {"attributes": attributes({"service.name": service})}
    made = [span.as_json() for span in spans]
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{**scope, "spans": made}]}]}


def attributes(given: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Attributes as OTLP writes them, without those that are None."""
    return [
        {"key": name, "value": _value(value)} for name, value in given.items() if value is not None
    ]


def _value(value: Value) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}  # as JSON has no whole numbers of 64 bits
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_value(each) for each in value]}}
        case _:
            return {"stringValue": str(value)}


def _digest(*names: object) -> str:
    return hashlib.sha256("\0".join(map(str, names)).encode()).hexdigest()


def _nanoseconds(moment: datetime) -> str:
    microseconds = (moment - EPOCH) // (datetime.resolution)
    return str(microseconds * 1000)
