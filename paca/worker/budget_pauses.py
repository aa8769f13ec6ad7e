"""What people read about a turn that a budget has ended: who can raise it."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from paca.conversations import budgets
from paca.conversations.models import Conversation
from paca.engine.budgets import POOLED
from paca.engine.turn import TurnOutcome

PLACES = {
    "family": "in the settings of the agent",
    "team": "in the settings of the agent",
    "agent_day": "in the settings of the agent",
    "project_month": "in the settings of the project",
}


def name_people(conversation_id: UUID, outcome: TurnOutcome) -> TurnOutcome:
    """The outcome with the names of those who can raise the budget that has ended the turn, if one has."""
    if not outcome.budget:
        return outcome
    project_id = Conversation.objects.values_list("project_id", flat=True).get(pk=conversation_id)
    names = tuple(budgets.who_can_raise(project_id, outcome.budget))
    detail = outcome.detail
    if outcome.budget in POOLED:
        people = " or ".join(names) or "A member with the permission"
        detail = f"{detail} {people} can raise it {PLACES[outcome.budget]}."
    return replace(outcome, raised_by=names, detail=detail)
