"""Pauses of running conversations. A pause of a lead holds for its team until the lead goes on."""

from __future__ import annotations

from paca.conversations.models import (
    ControlCommand,
    Conversation,
    ConversationStatus,
    Trigger,
    TriggerType,
)
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.conversations.services import helpers
from paca.conversations.services.inbox import add_trigger, take_back_pauses
from paca.projects.models import Member


def add(current: Conversation, kind: str, *, by: str, actor: Member | None = None) -> None:
    """Let a locked conversation that is active end its step and pause, with its team, and its helpers if it waits for them.

    Those that wait for a worker do not begin, see ``claim_queries``; nor do idle teammates. Its team goes on with it,
    see ``teams.settling``. ``kind`` is the cause, and ``by`` the name of a person.
    """
    waited = current.waits_for_helpers
    if waited:
        helpers.release(current, cause="pause", by=by)
    at_work = [each for each in helpers.unfinished(current) if each.status in ACTIVE_STATUSES]
    # guard: pause-of-a-lead-reaches-its-team
    paused = [each for each in at_work if waited or each.trigger_type == TriggerType.TEAMMATE]
    for each in (current, *paused):
        add_trigger(each, kind, by=by, control=ControlCommand.PAUSE, actor=actor)


def is_due(conversation: Conversation) -> bool:
    """Whether a pause waits for the running step to end."""
    return Trigger.objects.new_pauses().filter(conversation=conversation).exists()


def follow_lead(lead: Conversation, pause: Trigger) -> None:
    """Let the team do what its locked lead did when the turn ended that was given this pause.

    If the lead has paused, a teammate pauses too that began when the pause was given. If it goes on or has answered,
    so does the team.
    """
    # guard: pause-of-a-lead-that-has-answered-is-over
    if lead.status != ConversationStatus.PAUSED:
        take_back_pauses(lead)
        return
    for mate in helpers.unfinished(lead):
        begun = mate.trigger_type == TriggerType.TEAMMATE and mate.status in ACTIVE_STATUSES
        # guard: pause-of-a-lead-reaches-who-began-meanwhile
        if begun and not is_due(mate):
            add_trigger(
                mate, pause.kind, by=pause.by, control=ControlCommand.PAUSE, actor=pause.actor
            )
