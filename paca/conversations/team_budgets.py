"""The budget that a lead and its team use together: the lead's own, of which each teammate has what is left.

The limits of teammates stand in their column ``allowance``, as what all of them may have used in the end. A lead counts
the rows of its team besides its own log.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Sum

from paca.conversations import budgets, store
from paca.conversations.models import Conversation, ModelCall, Teammate
from paca.conversations.store import Lease
from paca.engine.budgets import NOTHING, Amounts


def of_team(lead_id: UUID) -> tuple[Amounts | None, Amounts]:
    """What the team of a lead has used in all, None if it has no team; and what of it the lead's log does not tell yet."""
    told = Teammate.objects.filter(lead=lead_id).aggregate(
        count=Count("pk"),
        tokens=Sum("told_tokens", default=0),
        dollars=Sum("told_usd", default=0.0),
    )
    if not told["count"]:
        return None, NOTHING
    used = budgets.used_by_teammates(lead_id)
    untold = used - Amounts(told["tokens"], told["dollars"])
    return used, Amounts(max(0, untold.tokens), max(0.0, untold.cost_usd))


def allowance_of(left: dict[str, Any] | None, lead_id: UUID) -> dict[str, Any] | None:
    """The column ``allowance`` of a teammate that begins now. ``left`` is what ``left_for_team`` tells of its lead."""
    of_conversation = (left or {}).get("conversation")
    if left is None or of_conversation is None:
        return left
    # As ``left`` counts the team: what it has used since then is used of what is left.
    # guard: spawn-counts-the-team-as-its-lead-does
    used = _used_by_lead(lead_id) + Amounts(**left["team_used"])
    team = _add(used, of_conversation)
    return {"tokens": left["tokens"], "cost_usd": left["cost_usd"], "team": team}


def allowance_of_helpers(left: dict[str, Any] | None, lead_id: UUID) -> dict[str, Any] | None:
    """The column ``allowance`` of helpers that begin now. ``left`` is what ``left_for_helpers`` tells.

    The turn waits for them, so what its team uses meanwhile comes out of all that is left to the turn.
    """
    if left is None or "team_used" not in left:
        return left
    used = _used_by_lead(lead_id) + Amounts(**left["team_used"])
    return {"tokens": left["tokens"], "cost_usd": left["cost_usd"], "team": _add(used, left)}


@transaction.atomic
def renew(lease: Lease, left: dict[str, Any] | None) -> None:
    """Let the teammates of a lead use what it has ``left`` in a turn that has a used up budget again.

    Raises ``Fenced`` if the lease is lost: what was left may be used by then.
    """
    # guard: new-portion-is-given-under-the-lease
    store.require_lease(lease)
    lead_id = lease.conversation_id
    team = Teammate.objects.live().filter(lead=lead_id)
    mates = Conversation.objects.filter(pk__in=team.values("conversation"))
    new = allowance_of(left, lead_id)
    for mate in mates.for_update():
        family = budgets.family_of(mate)
        if new is not None and family is not None:
            used = budgets.used_by_family(family)
            new = {**new, **_add(used, left or {})}
        Conversation.objects.filter(pk=mate.pk).update(allowance=new)


def _add(used: Amounts, left: dict[str, Any]) -> dict[str, Any]:
    tokens, dollars = left["tokens"], left["cost_usd"]
    return {
        "tokens": None if tokens is None else used.tokens + tokens,
        "cost_usd": None if dollars is None else used.cost_usd + dollars,
    }


def _used_by_lead(lead_id: UUID) -> Amounts:
    """What a lead has used with its helpers, without its team."""
    calls = ModelCall.objects.all()
    helpers = calls.filter(conversation__parent=lead_id, conversation__teammate=None)
    return budgets.total(calls.filter(conversation=lead_id)) + budgets.total(helpers)
