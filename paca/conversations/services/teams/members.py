"""The teammates of a lead: how they begin and end, and what the lead reads of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from paca import events
from paca.common.errors import Conflict
from paca.conversations import budgets, store, team_budgets
from paca.conversations.models import (
    Conversation,
    ConversationStatus,
    ModelCall,
    Teammate,
    TeamRequest,
    TeamRequestState,
    TriggerType,
)
from paca.conversations.services.teams import board, messages, texts
from paca.engine.llm.base import COST_DIGITS
from paca.engine.teams import requests
from paca.projects.models import Member


def spawn(
    lead: Conversation,
    wanted: requests.Spawn,
    *,
    allowance: dict[str, Any] | None,
    actor: Member | None,
) -> Teammate:
    """Begin the conversation of a teammate. The caller has locked the project and then the ``lead``.

    ``allowance`` is what the teammates that one turn of the lead spawns may use together, and as ``conversation`` what
    the lead and all of its team may. ``actor`` is the person whose turn it is, for their key. Raises ``Conflict`` if
    the team is full, or the name is taken.
    """
    place = _free_place(lead, wanted.name)
    # guard: teammate-inherits-read-only
    bound = lead.reads_only
    # guard: teammate-plans-before-it-works
    read_only = bound or wanted.plan_first
    child = Conversation.objects.create(
        project_id=lead.project_id,
        agent=lead.agent,
        trigger_type=TriggerType.TEAMMATE,
        triggered_by=actor,
        parent=lead,
        parent_call=f"{budgets.SPAWNED_IN_TURN}{lead.turn_number}",
        piece=Teammate.objects.filter(lead=lead).count(),
        allowance=team_budgets.allowance_of(allowance, lead.pk),
        read_only=read_only,
        tracing=lead.tracing,
        status=ConversationStatus.FINISHED,
        reason="answered",
        title=wanted.name,
        # Its ends are told by ``settling``, one after each turn, and not as those of helpers.
        settled_at=timezone.now(),
    )
    mate = Teammate.objects.create(
        lead=lead,
        conversation=child,
        name=wanted.name,
        role=wanted.role,
        place=place,
        plans_first=wanted.plan_first,
    )
    begins = events.TeammateChanged(
        name=mate.name,
        role=mate.role,
        state="working",
        conversation_id=str(child.pk),
        rest_approved_by=lead.rest_approved_by or "",
    )
    # It ends with that of the lead.
    # guard: teammate-inherits-plan-mode
    plan = [events.FlagsChanged(plan=True)] if lead.plan_mode else []
    store.append(child.pk, begins, *plan)
    work = texts.beginning(mate.name, mate.role, wanted.work, plans_first=mate.plans_first)
    messages.wake_teammate(mate, work, sender=requests.LEAD)
    return mate


def _free_place(lead: Conversation, name: str) -> int:
    """The first place that no teammate has. Raises ``Conflict``."""
    known = Teammate.objects.filter(lead=lead)
    if known.filter(name=name).exists():
        raise Conflict(f"This team has or had a {name} already. Choose another name.")
    # guard: teammates-ever-are-capped
    if known.count() >= requests.MAX_EVER:
        raise Conflict(
            f"Not started: one conversation spawns at most {requests.MAX_EVER} teammates."
        )
    taken = set(known.live().values_list("place", flat=True))
    # guard: team-is-capped
    free = [n for n in range(1, requests.MAX_TEAMMATES + 1) if n not in taken]
    if not free:
        raise Conflict(
            f"Not started: a team has at most {requests.MAX_TEAMMATES} teammates. Give the work to one"
            " of them, or shut one down first."
        )
    return free[0]


def named(lead: Conversation, name: str) -> Teammate:
    """The teammate of this name that has not ended. Raises ``Conflict``."""
    found = Teammate.objects.live().select_related("conversation").filter(lead=lead)
    mate = found.filter(name=name).first()
    if mate is None:
        known = ", ".join(each.name for each in found) or "none"
        raise Conflict(f"No teammate {name} works in your team. There are: {known}.")
    return mate


def end(mate: Teammate, *, why: str, detail: str = "", now: datetime) -> None:
    """End a teammate, in the caller's transaction: its tasks and open requests end with it."""
    board.close(mate, now=now)
    resolve_open(mate, now=now)
    if Teammate.objects.live().filter(pk=mate.pk).update(ended_at=now, end_reason=why):
        messages.tell(mate, "ended", why=why, detail=detail, usage=take_usage(mate))


def resolve_open(mate: Teammate, *, now: datetime) -> None:
    """Resolve the open requests of a teammate that ends."""
    for request in TeamRequest.objects.filter(teammate=mate, state=TeamRequestState.OPEN):
        state = TeamRequestState.ENDED
        TeamRequest.objects.filter(pk=request.pk).update(state=state, resolved_at=now)
        resolved = events.ProtocolResolved(
            request_id=str(request.pk), kind=request.kind, teammate=mate.name, decision=state.value
        )
        store.append(mate.lead_id, resolved)


def take_usage(mate: Teammate) -> dict[str, Any]:
    """What the teammate has used since this was asked last, which counts for the budget of the lead."""
    used = ModelCall.objects.filter(conversation=mate.conversation_id).aggregate(**budgets.SUMS)
    tokens, dollars = used["tokens"], used["dollars"]
    delta = {
        "tokens": tokens - mate.told_tokens,
        "cost_usd": round(dollars - mate.told_usd, COST_DIGITS),
    }
    mate.told_tokens, mate.told_usd = tokens, dollars
    mate.save(update_fields=["told_tokens", "told_usd", "updated_at"])
    return delta


def listing(lead: Conversation) -> str:
    """The team and its plan as a model reads them."""
    mates = Teammate.objects.filter(lead=lead).select_related("conversation")
    lines = [_line(mate) for mate in mates] or ["No teammates yet."]
    plan = [
        f"- {each['task']} [{' by '.join(filter(None, (each['state'], each['teammate'])))}] {each['title']}"
        for each in board.facts(lead)
    ]
    return "\n".join([*lines, *(["Plan:", *plan] if plan else [])])


def _line(mate: Teammate) -> str:
    why = f", {mate.end_reason}" if mate.end_reason else ""
    return f"- {mate.name} [{mate.state}{why}] {mate.role}"
