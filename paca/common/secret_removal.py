"""Removes secret values from texts and streams before they are stored, shown or sent, and asks each room for its own.

This is a net and no wall: a program can change a value in a way that no list of forms knows. A secret that an
agent has no need of never enters its sandbox.
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from paca.common.secret_forms import MIN_CHARACTERS, forms_of, without_line_breaks

MASK = "***"
BLOCK = 3  # characters by which the search decides how far it may jump
TOO_SHORT = (
    f"A secret has at least {MIN_CHARACTERS} characters: a shorter one may be part of any word."
)


def is_long_enough(value: str) -> bool:
    """Whether the value can be told from a part of a word. Refuse others with ``TOO_SHORT`` where they are entered."""
    return len(value.strip()) >= MIN_CHARACTERS


# --- the secrets of a conversation ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SecretScope:
    """Whose secrets are asked for: those that conversations of the agent can meet; of all agents of the project if
    ``agent_id`` is None.
    """

    project_id: UUID
    agent_id: UUID | None = None


SecretSource = Callable[[SecretScope], Iterable[str]]
_sources: dict[str, SecretSource] = {}


def add_source(name: str, read: SecretSource) -> None:
    """Have ``read`` give its secrets, in the clear, for each conversation whose texts are masked.

    Call it in ``ready`` of the app; a second call with the same name replaces the first. ``read`` runs in a thread
    that may use the database. An error of it ends the turn or the request: nothing is shown unmasked.
    """
    _sources[name] = read


def from_sources(scope: SecretScope) -> frozenset[str]:
    """The secrets that the rooms have for the scope. Raises what a source raises."""
    found = {value for read in tuple(_sources.values()) for value in read(scope)}
    return frozenset(found - {""})


# --- masking ---------------------------------------------------------------------------------------------------


class SecretMask:
    """Puts ``***`` in place of each of its secrets, in all forms that ``secret_forms`` knows.

    The search takes time in proportion to the text, however many secrets there are: of most blocks of three
    characters it knows that no form has them, and jumps (Wu and Manber, 1994). Line breaks are no part of it.
    """

    def __init__(self, secrets: Collection[str] = ()) -> None:
        self._forms = forms_of(secrets)
        self._sorted = tuple(sorted(self._forms))
        self._window = min(map(len, self._forms), default=0)
        self._longest = max(map(len, self._forms), default=0)
        self._jumps: dict[str, int] = {}
        self._ending: dict[str, list[str]] = {}
        for form in self._forms:
            self._add(form)
        firsts = "".join({form[0] for form in self._forms})
        self._first = re.compile(f"[{re.escape(firsts)}]") if firsts else None

    def _add(self, form: str) -> None:
        for end in range(BLOCK, self._window + 1):
            block = form[end - BLOCK : end]
            self._jumps[block] = min(self._jumps.get(block, self._window), self._window - end)
        self._ending.setdefault(form[self._window - BLOCK : self._window], []).append(form)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def text(self, text: str) -> str:
        """The text without the secrets."""
        # guard: secrets-leave-a-text
        if not self._forms:
            return text
        spans = self._spans(without_line_breaks(text))
        return _replaced(text, spans) if spans else text

    def data(self, data: bytes) -> bytes:
        """The bytes without the secrets; those that are no UTF-8 stay as they are."""
        text = data.decode("utf-8", "surrogateescape")
        shown = self.text(text)
        return data if shown is text else shown.encode("utf-8", "surrogateescape")

    def value(self, value: Any) -> Any:
        """The JSON value without the secrets in its texts and names; the same object if it has none."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            made = {self.value(name): self.value(entry) for name, entry in value.items()}
            return value if made == value else made
        if isinstance(value, list | tuple):
            entries = type(value)(map(self.value, value))
            return value if entries == value else entries
        return value

    def stream(self) -> SecretStream:
        """A text that comes in pieces."""
        return SecretStream(self)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Where the forms stand in a text without line breaks, in order; they do not overlap."""
        found: list[tuple[int, int]] = []
        jumps, default = self._jumps, self._window - BLOCK + 1
        at, last, before = self._window - BLOCK, len(text) - BLOCK, self._window - BLOCK
        while at <= last:
            block = text[at : at + BLOCK]
            jump = jumps.get(block, default)
            if jump:
                at += jump
                continue
            start = at - before
            form = next((f for f in self._ending[block] if text.startswith(f, start)), "")
            if form:
                found.append((start, start + len(form)))
            at += len(form) or 1
        return found

    def _unfinished(self, text: str, spans: list[tuple[int, int]]) -> int:
        """Where the first form begins that the text may not have whole; its length if there is none."""
        if self._first is None:
            return len(text)
        ends = dict(spans)
        at = max(0, len(text) - self._longest + 1)
        at = next((start for start, end in spans if start < at < end), at)
        while found := self._first.search(text, at):
            rest = text[found.start() :]
            place = bisect_left(self._sorted, rest)
            following = self._sorted[place : place + 2]
            # guard: beginning-of-a-secret-waits
            if any(len(form) > len(rest) and form.startswith(rest) for form in following):
                return found.start()
            at = ends.get(found.start(), found.start() + 1)
        return len(text)


class SecretStream:
    """A text in pieces. What may be the beginning of a secret waits for the next piece, and nothing else does."""

    def __init__(self, mask: SecretMask) -> None:
        self._mask, self._held = mask, ""

    def feed(self, piece: str) -> str:
        """What is certain to hold no part of a secret."""
        if not self._mask:
            return piece
        text = self._held + piece
        searched = without_line_breaks(text)
        spans = self._mask._spans(searched)
        until = self._mask._unfinished(searched, spans)
        spans = [span for span in spans if span[0] < until]
        cut = len(text)
        if until < len(searched):
            cut = _places(text)[until] if len(searched) < len(text) else until
        self._held = text[cut:]
        return _replaced(text[:cut], spans) if spans else text[:cut]

    def close(self) -> str:
        """What still waits: it was the beginning of no secret."""
        rest, self._held = self._held, ""
        return self._mask.text(rest)


def _places(text: str) -> list[int]:
    """The place of each character that is no line break; empty if the text has none of them."""
    if "\n" not in text and "\r" not in text:
        return []
    return [at for at, character in enumerate(text) if character not in "\r\n"]


def _replaced(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with the mask in place of the spans, which count no line breaks."""
    places, parts, at = _places(text), [], 0
    for start, end in spans:
        first = places[start] if places else start
        parts += [text[at:first], MASK]
        at = places[end - 1] + 1 if places else end
    return "".join((*parts, text[at:]))


@functools.lru_cache(maxsize=64)
def mask_of(secrets: frozenset[str]) -> SecretMask:
    """The mask for these secrets, made once."""
    return SecretMask(secrets)


def without_secrets(data: bytes, secrets: Collection[str]) -> bytes:
    """The data with ``***`` in place of each secret, as ``SecretMask``."""
    return mask_of(frozenset(secrets)).data(data)


def text_without_secrets(text: str, secrets: Collection[str]) -> str:
    """The text without the secrets, as ``SecretMask``."""
    return mask_of(frozenset(secrets)).text(text)


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
