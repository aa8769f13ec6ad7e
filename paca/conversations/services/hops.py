"""Counts how many agents have called one another in a row, so that they cannot go on for ever."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import F
from django.utils import timezone

from paca.conversations.models import Conversation, Trigger
from paca.projects.models import Comment, Doc, Member, Task

HOUR = timedelta(hours=1)


def count(by: Member | None, *, comment: Comment | None = None) -> int:
    """The ``hops`` of a trigger that this member causes: 0 for a person or the system.

    An agent's is one more than that of the turn in which it acts.
    """
    if by is None or by.kind != Member.Kind.AGENT:
        return 0
    conversation_id = by.acting_in or (comment.conversation_id if comment else None)
    if conversation_id is not None:
        return 1 + of_turn(conversation_id)
    active = Conversation.objects.active_of(by.agent_id).values_list("pk", flat=True)
    return 1 + max((of_turn(found) for found in active), default=0)


def of_turn(conversation_id: UUID) -> int:
    """The hops of the newest turn. A trigger of a person among those that it answers begins anew."""
    answered = Trigger.objects.filter(
        conversation=conversation_id, turn=F("conversation__turn_number")
    )
    return min(answered.values_list("hops", flat=True), default=0)


def calls_within_an_hour(subject: Task | Doc) -> int:
    """How often agents have called agents on this task or doc within the last hour."""
    about = (
        {"conversation__task": subject}
        if isinstance(subject, Task)
        else {"conversation__doc": subject}
    )
    return _count_calls(**about)


def calls_within_an_hour_in_project(project_id: UUID) -> int:
    """How often agents have called agents in the project within the last hour, on whatever."""
    return _count_calls(conversation__project=project_id)


def _count_calls(**about: Any) -> int:
    since = timezone.now() - HOUR
    return Trigger.objects.filter(hops__gt=0, created_at__gte=since, **about).count()
