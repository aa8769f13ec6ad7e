"""How text is cut and worded for a model: every cap stands here, and nothing is cut silently."""

import re

OUTPUT_BYTES = 30 * 1024
OUTPUT_FOLDER = ".paca/output"
DIFF_BYTES = 4 * 1024
LINE_CHARACTERS = 2_000
FOUND_LINE_BYTES = 600
SUBJECT_CHARACTERS = 120
LISTED_ENTRIES = 500
# Errors and results stand at the end of most outputs, what was asked for at their beginning.
HEAD_SHARE = 0.4

# OSC and its like (titles, links, clipboard), CSI (colours, cursor), then two-byte escapes.
_ESCAPES = re.compile(
    r"\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def screen_text(text: str) -> str:
    """Output as a terminal would leave it: without escapes, of a redrawn line the last state."""
    lines = _ESCAPES.sub("", text).split("\n")
    last_states = [line.rstrip("\r").rpartition("\r")[2] for line in lines]
    return _CONTROLS.sub("", "\n".join(last_states))


def phrase(text: str) -> str:
    """The first line that says something, short enough for a card."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    first = _CONTROLS.sub("", lines[0])
    more = len(lines) > 1 or len(first) > SUBJECT_CHARACTERS
    return first[: SUBJECT_CHARACTERS - 2].rstrip() + " …" if more else first


def count(number: int, noun: str, nouns: str = "") -> str:
    """``1 line``, ``1,200 lines``."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def size_phrase(size: int) -> str:
    """``512 bytes``, ``3.2 KiB``, ``3.0 GiB``."""
    if size < 1024:
        return count(size, "byte")
    amount = float(size)
    for unit in ("KiB", "MiB", "GiB"):
        amount /= 1024
        if amount < 1024:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1024:.1f} TiB"


def seconds_phrase(seconds: float) -> str:
    """``0.02 s``, ``3.2 s``, ``60 s``."""
    if seconds < 1:
        return f"{max(seconds, 0.01):.2f} s"
    return f"{seconds:.1f} s" if seconds < 10 and seconds != int(seconds) else f"{seconds:.0f} s"


def cut_line(line: str, limit: int = LINE_CHARACTERS) -> str:
    """The line, or its beginning and a word that it goes on."""
    # A little more is not worth a cut, and may be the note of one who cut it before us.
    return line if len(line) <= limit + 50 else f"{line[:limit]} [... line cut]"


def head_and_tail(text: str, limit: int = OUTPUT_BYTES) -> tuple[str, bool]:
    """The text, or its two ends with a line between them that says how much is left out."""
    raw = text.encode()
    if len(raw) <= limit:
        return text, False
    first = int(limit * HEAD_SHARE)
    head = raw[:first].decode(errors="ignore")
    tail = raw[len(raw) - (limit - first) :].decode(errors="ignore")
    # Whole lines read better, where there are lines.
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] if "\n" in tail[:-1] else tail
    missing = len(raw) - len(head.encode()) - len(tail.encode())
    return f"{head.rstrip()}\n[... {size_phrase(missing)} left out ...]\n{tail}", True
