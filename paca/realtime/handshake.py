"""Reads headers and query parameters of a socket's handshake."""

from typing import Any
from urllib.parse import parse_qs

Scope = dict[str, Any]


def header(scope: Scope, name: bytes) -> str:
    """The header's value, or an empty text. A header that is given twice counts as missing."""
    values = [value for key, value in scope["headers"] if key == name]
    return values[0].decode("latin-1").strip() if len(values) == 1 else ""


def has_header(scope: Scope, name: bytes) -> bool:
    """Whether the header is there, once or more often."""
    return any(key == name for key, _value in scope["headers"])


def query_parameter(scope: Scope, name: str) -> str:
    """The parameter's value, or an empty text. A parameter that is given twice counts as missing."""
    parameters = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=None)
    values = parameters.get(name, [])
    return values[0] if len(values) == 1 else ""
