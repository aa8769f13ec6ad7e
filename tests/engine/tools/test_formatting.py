"""Truncating and formatting text for the model."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paca.engine.tools.formatting import (
    MAX_SUBJECT_CHARACTERS,
    format_seconds,
    format_size,
    strip_terminal_codes,
    to_one_line,
    truncate_line,
    truncate_middle,
)


def test_truncate_middle_keeps_short_text():
    assert truncate_middle("a\nb", 100) == ("a\nb", False)


def test_truncate_middle_keeps_whole_lines_of_both_ends():
    text = "\n".join(f"line {number}" for number in range(1000))
    short, cut = truncate_middle(text, 1000)
    lines = short.split("\n")
    assert cut
    assert (lines[0], lines[-1]) == ("line 0", "line 999")
    assert all(
        re.fullmatch(r"line \d+|\[\.\.\. 7\.\d KiB left out \.\.\.\]", line) for line in lines
    )


@given(st.text(max_size=3000), st.integers(min_value=64, max_value=1000))
def test_truncate_middle_keeps_to_its_limit(text: str, limit: int):
    short, cut = truncate_middle(text, limit)
    assert len(short.encode()) <= limit + 60
    assert cut == (len(text.encode()) > limit)


@pytest.mark.parametrize(
    ("raw", "left"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("10%\r55%\r100%\n", "100%\n"),
        ("dos\r\nends\r\n", "dos\nends\n"),
        ("\x1b]8;;http://evil.example\x07click\x1b]8;;\x07", "click"),
        ("\x1b]0;title\x1b\\text", "text"),
        (
            "an unfinished \x1b]52;c;aGk=\nkeeps the next line",
            "an unfinished \nkeeps the next line",
        ),
        ("a\x00b\x08c\x07\tüç字", "abc\tüç字"),
        ("\x1b(Bplain\x1b[?25l", "plain"),
    ],
)
def test_strip_terminal_codes_removes_codes_and_redrawn_lines(raw: str, left: str):
    assert strip_terminal_codes(raw) == left


@given(st.text(alphabet="ab\x1b[]0;m\r\n\x07\\\x9b", max_size=200))
def test_strip_terminal_codes_leaves_no_escape(text: str):
    assert not set(strip_terminal_codes(text)) & {"\x1b", "\r", "\x07", "\x9b"}


def test_to_one_line_gives_one_short_line():
    assert to_one_line("\n  ls -la  \n") == "ls -la"
    assert to_one_line("cd src\nmake") == "cd src …"
    assert len(to_one_line("x" * 500)) == MAX_SUBJECT_CHARACTERS
    assert to_one_line(" \n ") == ""


def test_truncate_line_marks_its_cut():
    assert truncate_line("x" * 80, 10) == "x" * 10 + " [... line cut]"
    assert truncate_line("x" * 12, 10) == "x" * 12


def test_format_size_and_format_seconds_round_for_reading():
    assert [format_size(n) for n in (1, 0, 3277, 3 << 30)] == [
        "1 byte",
        "0 bytes",
        "3.2 KiB",
        "3.0 GiB",
    ]
    assert [format_seconds(s) for s in (0.0, 0.25, 3.21, 5.0, 61.4)] == [
        "0.01 s",
        "0.25 s",
        "3.2 s",
        "5 s",
        "61 s",
    ]
