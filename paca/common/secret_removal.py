"""Removes secret values from a text before it is stored, in each form in which programs write them."""

from __future__ import annotations

import base64
import binascii
import functools
import json
import re
from collections.abc import Collection, Iterator
from urllib.parse import quote, quote_plus

MASK = b"***"
# A shorter value may be part of any word, and is refused as a secret elsewhere.
MIN_CHARACTERS = 8
# A line of a longer secret, such as a private key, counts as one of its own.
MIN_LINE_CHARACTERS = 24
# JSON within JSON within JSON: the arguments of a tool call that writes a JSON file.
JSON_LEVELS = 3
ESCAPE = re.compile("%[0-9A-F]{2}")
BASE64_BITS, BASE64_MIN_CHARACTERS = 6, 10


def without_secrets(data: bytes, secrets: Collection[str]) -> bytes:
    """The data with ``***`` in place of each secret: as it is, in JSON, in a URL, in base64 and in hex."""
    for form in _forms_of(frozenset(secrets)):
        # guard: secrets-leave-a-trace
        if form in data:
            data = data.replace(form, MASK)
    return data


def text_without_secrets(text: str, secrets: Collection[str]) -> str:
    """The text without the secrets, as ``without_secrets``."""
    data = text.encode("utf-8", "surrogatepass")
    return without_secrets(data, secrets).decode("utf-8", "surrogatepass")


def secrets_of_header(value: str) -> Iterator[str]:
    """The secrets in the value of a header: the value, what follows a scheme such as Bearer, and the password that Basic encodes."""
    yield value
    scheme, _, token = value.strip().rpartition(" ")
    # guard: token-of-a-header-is-a-secret-without-its-scheme
    yield token
    if scheme.strip().lower() == "basic":
        try:
            yield base64.b64decode(token).decode("utf-8", "replace").partition(":")[2]
        except binascii.Error:
            return


@functools.lru_cache(maxsize=64)
def _forms_of(secrets: frozenset[str]) -> tuple[bytes, ...]:
    """All forms of the secrets, the longest first: a form may be a part of another."""
    values = {value for secret in secrets for value in _values(secret)}
    forms = {form for value in values for form in _forms(value)}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _values(secret: str) -> Iterator[str]:
    secret = secret.strip()
    if len(secret) >= MIN_CHARACTERS:
        yield secret
    lines = secret.split("\n")
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= MIN_LINE_CHARACTERS)


def _forms(value: str) -> Iterator[bytes]:
    raw = value.encode("utf-8", "surrogatepass")
    yield raw
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    for quoted in (quote(value, safe="", errors="replace"), quote_plus(value, errors="replace")):
        yield quoted.encode()
        yield ESCAPE.sub(lambda found: found[0].lower(), quoted).encode()
    for ascii_only in (True, False):
        escaped = value
        for _ in range(JSON_LEVELS):
            escaped = json.dumps(escaped, ensure_ascii=ascii_only)[1:-1]
            yield escaped.encode("utf-8", "surrogatepass")
            # Some programs escape the slash too.
            yield escaped.replace("/", "\\/").encode("utf-8", "surrogatepass")
    yield from _base64_forms(raw)


def _base64_forms(raw: bytes) -> Iterator[bytes]:
    """The characters that a secret makes of any text which holds it: it may begin at one of three places."""
    for before in range(3):
        whole = base64.b64encode(bytes(before) + raw).rstrip(b"=")
        first = -(-before * 8 // BASE64_BITS)  # characters that also depend on what stands before
        last = (before + len(raw)) * 8 // BASE64_BITS  # and those that depend on what comes after
        stable = whole[first:last]
        if len(stable) >= BASE64_MIN_CHARACTERS:
            yield stable
            yield stable.replace(b"+", b"-").replace(b"/", b"_")
