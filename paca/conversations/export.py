"""A whole conversation as a file: JSON with every event as it is stored, or Markdown for reading."""

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import IO

from django.utils import timezone
from django.utils.text import slugify

from paca.common.frames import StoredEvent
from paca.common.text import to_utf8
from paca.conversations import event_log, selectors
from paca.conversations.models import Conversation
from paca.conversations.transcript import markdown

IN_MEMORY_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Exported:
    """A finished file, read from its beginning; whoever takes it closes it."""

    file: IO[bytes]
    name: str
    content_type: str
    size: int


def write(conversation: Conversation, form: str) -> Exported:
    """Write the log as it stands now, in the form ``json`` or ``markdown``.

    Written before it is sent: a fault is an error and never half a file, a slow reader holds no
    database, and a log of any length takes a page of memory and for the rest the disk.
    """
    pieces, ending, content_type = _FORMS[form]
    file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115 - the taker's
    try:
        for piece in pieces(conversation, _events(conversation)):
            file.write(to_utf8(piece))
        size = file.tell()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return Exported(file, f"{_name(conversation)}.{ending}", content_type, size)


def _events(conversation: Conversation) -> Iterator[StoredEvent]:
    """Every event up to the one the conversation's row knows of, so that the two agree."""
    last_seq = conversation.last_seq
    return takewhile(lambda event: event.seq <= last_seq, event_log.all_events(conversation.pk))


def _name(conversation: Conversation) -> str:
    """Letters, digits and dashes only, in any script: safe in a header and on any disk."""
    title = slugify(conversation.title, allow_unicode=True)[:60].strip("-_")
    return f"{title or 'conversation'}-{conversation.created_at:%Y-%m-%d}"


def _json(conversation: Conversation, log: Iterator[StoredEvent]) -> Iterator[str]:
    """One object; each event on a line of its own, so that line tools can read it too."""
    head = {
        "exported_at": timezone.now().isoformat(),
        "conversation": selectors.describe(conversation),
    }
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "events": ['
    separator = "\n"
    for event in log:
        yield separator + event.frame()
        separator = ",\n"
    yield "\n]}\n"


Pieces = Callable[[Conversation, Iterator[StoredEvent]], Iterator[str]]

_FORMS: dict[str, tuple[Pieces, str, str]] = {
    "json": (_json, "json", "application/json"),
    "markdown": (markdown, "md", "text/markdown; charset=utf-8"),
}
