"""Formats and truncates text for the model. All size limits are here, and every cut is marked."""

import re

MAX_OUTPUT_BYTES = 30 * 1024
OUTPUT_FOLDER = ".paca/output"
MAX_DIFF_BYTES = 4 * 1024
MAX_LINE_CHARACTERS = 2_000
MAX_MATCH_BYTES = 600
MAX_SUBJECT_CHARACTERS = 120
MAX_LISTED_ENTRIES = 500
# Most outputs end with errors and results, so the tail gets the larger share.
HEAD_SHARE = 0.4

# OSC and similar sequences (titles, links, clipboard), CSI (colours, cursor), two-byte escapes.
_ESCAPES = re.compile(
    r"\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def strip_terminal_codes(text: str) -> str:
    """The text that a terminal would show: without escape codes, only the last state of redrawn lines."""
    lines = _ESCAPES.sub("", text).split("\n")
    last_states = [line.rstrip("\r").rpartition("\r")[2] for line in lines]
    return _CONTROLS.sub("", "\n".join(last_states))


def to_one_line(text: str) -> str:
    """The first line that is not blank, short enough for a card on the page."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    first = _CONTROLS.sub("", lines[0])
    more = len(lines) > 1 or len(first) > MAX_SUBJECT_CHARACTERS
    return first[: MAX_SUBJECT_CHARACTERS - 2].rstrip() + " …" if more else first


def pluralize(number: int, noun: str, nouns: str = "") -> str:
    """``1 line``, ``1,200 lines``."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def format_size(size: int) -> str:
    """``512 bytes``, ``3.2 KiB``, ``3.0 GiB``."""
    if size < 1024:
        return pluralize(size, "byte")
    amount = float(size)
    for unit in ("KiB", "MiB", "GiB"):
        amount /= 1024
        if amount < 1024:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1024:.1f} TiB"


def format_seconds(seconds: float) -> str:
    """``0.02 s``, ``3.2 s``, ``60 s``."""
    if seconds < 1:
        return f"{max(seconds, 0.01):.2f} s"
    return f"{seconds:.1f} s" if seconds < 10 and seconds != int(seconds) else f"{seconds:.0f} s"


def truncate_line(line: str, limit: int = MAX_LINE_CHARACTERS) -> str:
    """The line, cut and marked if it is longer than ``limit`` characters."""
    # 50 characters more are tolerated: they may be the mark of an earlier cut.
    return line if len(line) <= limit + 50 else f"{line[:limit]} [... line cut]"


def truncate_middle(text: str, limit: int = MAX_OUTPUT_BYTES) -> tuple[str, bool]:
    """The text, or its head and tail within ``limit`` bytes; and whether it was cut.

    A line between head and tail tells how much is left out.
    """
    raw = text.encode()
    if len(raw) <= limit:
        return text, False
    first = int(limit * HEAD_SHARE)
    head = raw[:first].decode(errors="ignore")
    tail = raw[len(raw) - (limit - first) :].decode(errors="ignore")
    # Cut at line breaks if there are any.
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] if "\n" in tail[:-1] else tail
    missing = len(raw) - len(head.encode()) - len(tail.encode())
    return f"{head.rstrip()}\n[... {format_size(missing)} left out ...]\n{tail}", True


def refused_remark(refused: tuple[str, ...]) -> str:
    """What the network gate refused while a command ran, in one line."""
    return f"The network gate refused: {' '.join(refused)}"
