"""Reads the timeline of a task or a doc: what happened to it, and the comments on it, in one order."""

import base64
import binascii
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Q, QuerySet

from paca.common.api import keyset
from paca.common.errors import Invalid
from paca.projects import comment_lists
from paca.projects.models import Activity, Comment, Doc, Task

Entry = Activity | Comment


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """Entries, the newest first, and the cursor of the older ones; empty if there are none."""

    entries: list[Entry]
    cursor: str


def activities_of(subject: Task | Doc) -> QuerySet[Activity]:
    """What happened to a task or a doc, with all that the API shows of it."""
    return subject.activities.select_related("actor__user", "actor__agent")


def read(subject: Task | Doc, *, limit: int, cursor: str = "") -> TimelinePage:
    """A page of the timeline in a constant number of queries. Raises ``Invalid`` for a bad cursor."""
    older = _older_than(cursor) if cursor else Q()
    entries: list[Entry] = []
    for rows in (activities_of(subject), comment_lists.of(subject)):
        entries += rows.filter(older).order_by("-created_at", "-id")[: limit + 1]
    entries.sort(key=_place, reverse=True)
    has_more = len(entries) > limit
    del entries[limit:]
    return TimelinePage(entries, _encode(entries[-1]) if has_more else "")


def _place(entry: Entry) -> tuple[datetime, UUID]:
    return entry.created_at, entry.pk


def _encode(entry: Entry) -> str:
    text = json.dumps([entry.created_at.astimezone(UTC).isoformat(), str(entry.pk)])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _older_than(cursor: str) -> Q:
    try:
        at, key = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        moment, last = keyset.read_moment(at), UUID(key)
    except (ValueError, TypeError, AttributeError, OverflowError, binascii.Error, RecursionError):
        raise Invalid(fields={"cursor": [keyset.BAD_CURSOR]}) from None
    return Q(created_at__lt=moment) | Q(created_at=moment, id__lt=last)
