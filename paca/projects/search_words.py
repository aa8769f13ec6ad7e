"""The words of texts and of searches, as the search index compares them; and snippets with marks."""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

MAX_SEARCH_CHARACTERS = 200
MAX_SEARCH_WORDS = 12
# The databases refuse longer words in a search. A longer word is found by its beginning.
MAX_WORD_CHARACTERS = 64
SNIPPET_CHARACTERS = 200
BEFORE_MATCH_CHARACTERS = 60
# A snippet shows a match within this much of a text, else its beginning: texts are long, and hits many.
MAX_SCANNED_CHARACTERS = 20_000
# More of a word of a text is not compared: searched words are shorter, also when accents are left out.
MAX_COMPARED_CHARACTERS = 4 * MAX_WORD_CHARACTERS

# Scripts without spaces between words: Thai to Khmer, kana and Han. Each character is a word of its own,
# and neighbours in a search must be neighbours in the text.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_ONE_UNSPACED = re.compile(f"[{_UNSPACED}]")
_ACCENTS = re.compile("[\u0300-\u036f]")
_SEPARATORS = re.compile(r"[\W_]+")
_WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_][\u0300-\u036f]*)+")
_KEY = re.compile(r"(?:[A-Za-z][A-Za-z0-9]{0,9}-|#)?([0-9]{1,9})\Z")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a snippet; ``marked`` if it is a word that was searched."""

    text: str
    marked: bool


def fold(text: str) -> str:
    """The words of a text with one space between them, in small letters and without accents."""
    if text.isascii():
        return _SEPARATORS.sub(" ", text.lower()).strip()
    spaced = _ONE_UNSPACED.sub(r" \g<0> ", _plain(text))
    return _SEPARATORS.sub(" ", spaced).strip()


def _plain(text: str) -> str:
    """The text in small letters, without accents, and with letters for signs that stand for them, such as Ⓐ."""
    small = unicodedata.normalize("NFKD", text.casefold()).casefold()
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", small)))


def parse(search: str) -> list[str]:
    """The words of a search, each folded. One that consists of several, such as ``看一下``, is a phrase.

    Empty if the search has no letters and no digits.
    """
    # As in ``fold``, what is no letter is only known in the plain text.
    words = _SEPARATORS.split(_plain(search[:MAX_SEARCH_CHARACTERS]))
    folded = (fold(word[:MAX_WORD_CHARACTERS])[:MAX_WORD_CHARACTERS].strip() for word in words)
    return list(dict.fromkeys(word for word in folded if word))[:MAX_SEARCH_WORDS]


def is_prefix(word: str) -> bool:
    """Whether a word of a search finds longer words too. One letter alone would find nearly all of them."""
    return len(word) > 1 or not word.isascii()


def task_number(search: str) -> int | None:
    """The number of the task that a search names: ``PACA-42``, ``#42`` or ``42``."""
    match = _KEY.match(search.strip())
    return int(match[1]) if match else None


def make_snippet(text: str, words: list[str]) -> list[Piece]:
    """A line of the text around the first of the words, with each of them marked."""
    beginnings = tuple(part for word in words for part in word.split())
    start, end = _window(text, beginnings)
    pieces = [Piece("…", False)] if start else []
    position = start
    for begin, stop in _matches(text, beginnings, start, end):
        pieces += [Piece(text[position:begin], False), Piece(text[begin:stop], True)]
        position = stop
    pieces.append(Piece(text[position:end], False))
    if end < len(text):
        pieces.append(Piece("…", False))
    lines = (Piece(re.sub(r"\s+", " ", piece.text), piece.marked) for piece in pieces)
    return [piece for piece in lines if piece.text]


def _window(text: str, beginnings: tuple[str, ...]) -> tuple[int, int]:
    first = next(_matches(text, beginnings, 0, MAX_SCANNED_CHARACTERS), (0, 0))[0]
    start = max(0, first - BEFORE_MATCH_CHARACTERS)
    if start:  # at a space, if one is near
        space = text.find(" ", start, first)
        start = space + 1 if space >= 0 else start
    return start, min(len(text), start + SNIPPET_CHARACTERS)


def _matches(
    text: str, beginnings: tuple[str, ...], start: int, end: int
) -> Iterator[tuple[int, int]]:
    if not beginnings:
        return
    for match in _WORD.finditer(text, start, end):
        if _fold_word(match[0][:MAX_COMPARED_CHARACTERS]).startswith(beginnings):
            yield match.span()


@lru_cache(maxsize=4096)
def _fold_word(word: str) -> str:
    """``fold`` of a word; texts repeat their words, and those of some scripts are single characters."""
    return fold(word)
