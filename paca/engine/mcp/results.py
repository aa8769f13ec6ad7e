"""Makes text of what an MCP server answers, and finds its images."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from paca.common.text import to_storable
from paca.engine.mcp.image_size import READERS, size_of
from paca.engine.tools.formatting import format_size, strip_terminal_codes, truncate_middle

# The log holds images as text, and a page gets them with its events.
MAX_IMAGES = 4
MAX_IMAGE_BYTES = 1 << 20  # of all in one result
# A small file may be a huge picture: providers refuse longer sides, and a browser holds four bytes for each pixel.
MAX_SIDE_PIXELS, MAX_PIXELS = 8_000, 20_000_000


@dataclass(frozen=True, slots=True)
class ResultImage:
    """An image in a result. ``kind`` is one that every model that can see takes; its bytes fit it."""

    kind: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The text of a result as the model reads it, its images, and whether the text was cut."""

    text: str
    images: tuple[ResultImage, ...] = ()
    truncated: bool = False


def read_result(blocks: Iterable[Mapping[str, Any]], structured: Any = None) -> ReadResult:
    """Read the content blocks of a result as the protocol describes them.

    ``structured`` is shown if there is no text: servers of the newer revisions repeat it as text.
    """
    texts: list[str] = []
    images: list[ResultImage] = []
    for block in blocks:
        text = _image(block, images) if block.get("type") == "image" else _text(block)
        if text:
            texts.append(text)
    if structured is not None and not texts and not images:
        texts.append(json.dumps(structured, ensure_ascii=False))
    joined = strip_terminal_codes(to_storable("\n".join(texts)))
    # guard: mcp-results-are-bounded
    shown, truncated = truncate_middle(joined)
    return ReadResult(shown or "(no output)", tuple(images), truncated)


def _text(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text") or "")
        case "resource":
            return _contents(block.get("resource") or {})
        case "resource_link":
            name, uri = block.get("name") or "", block.get("uri") or ""
            return f"[resource {name}: {uri}]"
        case "audio":
            return f"[audio, {block.get('mimeType')}: not shown]"
    return f"[{block.get('type')}: not shown]"


def _contents(contents: Mapping[str, Any]) -> str:
    """The text of a resource, or a line about its bytes."""
    if isinstance(text := contents.get("text"), str):
        return text
    size = len(str(contents.get("blob") or "")) * 3 // 4
    return f"[{contents.get('uri')}: {contents.get('mimeType') or 'bytes'}, {format_size(size)}, not shown]"


def read_contents(contents: Iterable[Mapping[str, Any]]) -> ReadResult:
    """Read the contents of a resource; an image among them counts as an image of a result."""
    blocks: list[dict[str, Any]] = []
    for each in contents:
        kind = each.get("mimeType")
        if kind in READERS and each.get("blob"):
            blocks.append({"type": "image", "mimeType": kind, "data": each["blob"]})
        else:
            blocks.append({"type": "resource", "resource": each})
    return read_result(blocks)


def _image(block: Mapping[str, Any], images: list[ResultImage]) -> str:
    """Add the image, and give the line that stands for it in the text."""
    kind = str(block.get("mimeType") or "").lower()
    try:
        data = base64.b64decode(str(block.get("data") or ""), validate=True)
    except (binascii.Error, ValueError):
        return "[image: cannot be read]"
    total = len(data) + sum(len(image.data) for image in images)
    if total > MAX_IMAGE_BYTES or len(images) >= MAX_IMAGES:
        return f"[image: {format_size(len(data))}, too large or too many to be shown]"
    size = size_of(kind, data)
    # guard: mcp-images-are-images
    if size is None:
        return f"[image of an unknown kind: {format_size(len(data))}, not shown]"
    # guard: mcp-images-have-few-pixels
    if max(size) > MAX_SIDE_PIXELS or size[0] * size[1] > MAX_PIXELS:
        return f"[image: {size[0]} x {size[1]} pixels, too large to be shown]"
    images.append(ResultImage(kind, data))
    return f"[image {len(images)}: {kind.removeprefix('image/').upper()}, {format_size(len(data))}]"
