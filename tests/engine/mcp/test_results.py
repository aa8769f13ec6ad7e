"""What a server answers becomes a bounded text, and images that are images."""

import base64
import struct

import pytest

from paca.engine.mcp.image_size import size_of
from paca.engine.mcp.results import MAX_IMAGE_BYTES, read_contents, read_result


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)


PNG = png(2, 3)
JPEG_HEAD = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc0\0\x0b\x08"


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
    assert found.text == "Look:\n[image 1: PNG, 24 bytes]"
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
        image(PNG[:20]),
        image(png(0, 3)),
        image(b"\x89PNG\r\n\x1a\ndata"),
        image(b"RIFF\0\0\0\0WAVEfmt ", "image/webp"),
        image(b"\xff\xd8\xff", "image/jpeg"),
        image(b"\xff\xd8\xff" + b"\xe0\0\0" * 5000, "image/jpeg"),
        image(JPEG_HEAD[:-1], "image/jpeg"),
    ],
)
def test_what_is_no_image_is_not_shown(block):
    found = read_result([block])
    assert not found.images
    assert found.text.startswith("[image")


@pytest.mark.parametrize("size", [(30_000, 30_000), (8_001, 1), (1, 8_001), (7_000, 7_000)])
def test_a_picture_that_a_browser_would_unpack_to_gigabytes_is_not_shown(size):
    found = read_result([image(png(*size))])
    assert not found.images
    assert "too large to be shown" in found.text


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("image/png", PNG),
        ("image/gif", b"GIF89a" + struct.pack("<HH", 2, 3)),
        ("image/jpeg", JPEG_HEAD + struct.pack(">HH", 3, 2)),
        ("image/webp", b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + b"\1\0\0\2\0\0"),
        ("image/webp", b"RIFF\0\0\0\0WEBPVP8L" + bytes(5) + struct.pack("<I", 1 | 2 << 14)),
        ("image/webp", b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + struct.pack("<HH", 2, 3)),
    ],
)
def test_the_size_of_each_kind_is_read(kind, data):
    assert size_of(kind, data) == (2, 3)
    assert len(read_result([image(data, kind)]).images) == 1


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
