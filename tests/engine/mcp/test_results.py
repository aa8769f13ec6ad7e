"""What a server answers becomes a bounded text, and images that are images."""

import base64

import pytest

from paca.engine.mcp.results import MAX_IMAGE_BYTES, read_contents, read_result

PNG = b"\x89PNG\r\n\x1a\n" + b"data"


def image(data: bytes = PNG, kind: str = "image/png") -> dict:
    return {"type": "image", "mimeType": kind, "data": base64.b64encode(data).decode()}


def test_a_long_text_is_cut_like_other_outputs():
    found = read_result([{"type": "text", "text": "x" * 10_000_000}])
    assert found.truncated
    assert len(found.text) < 32_000
    assert "left out" in found.text


def test_a_text_has_neither_terminal_codes_nor_characters_that_cannot_be_stored():
    found = read_result([{"type": "text", "text": "a\x1b[31mb\0\ud800c"}])
    assert found.text == "ab␀?c"


def test_an_image_is_kept_and_named_in_the_text():
    found = read_result([{"type": "text", "text": "Look:"}, image()])
    assert found.text == "Look:\n[image 1: PNG, 12 bytes]"
    assert found.images[0].data == PNG


@pytest.mark.parametrize(
    "block",
    [
        image(b"<svg onload=alert(1)>", "image/svg+xml"),
        image(b"<html>", "image/png"),
        image(PNG, "text/html"),
        {"type": "image", "mimeType": "image/png", "data": "%%%"},
        {"type": "image"},
        image(PNG + bytes(MAX_IMAGE_BYTES)),
    ],
)
def test_what_is_no_image_is_not_shown(block):
    found = read_result([block])
    assert not found.images
    assert found.text.startswith("[image")


def test_few_images_are_kept():
    assert len(read_result([image()] * 20).images) == 4
    assert len(read_result([image(PNG + bytes(MAX_IMAGE_BYTES // 2))] * 3).images) == 1


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "resource", "resource": {"uri": "a://b", "text": "T"}}, "T"),
        (
            {"type": "resource", "resource": {"uri": "a://b", "blob": "AAAA"}},
            "[a://b: bytes, 3 bytes, not shown]",
        ),
        ({"type": "resource_link", "uri": "a://b", "name": "n"}, "[resource n: a://b]"),
        ({"type": "audio", "mimeType": "audio/wav"}, "[audio, audio/wav: not shown]"),
        ({"type": "new"}, "[new: not shown]"),
    ],
)
def test_each_kind_of_content_has_a_text(block, text):
    assert read_result([block]).text == text


def test_structured_content_is_shown_if_there_is_no_text():
    assert read_result([], {"a": 1}).text == '{"a": 1}'
    assert read_result([{"type": "text", "text": "A"}], {"a": 1}).text == "A"
    assert read_result([]).text == "(no output)"


def test_an_image_among_the_contents_of_a_resource_is_an_image():
    blob = base64.b64encode(PNG).decode()
    assert (
        read_contents([{"uri": "a", "mimeType": "image/png", "blob": blob}]).images[0].data == PNG
    )
