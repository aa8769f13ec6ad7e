"""Counts what the network gates have booked, and tells it for each conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import F, Sum

from paca.agents import network
from paca.common.network_policy import EgressPolicy
from paca.conversations.models import Conversation, NetworkBook, NetworkUse
from paca.conversations.models.statuses import LIVING_SANDBOX_STATES
from paca.sandbox.egress.booking import Booked, Used
from paca.sandbox.egress.reasons import Reason

MAX_HOSTS = 200  # of one conversation; an agent can make up any number of names
OTHERS = ""  # the host of the row that counts the rest


@dataclass(frozen=True, slots=True)
class GateOfConversation:
    """What a worker must know of a conversation that has a gate. ``policy``: what its agent may reach now."""

    policy: EgressPolicy
    is_living: bool  # whether its sandbox runs or is paused, as far as its row knows


def read_bytes(book: str) -> int:
    """How much of a gate's file is counted already."""
    return NetworkBook.objects.filter(pk=book).values_list("read_bytes", flat=True).first() or 0


def record(
    conversation_id: UUID, book: str, lines: Sequence[Booked], *, begin: int, end: int
) -> None:
    """Count lines of a gate's file, which stand from byte ``begin`` to ``end``, once.

    Nothing is counted if another worker has counted them, or if the conversation is deleted.
    """
    try:
        with transaction.atomic():
            # guard: network-of-deleted-conversations-is-not-counted
            if not Conversation.objects.filter(pk=conversation_id, deleted_at=None).exists():
                return
            NetworkBook.objects.get_or_create(
                pk=book, defaults={"conversation_id": conversation_id}
            )
            # guard: network-lines-count-once
            if not NetworkBook.objects.filter(pk=book, read_bytes=begin).update(read_bytes=end):
                return
            for line in lines:
                _count(conversation_id, line)
    except IntegrityError:  # the row of the conversation has gone meanwhile
        return


def _count(conversation_id: UUID, line: Booked) -> None:
    at = datetime.fromtimestamp(line.at, UTC)
    # The end of a connection adds its bytes only, but for one that the gate has cut: its reason is a row of its own.
    added = int(line.begins or line.reason is not Reason.NONE)
    changed = {
        "connections": F("connections") + added,
        "sent_bytes": F("sent_bytes") + line.sent,
        "received_bytes": F("received_bytes") + line.received,
        "last_at": at,
    }
    rows = NetworkUse.objects.filter(conversation=conversation_id)
    for host in (line.host, OTHERS):
        key = {"host": host, "port": line.port if host else 0, "reason": line.reason.value}
        if rows.filter(**key).update(**changed):
            return
        if host == OTHERS or rows.count() < MAX_HOSTS:
            NetworkUse.objects.create(
                conversation_id=conversation_id,
                **key,
                connections=added,
                sent_bytes=line.sent,
                received_bytes=line.received,
                first_at=at,
                last_at=at,
            )
            return


def newest(conversation: Conversation) -> list[NetworkUse]:
    """The hosts that a conversation has reached or wanted to reach, the one of the newest connection first."""
    return list(NetworkUse.objects.filter(conversation=conversation))


def transferred(conversation: Conversation) -> tuple[int, int]:
    """The bytes that a conversation has sent and received."""
    found = NetworkUse.objects.filter(conversation=conversation).aggregate(
        sent=Sum("sent_bytes"), received=Sum("received_bytes")
    )
    return found["sent"] or 0, found["received"] or 0


def used(conversation_id: UUID) -> Used:
    """What the sandbox of a conversation has used of its budget, as far as it is counted."""
    found = NetworkUse.objects.filter(conversation=conversation_id).aggregate(
        connections=Sum("connections"), sent=Sum("sent_bytes"), received=Sum("received_bytes")
    )
    return Used(found["connections"] or 0, (found["sent"] or 0) + (found["received"] or 0))


def forget(conversation_id: UUID) -> None:
    """Delete what a conversation has reached. Its books stay, so that nothing is counted again."""
    NetworkUse.objects.filter(conversation=conversation_id).delete()


def gates_of(conversation_ids: Sequence[UUID]) -> dict[UUID, GateOfConversation]:
    """What workers must know of these conversations. Deleted ones are left out."""
    rows = Conversation.objects.filter(
        pk__in=conversation_ids, deleted_at=None, project__deleted_at=None
    ).select_related("agent", "project", "sandbox")
    found = {}
    for row in rows:
        sandbox = getattr(row, "sandbox", None)
        living = sandbox is not None and sandbox.state in LIVING_SANDBOX_STATES
        found[row.pk] = GateOfConversation(network.policy_of(row.agent, row.project), living)
    return found
