"""Titles of conversations, made from their first message."""

import pytest

from paca.conversations.services import title_from
from tests.conversations.chat import Chat


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("```\nprint(1)\n```\nWhat is wrong here?", "What is wrong here?"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("~~~\nx\n~~~\n\nWhy does it fail", "Why does it fail"),
        ("# Fix the **build** now", "Fix the build now"),
        ("- [ ] do `this` and *that*", "do this and that"),
        ("> 1. quoted", "quoted"),
        ("---\nTitle", "Title"),
        ("[the docs](https://x.example) are wrong", "the docs are wrong"),
        ("[![CI](b.svg)](https://x.example) is red", "CI is red"),
        ("**「重要」**です", "「重要」です"),
        ("__init__.py and snake_case_name", "__init__.py and snake_case_name"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("😀", "😀"),
        ("```", ""),
    ],
)
def test_title_is_made_of_words(text, title):
    assert title_from(text) == title


@pytest.mark.parametrize("mark", ["*", "_a", "[", "`", "![", "> ", "- ", "**a "])
def test_title_of_a_text_of_marks_is_short(mark):
    assert len(title_from(mark * 50_000)) <= 81


@pytest.mark.django_db
def test_conversation_without_a_title_gets_one_from_the_next_message():
    chat = Chat()
    started = chat.start("```")["conversation"]
    assert chat.api.get(chat.url(started)).json()["title"] == ""
    chat.api.post(chat.url(started, "messages/"), {"text": "Why is it empty?"}, format="json")
    assert chat.api.get(chat.url(started)).json()["title"] == "Why is it empty?"
