"""The tools of a request as JSON, kept across runs: the longest part of a request's head."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from paca.common.text import to_utf8
from paca.engine.llm.base import ToolSpec

MAX_KEPT = 8  # agents with and without skills have different tools


class ToolsEncoder:
    """Encodes the tools for one dialect, and keeps the JSON of those that were used last."""

    def __init__(self, describe: Callable[[tuple[ToolSpec, ...]], list[dict[str, Any]]]) -> None:
        """``describe`` gives the tools in the form of the dialect."""
        self._describe = describe
        self._kept: tuple[tuple[tuple[ToolSpec, ...], bytes], ...] = ()

    def encode(self, tools: tuple[ToolSpec, ...]) -> bytes:
        """The JSON of these tools."""
        for known, encoded in self._kept:
            if known == tools:
                return encoded
        encoded = to_json(self._describe(tools))
        self._kept = ((tools, encoded), *self._kept)[:MAX_KEPT]
        return encoded


def to_json(value: Any) -> bytes:
    """The value as compact JSON. A lone surrogate becomes ``?``."""
    return to_utf8(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def object_to_json(fields: dict[str, Any]) -> bytes:
    """The fields as a JSON object. A value of bytes is JSON already."""
    encoded = (
        to_json(name) + b":" + (value if isinstance(value, bytes) else to_json(value))
        for name, value in fields.items()
    )
    return b"{" + b",".join(encoded) + b"}"
