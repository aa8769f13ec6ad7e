"""Text of others cannot control a terminal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paca.common.visible_text import one_line, readable, visible

HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\r\nc", "a\tb\nc"),
        ("\x1b[2J\x1b]0;title\x07", "␛[2J␛]0;title␇"),
        ("safe\rEVIL", "safe␍EVIL"),
        ("\x9b31m\x7f", "\ufffd31m\ufffd"),
        ("gpj\u202eexe", "gpj‹U+202E›exe"),
        ("half \ud800", "half ?"),
        ("grüße 你好", "grüße 你好"),
    ],
)
def test_control_characters_become_signs(text, shown):
    assert visible(text) == shown


def test_output_loses_its_colours_and_titles():
    assert readable("\x1b[31mred\x1b[0m \x1b]8;;http://x\x1b\\link") == "red link"


def test_one_line_is_the_first_line_with_words_and_tells_that_there_is_more():
    assert one_line("\n  ls -la\nrm x", 40) == "ls -la …"
    assert one_line("x" * 50, 20) == "x" * 18 + " …"
    assert one_line("\x1b[2J", 20) == ""


@given(st.text())
def test_no_text_controls_a_terminal_and_pieces_are_shown_as_the_whole(text):
    shown = visible(text)
    assert not HARMFUL.search(shown)
    assert not HARMFUL.search(readable(text))
    if "\r\n" not in text:
        assert "".join(map(visible, text)) == shown
