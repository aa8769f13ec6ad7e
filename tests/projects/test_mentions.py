"""Mentions: which handles a text names, and what is no mention."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paca.projects.mentions import find_handles


@pytest.mark.parametrize(
    ("text", "handles"),
    [
        # A handle is a word of its own.
        ("@ada", ["ada"]),
        ("Ask @Ada.", ["ada"]),
        ("(@ada), @bob: @eve's!", ["ada", "bob", "eve"]),
        ("@ada @ADA @bob @ada", ["ada", "bob"]),
        ("cc:@ada, thanks.@bob", ["ada", "bob"]),
        ("@ada/@bob", ["ada", "bob"]),
        ("@ada- and @ada_ and @a.b-c.", ["ada", "ada_", "a.b-c"]),
        ("line\n@ada\nline", ["ada"]),
        ("x@ada _@ada -@ada @@ada +@ada", []),
        ("@ada@example.org", []),
        ("@_ada @-ada @ ada @", []),
        ("@" + "a" * 64, ["a" * 64]),
        ("@" + "a" * 65, []),
        # Scripts with and without spaces between words.
        ("é@ada ж@ada", []),
        ("@adaé @adaж", []),
        ("@ada\u0301 @add\u0301", []),
        ("请@ada看一下", ["ada"]),
        ("@ada님 確認を@bobさん", ["ada", "bob"]),
        ("\uff20ada", ["ada"]),
        ("😀@ada🎉", ["ada"]),
        # Markdown around the handle.
        ("**@ada** _@bob_ ~~@eve~~", ["ada", "bob", "eve"]),
        ("# @ada\n\n- @bob\n1. @eve", ["ada", "bob", "eve"]),
        ("| a | b |\n|---|---|\n| @ada | @bob |", ["ada", "bob"]),
        ("[@ada](https://example.org)", ["ada"]),
        ("<b>@ada</b>", ["ada"]),
        ("`x`@ada", ["ada"]),
        # Code, quotations and images.
        ("`@ada` ``a ` @ada``", []),
        ("```\n@ada\n```\n@bob", ["bob"]),
        ("~~~\n@ada", []),
        ("text\n\n    @ada", []),
        ("- item\n\n      @ada", []),
        ("> @ada\nlazy @ada\n\n@bob", ["bob"]),
        ("> > @ada\n> - @bob", []),
        ("- > @ada\n- @bob", ["bob"]),
        ("![@ada](x.png)", []),
        # Addresses.
        ("ada@example.org <ada@example.org> mailto:x@ada", []),
        ("https://example.org/@ada www.example.org/@ada", []),
        ("<https://example.org/@ada> [x](https://example.org/@ada '@ada')", []),
        ("[x]\n\n[x]: /@ada '@ada'", []),
        ("@types/node packages/@ada x?to=@ada", []),
        # Escaped.
        ("\\@ada &#64;ada", []),
        ("@ada\\_b", ["ada_b"]),
        # Odd texts.
        ("", []),
        ("@ada\0 \ud800@bob", ["ada", "bob"]),
    ],
)
def test_mentions_of_a_text(text: str, handles: list[str]) -> None:
    assert find_handles(text) == handles


PIECES = (
    "@",
    "ada",
    "@ada",
    " ",
    "\n",
    "`",
    "```",
    ">",
    "    ",
    "[",
    "](",
    ")",
    "<",
    "é",
    "请",
    "\0",
)
PROSE = st.text(alphabet="abc.,!?\n*_- ", max_size=40)
few = settings(max_examples=50)


@few
@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_mentions_are_handles_behind_an_at_sign_each_once(text: str) -> None:
    found = find_handles(text)
    assert len(found) == len(set(found))
    assert all(f"@{handle}" in text for handle in found)


@few
@given(PROSE)
def test_mention_in_a_block_of_code_never_counts(text: str) -> None:
    assert find_handles(f"~~~\n{text} @ada {text}\n~~~\n") == []


@few
@given(PROSE)
def test_mention_in_a_paragraph_of_its_own_always_counts(text: str) -> None:
    assert find_handles(f"{text}\n\n@zoe\n") == ["zoe"]


@pytest.mark.parametrize(
    "piece", ["@", "@a ", "![", "[", "*a **b ", "- a\n", "`a``b```", "a.", "www."]
)
def test_long_text_of_one_piece_is_read(piece: str) -> None:
    find_handles("@ada " + piece * (20_000 // len(piece)))
