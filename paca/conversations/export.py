"""Exports a whole conversation as a file: JSON with every stored event, or Markdown for reading."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import IO, Any

from django.utils import timezone
from django.utils.text import slugify

from paca.common.frames import StoredEvent
from paca.common.text import to_utf8
from paca.conversations import event_log
from paca.conversations.models import Conversation
from paca.conversations.transcript import markdown

# A file up to this size stays in memory; a larger one is on disk.
IN_MEMORY_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ExportFile:
    """A finished file, to be read from its beginning. The caller closes it. ``size`` is in bytes."""

    file: IO[bytes]
    name: str
    content_type: str
    size: int


def to_json(conversation: Conversation, described: Mapping[str, Any]) -> ExportFile:
    """The conversation as one JSON object. ``described`` is the conversation as the API shows it."""
    pieces = _json_pieces(described, _events(conversation))
    return write_file(map(to_utf8, pieces), f"{file_name(conversation)}.json", "application/json")


def to_markdown(conversation: Conversation) -> ExportFile:
    """The conversation as a Markdown document."""
    pieces = markdown(conversation, _events(conversation))
    name = f"{file_name(conversation)}.md"
    return write_file(map(to_utf8, pieces), name, "text/markdown; charset=utf-8")


def write_file(pieces: Iterator[bytes], name: str, content_type: str) -> ExportFile:
    """Write the whole file before any of it is sent.

    So an error is never half a file, and a slow reader occupies no database connection. A log of
    any length takes the memory of one page of events; the rest is on disk.
    """
    file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115 - the caller closes it
    try:
        for piece in pieces:
            file.write(piece)
        size = file.tell()
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return ExportFile(file, name, content_type, size)


def _events(conversation: Conversation) -> Iterator[StoredEvent]:
    """Every event up to the ``last_seq`` of the conversation's row, so that row and log agree."""
    last_seq = conversation.last_seq
    return takewhile(lambda event: event.seq <= last_seq, event_log.all_events(conversation.pk))


def file_name(conversation: Conversation) -> str:
    """A file name of letters, digits and dashes in any script: safe in a header and on any disk."""
    title = slugify(conversation.title, allow_unicode=True)[:60].strip("-_")
    return f"{title or 'conversation'}-{conversation.created_at:%Y-%m-%d}"


def _json_pieces(
    described: Mapping[str, Any], stored_events: Iterator[StoredEvent]
) -> Iterator[str]:
    """One JSON object. Each event is on a line of its own, for tools that read lines."""
    head = {"exported_at": timezone.now().isoformat(), "conversation": described}
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "events": ['
    separator = "\n"
    for event in stored_events:
        yield separator + event.frame()
        separator = ",\n"
    yield "\n]}\n"
