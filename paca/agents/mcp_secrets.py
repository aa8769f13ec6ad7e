"""The secret values of MCP servers: named values are stored encrypted, shown as ``***`` and taken back as unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from paca.agents import encryption
from paca.agents.models import McpGrant, McpServer
from paca.common.secret_forms import is_plain_setting
from paca.common.secret_removal import secrets_of_header
from paca.common.text import is_storable

UNCHANGED = "***"
MAX_VALUES, MAX_NAME_CHARACTERS, MAX_VALUE_CHARACTERS = 50, 200, 8000
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
# Without a brace within: else each ``${`` of a text that closes none would be read to the end of the text.
PLACEHOLDER = re.compile(r"\$\{[^{}]*\}")
# The transport sets these itself; another value would break it, or speak for another host.
OWN_HEADERS = frozenset(
    {
        "accept",
        "connection",
        "content-length",
        "content-type",
        "host",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "mcp-session-id",
        "te",
        "transfer-encoding",
        "upgrade",
    }
)


def masked(names: list[str]) -> dict[str, str]:
    """The names, each with ``***``."""
    return dict.fromkeys(names, UNCHANGED)


def open_values(stored: str) -> dict[str, str]:
    """The stored values by name; none for an empty text. Raises ``SecretUnreadable``."""
    if not stored:
        return {}
    return dict(json.loads(encryption.decrypt(stored)))


def seal_values(values: Mapping[str, str]) -> str:
    """The values as they are stored. Raises ``ConfigurationError`` without a key to encrypt them."""
    return encryption.encrypt(json.dumps(values)) if values else ""


def merge(stored: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The given values, with the stored ones for ``***``. Raises ``KeyError`` with the name if none is stored."""
    return {name: stored[name] if value == UNCHANGED else value for name, value in given.items()}


def find_errors_of_env(given: Any) -> list[str]:
    """The errors of environment variables, in words."""
    return list(_errors(given, _error_of_env))


def find_errors_of_headers(given: Any, *, oauth: bool) -> list[str]:
    """The errors of headers, in words. With OAuth, Authorization is not theirs to set."""
    errors = list(_errors(given, _error_of_header))
    if oauth and isinstance(given, dict) and "authorization" in (str(n).lower() for n in given):
        errors.append("Authorization: the sign-in sets it. Leave one of both out.")
    if not errors and len({name.lower() for name in given}) < len(given):
        errors.append("A header is given twice.")
    return errors


def _errors(given: Any, error_of: Any) -> Iterator[str]:
    if not isinstance(given, dict) or len(given) > MAX_VALUES:
        yield f"Give an object of at most {MAX_VALUES} names with texts."
        return
    for name, value in given.items():
        if not isinstance(name, str) or not name or len(name) > MAX_NAME_CHARACTERS:
            yield f"A name has 1 to {MAX_NAME_CHARACTERS} characters."
        elif not isinstance(value, str):
            yield f"{_shown(name)}: the value is no text."
        elif len(value) > MAX_VALUE_CHARACTERS or not is_storable(value):
            yield f"{_shown(name)}: a value is a text of at most {MAX_VALUE_CHARACTERS} characters."
        elif found := PLACEHOLDER.search(value):
            yield f"{_shown(name)}: replace {_shown(found[0])} by its value; Paca fills in no placeholders."
        elif error := error_of(name, value):
            yield f"{_shown(name)}: {error}"


def _error_of_env(name: str, _: str) -> str:
    return "" if ENV_NAME.match(name) else "a name has letters, digits and _ only."


def _error_of_header(name: str, value: str) -> str:
    if not HEADER_NAME.match(name):
        return "this is no name of a header."
    if name.lower() in OWN_HEADERS:
        return "Paca sets this header itself."
    # guard: mcp-header-values-are-one-line
    if not (value.isascii() and value.isprintable()) or value != value.strip():
        return "a value has printable plain characters only, and no spaces around it."
    return ""


def _shown(name: str) -> str:
    return json.dumps(name[:60], ensure_ascii=True)[1:-1]


def plain_secrets(server: McpServer) -> list[str]:
    """The secret values of a server, with the tokens of its sign-in. Raises ``SecretUnreadable``."""
    values = [value for _, value in _secret_values(server.encrypted_env)]
    for _, value in _secret_values(server.encrypted_headers):
        values += secrets_of_header(value)
    grant: McpGrant | None = getattr(server, "grant", None)
    stored = [server.encrypted_oauth_secret]
    if grant is not None:
        stored += [
            grant.encrypted_access_token,
            grant.encrypted_refresh_token,
            grant.encrypted_client_secret,
        ]
    return [*values, *(encryption.decrypt(each) for each in stored if each)]


def _secret_values(stored: str) -> Iterator[tuple[str, str]]:
    for name, value in open_values(stored).items():
        # guard: plain-settings-of-servers-are-no-secrets
        if is_plain_setting(name, value):
            continue
        yield name, value
