"""Text that cannot be stored is recognized and replaced in one place."""

import json

import pytest

from paca.common import text
from paca.common.text import NUL_SYMBOL

LONE_SURROGATES = ["\ud800", "a\udfffb", "\ude00\ud83d"]
SOUND = ["", "plain", "é", "😀", "a literal \\u0000", "\x01\x7f"]


@pytest.mark.parametrize("lone", LONE_SURROGATES)
def test_text_with_a_lone_surrogate_is_neither_encodable_nor_storable(lone: str):
    assert not text.is_encodable(lone)
    assert not text.is_storable(lone)
    assert text.is_storable(text.to_storable(lone))
    assert text.to_encodable(lone) == text.to_utf8(lone).decode()
    assert len(text.to_encodable(lone)) == len(lone)


def test_text_with_nul_is_encodable_and_not_storable():
    assert text.is_encodable("a\0b")
    assert not text.is_storable("a\0b")
    assert text.to_encodable("a\0b") == "a\0b"
    assert text.to_storable("a\0b") == f"a{NUL_SYMBOL}b"


@pytest.mark.parametrize("sound", SOUND)
def test_storable_text_stays_as_it_is(sound: str):
    assert text.is_storable(sound)
    assert text.to_encodable(sound) == text.to_storable(sound) == sound
    assert json.loads(text.to_storable_json(sound)) == sound


def test_json_has_storable_texts_at_any_depth_or_not():
    deep: object = "sound"
    for _ in range(5000):
        deep = [deep]
    assert text.has_storable_texts({"a": [1, None, ("b", {"c": "a literal \\u0000"})], "d": deep})
    for bad in ({"a": [{"b": "\0"}]}, {"\ud800": 1}, [["\0"]]):
        assert not text.has_storable_texts(bad)


def test_storable_json_replaces_characters_in_names_and_at_any_depth():
    value = {"a\0": [("\ud800", {"b": "\0"})], "c": 1, "d": None}
    expected = {f"a{NUL_SYMBOL}": [["?", {"b": NUL_SYMBOL}]], "c": 1, "d": None}
    assert json.loads(text.to_storable_json(value)) == expected
    assert text.is_storable(text.to_storable_json(value))


def test_storable_json_is_compact_and_sorts_names_if_asked():
    assert text.to_storable_json({"b": 1, "a": "é"}) == '{"b":1,"a":"é"}'
    assert text.to_storable_json({"b": 1, "a": "é"}, sort_keys=True) == '{"a":"é","b":1}'


def test_truncated_utf8_keeps_whole_characters_within_the_limit():
    assert text.truncate_utf8("aé😀", 2) == "a"
    assert text.truncate_utf8("aé😀", 3) == "aé"
    assert text.truncate_utf8("aé😀", 6) == "aé"
    assert text.truncate_utf8("aé😀", 7) == "aé😀"
