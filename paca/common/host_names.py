"""Names of hosts: which ones a request and a list of allowed hosts may contain."""

from __future__ import annotations

import re

MAX_NAME_CHARACTERS = 253
MAX_LABEL_CHARACTERS = 63
LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\Z", re.ASCII)
# The last part of a name begins with a letter. All forms of an address as a number (2130706433, 0x7f.1) end in a
# part that begins with a digit, and resolvers read them as addresses.
LAST_LABEL = re.compile(r"[a-z][a-z0-9-]*[a-z0-9]\Z", re.ASCII)
# They mean this machine or its network, whatever a resolver says.
LOCAL_ENDINGS = frozenset(
    {
        "localhost",
        "local",
        "localdomain",
        "internal",
        "intranet",
        "lan",
        "home",
        "corp",
        "arpa",
        "onion",
    }
)
ANY_HOST = "*"
WILDCARD = "*."


def is_host_name(text: str) -> bool:
    """Whether the text is a full public name in small letters, such as ``files.example.org``, and no address."""
    if len(text) > MAX_NAME_CHARACTERS:
        return False
    labels = text.split(".")
    if len(labels) < 2 or labels[-1] in LOCAL_ENDINGS or not LAST_LABEL.match(labels[-1]):
        return False
    return all(len(label) <= MAX_LABEL_CHARACTERS and LABEL.match(label) for label in labels)


def is_pattern(text: str) -> bool:
    """Whether the text may stand in a list of allowed hosts: a name, or ``*.`` before a name of two parts or more."""
    return is_host_name(text.removeprefix(WILDCARD))


def matches(host: str, pattern: str) -> bool:
    """Whether a name is the one of the pattern. ``*.example.org`` means every name below it, and not itself."""
    if pattern == ANY_HOST:
        return True
    if pattern.startswith(WILDCARD):
        # guard: egress-wildcards-begin-at-a-dot
        return host.endswith(pattern[1:])
    return host == pattern
