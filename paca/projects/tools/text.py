"""How tasks, comments and docs are written down for a model: short, one thing a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from paca.common.text import to_utf8, truncate_utf8
from paca.engine.tools.formatting import (
    MAX_LINE_CHARACTERS,
    MAX_OUTPUT_BYTES,
    to_one_line,
    truncate_line,
)
from paca.projects.models import Activity, Comment, Member, Priority, Task
from paca.projects.tools.lookup import SHORT_ID

MAX_CHANGE_CHARACTERS = 80
MAX_ACTIVITY_CHARACTERS = 400


def names(members: Iterable[Member]) -> str:
    """``@ada, @rosa``."""
    return ", ".join(f"@{member.handle}" for member in members)


def task_subject(key: str) -> str:
    """The key for the card on the page; a bare number reads as one."""
    return f"task {key.strip()}" if key.strip().isdecimal() else to_one_line(key).upper()


def moment(at: datetime) -> str:
    """``2026-11-29 01:15`` in UTC."""
    return f"{at:%Y-%m-%d %H:%M}"


def task_line(task: Task) -> str:
    """A task in a list. It needs the task's status, labels, and assignees with their names."""
    facts = [task.status.name]
    if task.priority:
        facts.append(Priority(task.priority).name.lower())
    if assignees := names(task.assignees.all()):
        facts.append(assignees)
    if task.due_date:
        facts.append(f"due {task.due_date}")
    facts += [f"#{label.name}" for label in task.labels.all()]
    return f"{task.key} [{', '.join(facts)}] {task.title}"


def comment_text(comment: Comment, limit: int) -> str:
    """A comment with its id, author and time; its text is cut after ``limit`` bytes."""
    words = truncate_utf8(comment.text, limit)
    left_out = len(comment.text) - len(words)
    short_id = str(comment.pk)[:SHORT_ID]
    cut = (
        f" [... {left_out:,} characters of this comment left out; comment={short_id} reads all]"
        if left_out
        else ""
    )
    return f"{_comment_head(comment)}\n{words}{cut}"


def comment_lines(comment: Comment, *, first: int, count: int, limit: int) -> str:
    """A comment with its id, author and time, and some lines of its text as ``numbered_lines`` gives them.

    A line that is longer than lines are shown counts as several, so that all of it can be read.
    """
    lines = [
        line[start : start + MAX_LINE_CHARACTERS]
        for line in comment.text.split("\n")
        for start in range(0, max(len(line), 1), MAX_LINE_CHARACTERS)
    ]
    part = numbered_lines("\n".join(lines), first=first, count=count, limit=limit)
    return f"{_comment_head(comment)}\n{part}"


def _comment_head(comment: Comment) -> str:
    edited = ", edited" if comment.edited_at else ""
    answers = f", answers {str(comment.parent_id)[:SHORT_ID]}" if comment.parent_id else ""
    short_id, author = str(comment.pk)[:SHORT_ID], comment.author.handle
    return f"({short_id}) @{author}, {moment(comment.created_at)}{edited}{answers}:"


def activity_line(entry: Activity) -> str:
    """An entry of a timeline."""
    changes = "; ".join(map(change_words, entry.changes))
    actor = f"@{entry.actor.handle}" if entry.actor else "the system"
    line = f"{moment(entry.created_at)} {actor} {entry.kind}{f' ({changes})' if changes else ''}"
    return truncate_line(line, MAX_ACTIVITY_CHARACTERS)


def change_words(change: Mapping[str, str | None]) -> str:
    """``status: To do -> Done``."""
    return f"{change['field']}: {_value(change['old'])} -> {_value(change['new'])}"


def _value(value: str | None) -> str:
    text = to_one_line(value or "")
    return (
        f"{text[:MAX_CHANGE_CHARACTERS]}…" if len(text) > MAX_CHANGE_CHARACTERS else text or "none"
    )


def first_that_fit(lines: Iterable[str], limit: int) -> list[str]:
    """The first lines within ``limit`` bytes, but always one."""
    shown: list[str] = []
    for line in lines:
        limit -= len(to_utf8(line)) + 1
        if limit < 0 and shown:
            break
        shown.append(line)
    return shown


def numbered_lines(text: str, *, first: int, count: int, limit: int = MAX_OUTPUT_BYTES) -> str:
    """Some lines of a text, and a remark on the part if it is not the whole.

    At most ``count`` lines from the line ``first``, which counts from 1, and about ``limit`` bytes.
    """
    lines = text.split("\n")
    shown: list[str] = []
    for line in lines[first - 1 : first - 1 + count]:
        shown.append(truncate_line(line))
        limit -= len(to_utf8(shown[-1])) + 1
        if limit < 0 and len(shown) > 1:
            shown.pop()
            break
    last = first + len(shown) - 1
    if first == 1 and last >= len(lines):
        return "\n".join(shown)
    return "\n".join([*shown, _remark(lines, first, last)])


def _remark(lines: Sequence[str], first: int, last: int) -> str:
    if last < first:
        return f"[there are only {len(lines):,} lines]"
    more = f"; go on with first_line={last + 1}" if last < len(lines) else ""
    return f"[lines {first:,} to {last:,} of {len(lines):,}{more}]"
