"""Services for helpers: their conversations begin with a call, and their ends are told to the one that started them.

Each helper is a conversation of its own, which any worker runs. The conversation that started it waits without a
worker. The rows tell everything: ``settle`` reads them after each end of a helper, and a worker's sweep asks every
second, so a process that dies between an end and its report loses nothing. A conversation is locked before its
helpers, and a worker that ends a helper's turn locks only the helper.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from paca import events
from paca.bus import get_bus
from paca.common.best_effort import tolerated
from paca.common.errors import Conflict
from paca.common.prepared_queries import Select
from paca.conversations import budgets, event_log, store
from paca.conversations.models import (
    Conversation,
    ConversationStatus,
    Event,
    ModelCall,
    Teammate,
    TriggerType,
)
from paca.conversations.models.statuses import (
    ACTIVE_STATUSES,
    ENDED_STATUSES,
    UNFINISHED_STATUSES,
)
from paca.conversations.services.inbox import add_message, add_trigger
from paca.engine.helpers.kinds import first_message, reads_only
from paca.engine.helpers.requests import HelpersRequested, longest_report
from paca.engine.llm.base import COST_DIGITS
from paca.engine.tools.formatting import to_one_line
from paca.projects.models import Member

SETTLED_AT_ONCE = 100
SOURCE = "helper"
CONTINUE = "continue"


class IsHelper(Conflict):
    """This is the conversation of a helper. Write to the agent in the conversation that started it."""

    code = "conversation_is_helper"


def refuse_helper(conversation: Conversation) -> None:
    """Raises ``IsHelper`` if the conversation is that of a helper: people can only watch, decide and stop there."""
    # guard: helper-takes-no-messages
    if conversation.parent_id is not None:
        raise IsHelper


def of(parent: Conversation, call_id: str = "") -> list[Conversation]:
    """The helpers of a conversation, or of one of its calls, in the order in which they were started."""
    found = Conversation.objects.filter(parent=parent, deleted_at=None)
    if call_id:
        found = found.filter(parent_call=call_id)
    return list(found.order_by("created_at", "piece"))


# --- begin ----------------------------------------------------------------------------------------


def start(
    parent: Conversation,
    request: HelpersRequested,
    *,
    allowance: dict[str, Any] | None,
    actor: Member | None,
    hops: int,
) -> list[events.SubagentStarted]:
    """Begin a conversation for each piece of work, in the caller's transaction; gives the events for ``parent``.

    The constraint ``piece_of_work_has_one_helper`` keeps a second worker from beginning one twice. ``allowance`` is
    what all of them may use, ``actor`` the person whose turn it is, for their key, and ``hops`` those of the turn.
    """
    return [
        _start_one(parent, request, index, allowance=allowance, actor=actor, hops=hops)
        for index in range(len(request.pieces))
    ]


def _start_one(
    parent: Conversation,
    request: HelpersRequested,
    index: int,
    *,
    allowance: dict[str, Any] | None,
    actor: Member | None,
    hops: int,
) -> events.SubagentStarted:
    piece = request.pieces[index]
    # guard: helper-inherits-read-only
    read_only = reads_only(piece.kind) or parent.reads_only or bool(parent.plan_mode)
    child = Conversation.objects.create(
        project_id=parent.project_id,
        agent=parent.agent,
        trigger_type=TriggerType.HELPER,
        triggered_by=actor,
        parent=parent,
        parent_call=request.call_id,
        piece=index,
        helper_kind=piece.kind,
        allowance=allowance,
        read_only=read_only,
        tracing=parent.tracing,
        status=ConversationStatus.FINISHED,
        reason="answered",
    )
    started = events.SubagentStarted(
        call_id=request.call_id,
        subagent_id=str(child.pk),
        index=index,
        kind=piece.kind,
        task=piece.task,
        rest_approved_by=parent.rest_approved_by or "",
    )
    store.append(child.pk, started)
    child.refresh_from_db()
    message = events.MessageReceived(
        text=first_message(piece.kind, piece.task),
        author_name=parent.agent.name,
        trigger=TriggerType.HELPER.value,
    )
    add_message(
        child,
        message,
        by=parent.agent.name,
        title=to_one_line(piece.task)[:200],
        actor=actor,
        source=SOURCE,
        key=str(child.pk),
        hops=hops,
    )
    return started


def go_on(parent: Conversation) -> None:
    """Let the helpers work again that paused with the conversation, in the caller's transaction."""
    rows = Conversation.objects.select_related("agent", "triggered_by")
    paused = rows.filter(_paused_with(), parent=parent, settled_at=None)
    for child in paused.for_update():
        store.append(child.pk, events.ConversationQueued(trigger=CONTINUE))
        add_trigger(child, CONTINUE, by="", source=SOURCE, actor=child.triggered_by)


# --- ends -----------------------------------------------------------------------------------------


def settle_soon(parent_id: UUID) -> None:
    """Tell the conversation of a helper's end after the commit. The sweep does it if this process dies first."""
    transaction.on_commit(partial(_try_to_settle, parent_id))


def _try_to_settle(parent_id: UUID) -> None:
    with tolerated("end of a helper", conversation=str(parent_id)):
        settle(parent_id)


def settle_due() -> None:
    """Tell every conversation of the ends of its helpers that it does not know yet. Workers ask every second."""
    for (parent_id,) in DUE_PARENTS.rows():
        _try_to_settle(parent_id)


def _due_parents() -> QuerySet[Conversation, UUID | None]:
    over = _over() | (_paused_with() & Q(parent__status=ConversationStatus.WAITING))
    due = Conversation.objects.filter(over, parent__isnull=False, settled_at=None, deleted_at=None)
    return due.order_by().values_list("parent", flat=True).distinct()


def _over() -> Q:
    """The condition that a helper works no longer. At a limit it ends, for nobody can continue it."""
    at_limit = Q(status=ConversationStatus.PAUSED) & ~_paused_with()
    return Q(status__in=ENDED_STATUSES) | at_limit


def _paused_with() -> Q:
    """The condition that a helper was paused together with the conversation that started it."""
    return Q(status=ConversationStatus.PAUSED, reason="by_person")


DUE_PARENTS = Select(lambda: _due_parents()[:SETTLED_AT_ONCE])


@transaction.atomic
def settle(parent_id: UUID) -> None:
    """Store the ends of helpers in the log of their conversation. After the last one it goes on, if it waits."""
    rows = Conversation.objects.select_related("agent").for_update()
    parent = rows.filter(pk=parent_id, deleted_at=None).first()
    if parent is None:
        return
    open_helpers = Conversation.objects.filter(parent=parent, settled_at=None)
    ended = list(
        open_helpers.filter(_over()).order_by("piece", "pk").select_for_update(no_key=True)
    )
    if ended:
        counts = {call: _count(parent, call) for call in {each.parent_call or "" for each in ended}}
        told = [_finished(child, counts[child.parent_call or ""]) for child in ended]
        store.append(parent.pk, *told)
        keys = [child.pk for child in ended]
        # guard: helper-end-is-told-once
        Conversation.objects.filter(pk__in=keys).update(settled_at=timezone.now())
    if not parent.waits_for_helpers:
        return
    go_on(parent)
    # guard: conversation-waits-for-every-helper
    if not open_helpers.exists():
        release(parent, cause="done", by="")


def _count(parent: Conversation, call_id: str) -> int:
    return Conversation.objects.filter(parent=parent, parent_call=call_id).count()


def _finished(child: Conversation, siblings: int) -> events.SubagentFinished:
    """The event of a helper's end, with its final answer and what it has used."""
    said = _last_words(child)
    if child.status != ConversationStatus.FINISHED and child.detail:
        said = f"{child.detail}\n{said}".rstrip()
    longest = longest_report(siblings)
    used = ModelCall.objects.filter(conversation=child).aggregate(**budgets.SUMS)
    return events.SubagentFinished(
        call_id=child.parent_call or "",
        subagent_id=str(child.pk),
        index=child.piece or 0,
        kind=child.helper_kind or "",
        status=child.status,
        reason=child.reason,
        summary=said if len(said) <= longest else f"{said[:longest].rstrip()} [... cut]",
        truncated=len(said) > longest,
        usage={
            "tokens": used["tokens"],
            "cost_usd": round(used["dollars"], COST_DIGITS),
            "unpriced_calls": child.unpriced_calls,
        },
    )


def _last_words(child: Conversation) -> str:
    """The final answer of a helper, else what it said last; empty if it said nothing."""
    said = event_log.final_answer(child.pk, child.turn_number)
    return said or event_log.last_words([child.pk]).get(child.pk, "").strip()


def release(current: Conversation, *, cause: str, by: str) -> None:
    """End the wait of a locked conversation for its helpers; a worker then carries its turn on.

    ``cause`` is done, or what came first: stop, message or pause. In the caller's transaction.
    """
    waiting = Event.objects.filter(
        conversation=current.pk, type=events.ConversationWaiting.type
    ).order_by("-seq")
    since = waiting.values_list("at", flat=True).first() or timezone.now()
    call_id = next(iter(_call_ids(current)), "")
    seconds = round(max(0.0, (timezone.now() - since).total_seconds()), 3)
    store.append(
        current.pk, events.SubagentsReleased(call_id=call_id, cause=cause, by=by, seconds=seconds)
    )
    facts = {
        "type": "agent.helpers",
        "conversation_id": str(current.pk),
        "agent_id": str(current.agent_id),
        "project_id": str(current.project_id),
    }
    transaction.on_commit(lambda: get_bus().wake(current.pk, facts))


def _call_ids(parent: Conversation) -> Sequence[str]:
    """The call whose helpers were started last."""
    found = Conversation.objects.filter(parent=parent, trigger_type=TriggerType.HELPER)
    found = found.order_by("-created_at")
    return [call_id or "" for call_id in found.values_list("parent_call", flat=True)[:1]]


def unfinished(parent: Conversation) -> list[Conversation]:
    """The helpers that still work, wait or are paused, locked."""
    rows = Conversation.objects.select_related("agent").for_update()
    return list(rows.filter(parent=parent, status__in=UNFINISHED_STATUSES, deleted_at=None))


def living(parent: Conversation) -> list[Conversation]:
    """Those of ``unfinished`` and the teammates that are idle: a message wakes them. Locked."""
    team = Teammate.objects.live().filter(conversation=OuterRef("pk")).order_by()
    # guard: what-holds-for-a-team-reaches-its-idle-members
    lives = Q(status__in=UNFINISHED_STATUSES) | Q(Exists(team))
    rows = Conversation.objects.select_related("agent").for_update()
    return list(rows.filter(lives, parent=parent, deleted_at=None))


def are_at_work(parent: Conversation) -> bool:
    """Whether a helper or teammate works, or waits for its turn to begin."""
    busy = (ConversationStatus.QUEUED, *ACTIVE_STATUSES)
    return Conversation.objects.filter(parent=parent, status__in=busy, deleted_at=None).exists()
