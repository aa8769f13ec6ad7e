"""Pauses and stops of turns because the status of their agent changes, and what goes on when it is active again."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from paca.agents.models import Agent, AgentStatus
from paca.common.best_effort import tolerated
from paca.conversations.models import (
    ControlCommand,
    Conversation,
    ConversationStatus,
    StopReason,
    Trigger,
    TriggerState,
    TriggerType,
)
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.conversations.services import background, lifecycle, pauses
from paca.conversations.services.inbox import HasName, add_trigger
from paca.projects.models import Member

# The kind of the pause that a conversation gets from a change of its agent's status.
PAUSED_BY_STATUS = "agent_paused"


@transaction.atomic
def end_turns(agent: Agent, status: str, *, by: HasName | None) -> None:
    """Pause the active conversations, or stop them and the queued ones. The caller has locked the agent."""
    name = by.name if by else ""
    if status == AgentStatus.INACTIVE:
        lifecycle.stop_agent_conversations(
            agent.pk, by=name, reason=StopReason.AGENT_INACTIVE, keep_paused=True
        )
        # What conversations that have ended or paused have started runs on else.
        # guard: inactive-agent-runs-nothing-on
        background.stop_all_of(agent.pk, by=name)
        return
    active = Conversation.objects.filter(agent=agent, status__in=ACTIVE_STATUSES, deleted_at=None)
    for conversation in active.top_level().for_update():
        # What a person pauses at the same time does not go on with the agent.
        # guard: pause-of-a-person-stays
        if pauses.is_due(conversation):
            continue
        pauses.add(conversation, PAUSED_BY_STATUS, by=name)
    # Of a lead that has answered, and works no more itself.
    # guard: pause-of-an-agent-reaches-its-teams
    for mate in active.filter(trigger_type=TriggerType.TEAMMATE).for_update():
        if not pauses.is_due(mate):
            add_trigger(mate, PAUSED_BY_STATUS, by=name, control=ControlCommand.PAUSE)


@transaction.atomic
def go_on(agent: Agent, *, by: HasName | None) -> None:
    """Queue the conversations that a change of the status has paused, and no person since.

    A pause that no turn has obeyed yet is taken back. The caller has locked the agent.
    """
    # Running ones are locked too: a turn that ends now is either read as paused here, or reads that its agent is
    # active, see ``go_on_after_turn``.
    statuses = (*ACTIVE_STATUSES, ConversationStatus.PAUSED)
    rows = Conversation.objects.filter(agent=agent, status__in=statuses, deleted_at=None)
    found = list(rows.top_level().select_related("agent").for_update())
    unread = Trigger.objects.filter(
        conversation__agent=agent, kind=PAUSED_BY_STATUS, state=TriggerState.NEW
    )
    unread.move(TriggerState.DONE)
    for conversation in found:
        if conversation.status == ConversationStatus.PAUSED:
            _resume(conversation, by=by or agent)


@transaction.atomic
def go_on_after_turn(conversation_id: UUID) -> None:
    """Queue a conversation that its turn has just paused because of a status which its agent has no more."""
    conversation = Conversation.objects.select_related("agent").get(pk=conversation_id)
    if conversation.agent.status == AgentStatus.ACTIVE and conversation.parent_id is None:
        _resume(conversation, by=conversation.agent)


def _resume(conversation: Conversation, *, by: HasName) -> None:
    if conversation.reason != "by_person":
        return
    given = Trigger.objects.filter(conversation=conversation, control=ControlCommand.PAUSE)
    newest = given.order_by("-created_at").values_list("kind", flat=True).first()
    if newest == PAUSED_BY_STATUS:
        with tolerated("a conversation goes on with its agent"), transaction.atomic():
            lifecycle.requeue(conversation, by=by, actor=_beginner_of(conversation))


def _beginner_of(conversation: Conversation) -> Member | None:
    """The member who alone has begun the turn that was paused."""
    answered = Trigger.objects.of_turn(conversation).order_by()
    actors = list(answered.values_list("actor", flat=True).distinct()[:2])
    return Member.objects.filter(pk=actors[0]).first() if len(actors) == 1 else None
