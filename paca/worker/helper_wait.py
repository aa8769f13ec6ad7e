"""The transaction by which a turn begins to wait for its helpers. It starts them, and reads the inbox once more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from paca import events
from paca.conversations import store, team_budgets
from paca.conversations.models import ControlCommand, Conversation, Trigger, TriggerState
from paca.conversations.services import helpers, hops
from paca.conversations.services.lifecycle import stop_helpers
from paca.conversations.store import Lease
from paca.engine.helpers.requests import REASON, HelpersRequested
from paca.engine.turn import LogEntry
from paca.projects.models import Member
from paca.worker.turn_models import beginner_of


@transaction.atomic
def begin(
    lease: Lease,
    pending: Sequence[LogEntry],
    request: HelpersRequested,
    *,
    allowance: dict[str, Any] | None,
) -> str | None:
    """Start the helpers of the call, and give up the lease. If a pause came first, the turn ends: gives who paused.

    The first write locks the conversation's row. A worker that dies before the commit has started nothing, and the
    next one comes here again with the same call. One that dies after it leaves helpers that any worker runs. If the
    helpers were started before, as after a pause, they go on. ``pending`` are the entries that the run has not
    committed yet, and ``allowance`` is what ``left_for_helpers`` tells. Raises ``Fenced`` or ``IllegalStatusMove``.
    """
    store.append(lease.conversation_id, *pending, lease=lease)
    parent = Conversation.objects.select_related("agent", "project").get(pk=lease.conversation_id)
    new = Trigger.objects.filter(conversation=parent, state=TriggerState.NEW)
    # guard: pause-comes-before-helpers
    if (pause := new.filter(control=ControlCommand.PAUSE).first()) is not None:
        return pause.by
    first = new.filter(control__in=(ControlCommand.STOP, ControlCommand.INTERRUPT)).first()
    if first is None:
        _start_or_go_on(lease, parent, request, allowance)
    store.append(
        parent.pk,
        events.ConversationWaiting(reason=REASON, detail=request.subject),
        lease=lease,
    )
    # guard: wait-for-helpers-reads-the-inbox
    if first is not None:
        stop_helpers(parent, by=first.by)
        cause = "stop" if first.control == ControlCommand.STOP else "message"
        helpers.release(parent, cause=cause, by=first.by)
        return None
    # All of them may have ended while the conversation was paused.
    helpers.settle_soon(parent.pk)
    return None


def _start_or_go_on(
    lease: Lease,
    parent: Conversation,
    request: HelpersRequested,
    allowance: dict[str, Any] | None,
) -> None:
    # guard: helpers-are-started-once
    if helpers.of(parent, request.call_id):
        helpers.go_on(parent)
        return
    beginner = beginner_of(parent).member_id
    started = helpers.start(
        parent,
        request,
        allowance=team_budgets.allowance_of_helpers(allowance, parent.pk),
        actor=Member.objects.filter(pk=beginner).first() if beginner else None,
        hops=hops.of_turn(parent.pk),
    )
    intent = events.ToolStarted(call_id=request.call_id, boot_id="")
    store.append(parent.pk, intent, *started, lease=lease)
