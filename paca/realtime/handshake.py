"""Reading the handshake of a socket."""

from typing import Any
from urllib.parse import parse_qs

Scope = dict[str, Any]


def header(scope: Scope, name: bytes) -> str:
    """The header's value, or an empty text. Given twice, it counts as not given."""
    found = [value for key, value in scope["headers"] if key == name]
    return found[0].decode("latin-1").strip() if len(found) == 1 else ""


def has_header(scope: Scope, name: bytes) -> bool:
    """Whether the header is there at all, however often."""
    return any(key == name for key, _value in scope["headers"])


def query(scope: Scope, name: str) -> str:
    """The parameter's value, or an empty text. Given twice, it counts as not given."""
    asked = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=None)
    found = asked.get(name, [])
    return found[0] if len(found) == 1 else ""
