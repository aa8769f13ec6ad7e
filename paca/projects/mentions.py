"""Finds the handles that a text in Markdown mentions, such as ``@ada``."""

import functools
import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Stands for code, an image or an escaped "@": it is no letter and begins no mention.
GAP = "\N{OBJECT REPLACEMENT CHARACTER}"

# People write no spaces around a handle in these scripts: Thai to Khmer, kana, Han and Hangul.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
# Accents that follow their letter.
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
_LETTER = rf"(?:(?![{_UNSPACED}])\w)"

# The characters of usernames and of agents' handles. Punctuation at the end belongs to the sentence.
_MENTION = re.compile(
    rf"(?<![@+%=&~#-])(?<!{_LETTER})[@\uff20]"
    rf"(?P<handle>[A-Za-z0-9](?:[A-Za-z0-9_.-]{{0,62}}[A-Za-z0-9_])?)"
    rf"(?!{_LETTER}|[{_MARKS}]|@|\uff20|/{_LETTER})"
)
_ADDRESS = re.compile(r"(?i)(?<![a-z0-9])(?:[a-z][a-z0-9+.-]{0,30}://|www\.|mailto:)\S+")


def find_handles(text: str) -> list[str]:
    """The mentioned handles in small letters, each once, in the order in which they are read.

    A handle in code, in a quotation, in an address or in an e-mail address is no mention, nor is one
    behind a backslash. Whether a member has the handle is not known here.
    """
    if "@" not in text and "\uff20" not in text:
        return []
    found = (handle for prose in _read_prose(text) for handle in _find_in_prose(prose))
    return list(dict.fromkeys(found))


def _find_in_prose(prose: str) -> Iterator[str]:
    # Composed letters: "@ad" with an accent on the d is another name than "@ad".
    prose = _ADDRESS.sub(GAP, unicodedata.normalize("NFC", prose))
    end_of_last = -1
    for match in _MENTION.finditer(prose):
        start = match.start()
        # "@ada/@bob" names two people, but "x/@bob" is a path.
        if prose[start - 1 : start] == "/" and start - 1 != end_of_last:
            continue
        end_of_last = match.end()
        yield match["handle"].lower()


def _read_prose(text: str) -> Iterator[str]:
    """The paragraphs, headings and list items as people read them, without code and quotations."""
    quotes = 0
    for token in _parser().parse(text):
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type == "inline" and not quotes:
            yield "".join(_read_inline(token.children or ()))


def _read_inline(tokens: Iterable["Token"]) -> Iterator[str]:
    in_address = False  # <https://example.org> and <ada@example.org> are parsed as links
    for token in tokens:
        if token.type in ("link_open", "link_close") and token.info == "auto":
            in_address = token.type == "link_open"
            yield GAP
        elif in_address or token.type in ("code_inline", "image"):
            yield GAP
        elif token.type in ("softbreak", "hardbreak"):
            yield "\n"
        elif token.type == "text_special":  # "\@" and "&#64;"
            yield GAP if token.content == "@" else token.content
        else:
            yield token.content


@functools.cache
def _parser() -> "MarkdownIt":
    # Imported here, because most processes that load this module parse no comment.
    from markdown_it import MarkdownIt

    # Raw HTML is shown as text; strikethrough and tables are read like other text. Without
    # text_join, an escaped character keeps its own token.
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20})
    return parser.enable(["table", "strikethrough"]).disable("text_join")
