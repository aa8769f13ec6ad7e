"""Lists the helpers and teammates of a conversation, with what each does now."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Case, OuterRef, Subquery, When

from paca import events
from paca.conversations import event_log
from paca.conversations.models import Conversation, Event, PersonRequest, Teammate, TriggerType
from paca.engine.tools.formatting import to_one_line

MOST = 50
MOST_SAID = 200  # characters of the newest answer of a teammate


@dataclass(frozen=True, slots=True)
class ListedTeammate:
    """What lists show of a teammate besides. ``said`` is its newest final answer, cut."""

    name: str
    role: str
    state: str
    end_reason: str
    said: str


@dataclass(frozen=True, slots=True)
class ListedHelper:
    """A helper or teammate as lists show it. ``team`` is null for a helper. ``approval`` is the request that waits for a person."""

    id: UUID
    call_id: str
    index: int
    kind: str
    task: str
    status: str
    reason: str
    detail: str
    activity: str
    tool: str
    subject: str
    usage: dict[str, Any]
    approval: PersonRequest | None
    started_at: datetime | None
    finished_at: datetime | None
    team: ListedTeammate | None = None


def newest(parent: Conversation) -> list[ListedHelper]:
    """Every teammate that has not ended, and the helpers that were started last, up to ``MOST`` together.

    The first started comes first. In three queries at most.
    """
    calls = Event.objects.filter(conversation=OuterRef("pk"), type=events.ToolCalled.type)
    found = Conversation.objects.filter(parent=parent, deleted_at=None).annotate(
        newest_call=Subquery(calls.order_by("-seq").values("payload")[:1])
    )
    found = found.select_related("teammate")
    # guard: lanes-show-every-teammate-that-lives
    lives = Case(When(teammate__ended_at=None, teammate__isnull=False, then=0), default=1)
    rows = sorted(found.order_by(lives, "-created_at", "-piece")[:MOST], key=_place)
    waiting = PersonRequest.objects.open().with_details().filter(conversation__parent=parent)
    approvals = {request.conversation_id: request for request in waiting}
    mates = [row.pk for row in rows if row.trigger_type == TriggerType.TEAMMATE]
    said = event_log.last_words(mates) if mates else {}
    return [_listed(row, approvals.get(row.pk), said.get(row.pk, "")) for row in rows]


def has_team(lead: Conversation) -> bool:
    """Whether the conversation has teammates that have not ended."""
    return Teammate.objects.live().filter(lead=lead).exists()


def _place(row: Conversation) -> tuple[datetime, int]:
    return row.created_at, row.piece or 0


def _teammate(row: Any, said: str) -> ListedTeammate | None:
    if row.trigger_type != TriggerType.TEAMMATE:
        return None
    mate: Teammate = row.teammate
    mate.conversation = row
    words = to_one_line(said)[:MOST_SAID]
    return ListedTeammate(mate.name, mate.role, mate.state.value, mate.end_reason, words)


def _listed(row: Any, approval: PersonRequest | None, said: str) -> ListedHelper:
    call = json.loads(row.newest_call) if row.newest_call else {}
    return ListedHelper(
        id=row.pk,
        call_id=row.parent_call or "",
        index=row.piece or 0,
        kind=row.helper_kind or "",
        task=row.title,
        status=row.status,
        reason=row.reason,
        detail=row.detail,
        activity=row.activity,
        tool=call.get("tool", ""),
        subject=call.get("subject", ""),
        usage=row.usage_details,
        approval=approval,
        started_at=row.started_at,
        finished_at=row.finished_at,
        team=_teammate(row, said),
    )
