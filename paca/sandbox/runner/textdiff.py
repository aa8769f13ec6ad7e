"""A unified diff of two texts, limited in time and length."""

MAX_COMPARED_LINES = 1500
MAX_SHOWN_LINES = 200
MAX_CHARACTERS = 16_384
CONTEXT_LINES = 3


def compare(old: str, new: str, path: str) -> tuple[int, int, str]:
    """The number of added lines, the number of removed lines, and the diff."""
    import difflib  # slow to load, and most requests need no diff

    before, after = _lines(old), _lines(new)
    same_start = _count_common(before, after)
    same_end = _count_common(before[same_start:][::-1], after[same_start:][::-1])
    old_middle = before[same_start : len(before) - same_end]
    new_middle = after[same_start : len(after) - same_end]
    if max(len(old_middle), len(new_middle)) > MAX_COMPARED_LINES:
        # Comparing takes quadratic time: report only how much was replaced.
        return (
            len(new_middle),
            len(old_middle),
            _cut([f"--- a/{path}\n", f"+++ b/{path}\n", "(too long to show)\n"]),
        )
    first = max(0, same_start - CONTEXT_LINES)
    tail = min(same_end, CONTEXT_LINES)
    lines = list(
        difflib.unified_diff(
            before[first : len(before) - same_end + tail],
            after[first : len(after) - same_end + tail],
            f"a/{path}",
            f"b/{path}",
            n=CONTEXT_LINES,
        )
    )
    added = sum(line.startswith("+") for line in lines[2:])
    removed = sum(line.startswith("-") for line in lines[2:])
    return added, removed, _cut([_renumber(line, first) for line in lines])


def _lines(text: str) -> list[str]:
    """The lines with their ends. Only LF ends a line: a form feed or a lone CR is part of one."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _count_common(left: list[str], right: list[str]) -> int:
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count


def _renumber(line: str, shift: int) -> str:
    """The line with the numbers of a hunk header counted from the start of the file."""
    if shift == 0 or not line.startswith("@@ "):
        return line
    ranges = []
    for part in line.split()[1:3]:
        start, comma, length = part[1:].partition(",")
        ranges.append(f"{part[0]}{int(start) + shift}{comma}{length}")
    return f"@@ {' '.join(ranges)} @@\n"


def _cut(lines: list[str]) -> str:
    whole = [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    ]
    text = "".join(whole[:MAX_SHOWN_LINES])
    left_out = len(whole) - MAX_SHOWN_LINES
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS] + "\n[... the diff is longer ...]\n"
    elif left_out > 0:
        text += f"[... {left_out} more lines ...]\n"
    return text
