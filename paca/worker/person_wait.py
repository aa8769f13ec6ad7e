"""The transaction by which a turn begins to wait for a person. It reads the inbox once more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction
from django.utils import timezone

from paca import events
from paca.conversations import store
from paca.conversations.models import ControlCommand, PersonRequest, Trigger, TriggerState
from paca.conversations.services import person_requests, waits
from paca.conversations.store import Lease
from paca.engine.approvals.person_tools import PersonRequested, reason_of, subject_of
from paca.engine.turn import LogEntry

# A pause lets the running step end, so it waits with the call.
LEFT_IN_INBOX = (ControlCommand.PAUSE,)


@transaction.atomic
def begin(lease: Lease, pending: Sequence[LogEntry], request: PersonRequested) -> None:
    """Store the request, and give up the lease: from here on the turn needs no worker.

    ``pending`` are the entries that the run has not committed yet. The first write locks the conversation's
    row, so no message or stop is missed: it is either read here and ends the wait at once, or its sender finds
    the conversation waiting. Raises ``Fenced`` or ``IllegalStatusMove``.
    """
    deadline = person_requests.deadline_of(request, now=timezone.now())
    store.append(
        lease.conversation_id,
        *pending,
        replace(request, deadline=deadline.isoformat()),
        events.ConversationWaiting(reason=reason_of(request), detail=subject_of(request)),
        lease=lease,
    )
    stored = PersonRequest.objects.select_related("conversation").get(call_id=request.call_id)
    came_first = _first_in_inbox(lease)
    # guard: wait-reads-the-inbox
    if came_first is None:
        person_requests.tell_people(stored)
        return
    cause = "stop" if came_first.control == ControlCommand.STOP else "message"
    waits.supersede(stored.conversation, cause=cause, by=came_first.by)


def _first_in_inbox(lease: Lease) -> Trigger | None:
    """A message or a stop that came before the request, if there is one. A stop counts more."""
    new = Trigger.objects.filter(conversation=lease.conversation_id, state=TriggerState.NEW)
    found = list(new.exclude(control__in=LEFT_IN_INBOX).order_by("event_seq", "created_at"))
    stops = [trigger for trigger in found if trigger.control == ControlCommand.STOP]
    return next(iter([*stops, *found]), None)
