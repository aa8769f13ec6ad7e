"""Removes secret values from texts and streams before they are stored, shown or sent, and asks each room for its own.

This is a net and no wall: a program can change a value in a way that no list of forms knows. A secret that an
agent has no need of never enters its sandbox.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import functools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from paca.common import secret_shapes
from paca.common.secret_forms import MIN_CHARACTERS, forms_of, without_line_breaks

MASK = "***"
# How a text says that it was cut there.
CUT, CUT_MARK = "[... ", re.compile(r"(\s?\[\.\.\. [^\]\n]{0,60}\]\s?)")
LINE_BREAK = re.compile(r"[\r\n]")
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
    that may use the database. An error of it ends the turn or the request, so leave out what cannot be decrypted: nothing can use it.
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

    def __init__(
        self,
        secrets: Collection[str] = (),
        *,
        shapes: bool = False,
        forms: tuple[str, ...] = (),
    ) -> None:
        """``shapes``: also tokens and links, which ``secret_shapes`` finds. ``forms`` replace those of the secrets."""
        self._shapes = shapes
        self.secrets = frozenset(secrets)
        self._forms = forms or forms_of(secrets)
        self._window = min(map(len, self._forms), default=MIN_CHARACTERS)
        self._jumps: dict[str, int] = {}
        self._ending: dict[str, list[str]] = {}
        for form in self._forms:
            self._enter(form)

    @functools.cached_property
    def _sorted(self) -> tuple[str, ...]:
        return tuple(sorted(self._forms))

    @functools.cached_property
    def _first(self) -> re.Pattern[str]:
        firsts = "".join({form[0] for form in self._forms})
        return re.compile(f"[{re.escape(firsts)}]")

    def _enter(self, form: str) -> None:
        for end in range(BLOCK, self._window + 1):
            block = form[end - BLOCK : end]
            self._jumps[block] = min(self._jumps.get(block, self._window), self._window - end)
        self._ending.setdefault(form[self._window - BLOCK : self._window], []).append(form)

    def __bool__(self) -> bool:
        return bool(self._forms) or self._shapes

    def with_secrets(self, secrets: Collection[str]) -> SecretMask:
        """The mask for these secrets too."""
        if self.secrets.issuperset(secrets):
            return self
        return mask_of(self.secrets.union(secrets), shapes=self._shapes)

    def text(self, text: str) -> str:
        """The text without the secrets."""
        # guard: secrets-leave-a-text
        if not self:
            return text
        spans = self._spans(without_line_breaks(text))
        return _replaced(text, spans) if spans else text

    def pieces(self, text: str, *, from_middle: bool = False) -> str:
        """The text without the secrets, and without the parts of them that a cut has left.

        A cut is told by a mark such as ``[... 3 KiB left out ...]``. ``from_middle``: the text is a piece of a longer
        one, and begins and ends anywhere in it.
        """
        if not self or not (from_middle or CUT in text):
            return self.text(text)
        parts = CUT_MARK.split(text)
        last = len(parts) - 1
        for at in range(0, len(parts), 2):
            parts[at] = self._without_parts(
                parts[at], first=from_middle or at > 0, last=from_middle or at < last
            )
        return "".join(parts)

    def _without_parts(self, text: str, *, first: bool, last: bool) -> str:
        text = self.text(text)
        if last:
            end = self._end_of_whole(text)
            text = text if end == len(text) else f"{text[:end]}{MASK}"
        if first:
            start = len(text) - self._mirrored._end_of_whole(text[::-1])
            text = text if start == 0 else f"{MASK}{text[start:]}"
        return text

    @functools.cached_property
    def _mirrored(self) -> SecretMask:
        return SecretMask(forms=tuple(form[::-1] for form in self._forms))

    def _end_of_whole(self, text: str) -> int:
        """Where a part of a secret begins at the end of the text; its length if none does. A short part tells nothing."""
        searched = without_line_breaks(text)
        end = self._unfinished(searched)
        # guard: parts-of-secrets-at-a-cut
        if len(searched) - end < MIN_CHARACTERS:
            return len(text)
        return _Places(text)[end]

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
        """Where secrets stand in a text without line breaks, in order; they do not overlap."""
        found = self._find_forms(text) if self._forms else []
        shaped = secret_shapes.find(text) if self._shapes else []
        return _joined([*found, *shaped]) if shaped else found

    def _find_forms(self, text: str) -> list[tuple[int, int]]:
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
                end = self._end_of_overlaps(text, start, start + len(form))
                found.append((start, end))
                at = end + before
            else:
                at += 1
        return found

    def _end_of_overlaps(self, text: str, start: int, end: int) -> int:
        """Where the forms end that stand at ``start`` and those that begin before the end of one of them."""
        to_block = self._window - BLOCK
        while start < end:
            for form in self._ending.get(text[start + to_block : start + self._window], ()):
                # guard: secrets-that-overlap
                if start + len(form) > end and text.startswith(form, start):
                    end = start + len(form)
            start += 1
        return end

    def _unfinished(self, text: str) -> int:
        """Where the first secret begins that the text may not have whole; its length if there is none."""
        until = secret_shapes.find_open(text) if self._shapes else len(text)
        return min(until, self._find_open_form(text)) if self._forms else until

    def _find_open_form(self, text: str) -> int:
        at = max(0, len(text) - len(self._forms[0]) + 1)
        while found := self._first.search(text, at):
            rest = text[found.start() :]
            place = bisect_left(self._sorted, rest)
            following = self._sorted[place : place + 2]
            # guard: beginning-of-a-secret-waits
            if any(len(form) > len(rest) and form.startswith(rest) for form in following):
                return found.start()
            at = found.start() + 1
        return len(text)


class SecretStream:
    """A text in pieces. What may be the beginning of a secret waits for the next piece, and nothing else does."""

    def __init__(self, mask: SecretMask) -> None:
        self._mask, self._held = mask, ""
        self._hidden = (
            0  # so many characters at the beginning of what waits belong to the mask before them
        )

    def feed(self, piece: str) -> str:
        """What is certain to hold no part of a secret."""
        if not self._mask:
            return piece
        text = self._held + piece
        searched = without_line_breaks(text)
        until = self._mask._unfinished(searched)
        spans = self._mask._spans(searched)
        return self._take(text, searched, spans, until)

    def close(self) -> str:
        """What still waits: it was the beginning of no secret."""
        searched = without_line_breaks(self._held)
        return self._take(self._held, searched, self._mask._spans(searched), len(searched))

    def _take(self, text: str, searched: str, spans: list[tuple[int, int]], until: int) -> str:
        """What is shown of the text up to there; the rest waits."""
        self._held = text
        if until == 0 < len(searched):
            return ""
        hidden, places = self._hidden, _Places(text)
        if hidden:
            spans = _joined([(0, hidden), *spans])
        cut = places[until] if until < len(searched) else len(text)
        self._held = text[cut:]
        self._hidden = next((end - until for start, end in spans if start < until < end), 0)
        shown = text[: places[until - 1] + 1] if self._hidden else text[:cut]
        spans = [(start, min(end, until)) for start, end in spans if start < until]
        shown = _replaced(shown, spans) if spans else shown
        return shown.removeprefix(MASK) if hidden else shown


class SecretByteStream:
    """Bytes in pieces, as ``SecretStream``. A character may be cut between two pieces."""

    def __init__(self, mask: SecretMask) -> None:
        self._mask, self._stream = mask, mask.stream()
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def feed(self, piece: bytes) -> bytes:
        """What is certain to hold no part of a secret."""
        if not self._mask:
            return piece
        return self._stream.feed(self._decoder.decode(piece)).encode("utf-8", "surrogateescape")

    def close(self) -> bytes:
        """What still waits."""
        rest = self._stream.feed(self._decoder.decode(b"", final=True)) + self._stream.close()
        return rest.encode("utf-8", "surrogateescape")


class _Places:
    """The place of each character of a text that is no line break, by its number among those."""

    def __init__(self, text: str) -> None:
        breaks = (found.start() for found in LINE_BREAK.finditer(text))
        self._before = [at - count for count, at in enumerate(breaks)]

    def __getitem__(self, number: int) -> int:
        return number + bisect_right(self._before, number)


def _replaced(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with the mask in place of the spans, which count no line breaks."""
    places, parts, at = _Places(text), [], 0
    for start, end in spans:
        parts += [text[at : places[start]], MASK]
        at = places[end - 1] + 1
    return "".join((*parts, text[at:]))


class GrowingMask(SecretMask):
    """A mask that learns further secrets. Its search jumps less far; it masks no streams."""

    def __init__(self, most: int) -> None:
        """With more than ``most`` secrets it begins anew."""
        super().__init__(shapes=True)
        self._most = most

    def add(self, secrets: Iterable[str]) -> None:
        """Mask these too, from now on."""
        new = frozenset(secrets) - self.secrets
        if not new:
            return
        if len(self.secrets) + len(new) > self._most:
            super().__init__(shapes=True)
        self.secrets |= new
        forms = forms_of(new)
        for form in forms:
            self._enter(form)
        self._forms += forms


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order, with one in place of those that overlap."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


@functools.lru_cache(maxsize=64)
def mask_of(secrets: frozenset[str], *, shapes: bool = False) -> SecretMask:
    """The mask for these secrets, made once."""
    return SecretMask(secrets, shapes=shapes)


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


# --- logs ------------------------------------------------------------------------------------------------------

MAX_REMEMBERED = 5_000
_in_logs = GrowingMask(MAX_REMEMBERED)


def remember(*values: str) -> None:
    """Mask these values in all that this process logs, from now on."""
    _in_logs.add(values)


def without_remembered(text: str) -> str:
    """The text without the values that this process has met."""
    return _in_logs.text(text)
