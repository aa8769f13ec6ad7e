"""The forms in which programs write a secret: as it is, in JSON, in a URL, in HTML, in base64 and in hex."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Collection, Iterator
from urllib.parse import quote, quote_plus

# A shorter value may be part of any word, and is refused as a secret where it is entered.
MIN_CHARACTERS = 8
# A line of a longer secret, such as a private key, counts as one of its own.
MIN_LINE_CHARACTERS = 24
# JSON within JSON within JSON: the arguments of a tool call that writes a JSON file.
JSON_LEVELS = 3
ESCAPE = re.compile("%[0-9A-F]{2}")
SECRET_WORDS = ("key", "token", "secret", "pass", "auth", "cred", "private", "cookie")
# A folder, a word or a few with dashes between them, a number, the address of a host.
PLAIN_SETTING = re.compile(
    r"(?:~|\.{0,2})/[\w./-]*|[A-Za-z]{1,16}(?:[-_ /][A-Za-z]{1,16}|[-_.]?\d{1,2}){0,5}|\d{1,3}(?:\.\d{1,3}){0,3}"
    r"|https?://[\w.-]+(?::\d+)?/?"
)
BASE64_BITS, BASE64_MIN_CHARACTERS = 6, 10


def forms_of(secrets: Collection[str]) -> tuple[str, ...]:
    """All forms of the secrets without line breaks, the longest first: a form may be a part of another."""
    values = {value for secret in secrets for value in _values(secret)}
    found = {without_line_breaks(form) for value in values for form in _forms(value)}
    # guard: short-form-of-a-secret-is-no-secret
    return tuple(
        sorted((form for form in found if len(form) >= MIN_CHARACTERS), key=_longest_first)
    )


def without_line_breaks(text: str) -> str:
    """The text as it is searched: programs wrap base64 and hex into lines."""
    return text.replace("\n", "").replace("\r", "")


def _longest_first(form: str) -> tuple[int, str]:
    return -len(form), form


def _values(secret: str) -> Iterator[str]:
    secret = secret.strip()
    if len(secret) >= MIN_CHARACTERS:
        yield secret
    lines = secret.split("\n")
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= MIN_LINE_CHARACTERS)


def _forms(value: str) -> Iterator[str]:
    raw = value.encode("utf-8", "surrogatepass")
    yield value
    yield raw.hex()
    yield raw.hex().upper()
    yield html.escape(value)
    for quoted in (quote(value, safe="", errors="replace"), quote_plus(value, errors="replace")):
        yield quoted
        yield ESCAPE.sub(lambda found: found[0].lower(), quoted)
    for ascii_only in (True, False):
        escaped = value
        for _ in range(JSON_LEVELS):
            escaped = json.dumps(escaped, ensure_ascii=ascii_only)[1:-1]
            yield escaped
            # Some programs escape the slash too.
            yield escaped.replace("/", "\\/")
    yield from (form for form in base64_forms(raw) if len(form) >= BASE64_MIN_CHARACTERS)


def base64_forms(raw: bytes) -> Iterator[str]:
    """The characters that a secret makes of any text which holds it: it may begin at one of three places."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + raw).rstrip(b"=").decode()
        first = -(-before * 8 // BASE64_BITS)  # characters that also depend on what stands before
        last = (before + len(raw)) * 8 // BASE64_BITS  # and those that depend on what comes after
        stable = whole[first:last]
        yield stable
        yield stable.replace("+", "-").replace("/", "_")


def is_plain_setting(name: str, value: str) -> bool:
    """Whether a value that belongs to this name is an ordinary word, path or host, and the name does not say that it is secret.

    To mask it would destroy texts: each path begins with ``/workspace``.
    """
    if any(word in name.lower() for word in SECRET_WORDS):
        return False
    return PLAIN_SETTING.fullmatch(value.strip()) is not None
