"""Sampling of live output: how much of a command's output is shown while it runs.

A command can print far more than anybody reads. Viewers get its newest lines at a bounded rate; the stored
result replaces them.
"""

import json
from collections.abc import Iterable
from typing import Any

from paca.events import ToolProgressed

MAX_TAIL_CHARACTERS = 16_000  # the page shows 200 lines
BYTES_PER_SECOND = 64 * 1024


def tail(text: str) -> str:
    """The end of the text within the limit. It begins with a line if a line break is near."""
    if len(text) <= MAX_TAIL_CHARACTERS:
        return text
    found = text[-MAX_TAIL_CHARACTERS:]
    line = found.find("\n", 0, MAX_TAIL_CHARACTERS // 4)
    return found[line + 1 :]


def pause_seconds(frames: Iterable[dict[str, Any]]) -> float:
    """How long no output may follow after these frames, in seconds."""
    texts = [frame["data"]["text"] for frame in frames if frame["type"] == ToolProgressed.type]
    encoded = (json.dumps(text, ensure_ascii=False).encode(errors="replace") for text in texts)
    return sum(map(len, encoded)) / BYTES_PER_SECOND
