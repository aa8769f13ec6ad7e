"""Adds triggers to the inbox of a conversation."""

from __future__ import annotations

from typing import Any, Protocol
from uuid import UUID

from django.conf import settings
from django.db import transaction

from paca import events
from paca.agents.models import Agent
from paca.bus import get_bus
from paca.common import disk_space
from paca.common.errors import Conflict
from paca.conversations import store
from paca.conversations.models import (
    ControlCommand,
    Conversation,
    ConversationStatus,
    Trigger,
    TriggerState,
)
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.conversations.services import waits
from paca.conversations.services.skill_loading import skill_events
from paca.projects.models import ActivityKind, Comment, Doc, Member, Task
from paca.projects.services import timeline

REVIEW = "pull_request_review"  # the kind of the trigger that a review on a git server is
# A person, a limit or a budget has ended the work: only a person starts it again.
STOPPED_SHORT = (ConversationStatus.STOPPED, ConversationStatus.PAUSED)


class AgentUnavailable(Conflict):
    """This agent takes no work now."""

    code = "agent_unavailable"


class HasName(Protocol):
    """The author of a lifecycle command: a member, an administrator or another program."""

    @property
    def name(self) -> str: ...


def check_agent_available(agent: Agent) -> None:
    """Raises ``AgentUnavailable`` if the agent is retired or inactive, ``DiskFull`` if the disk is full."""
    disk_space.require_space(settings.PACA_DATA_DIR)
    if agent.deleted_at is not None:
        raise AgentUnavailable(f"{agent.name} is retired and takes no new work.")
    if agent.status == Agent.Status.INACTIVE:
        raise AgentUnavailable(f"{agent.name} is inactive. Set it to active to give it work.")


class SubjectDeleted(Conflict):
    """The task or doc of this conversation is deleted. Restore it to go on."""

    code = "subject_deleted"


def check_subject(current: Conversation) -> None:
    """Raises ``SubjectDeleted`` if the task or doc that the conversation is about is deleted."""
    for model, pk in ((Task, current.task_id), (Doc, current.doc_id)):
        if pk is not None and model.objects.filter(pk=pk, deleted_at__isnull=False).exists():
            raise SubjectDeleted


def lock(conversation: Conversation) -> Conversation:
    """Lock the conversation's row until the transaction ends, and read it with its agent."""
    return Conversation.objects.select_related("agent").for_update().get(pk=conversation.pk)


def add_message(
    current: Conversation,
    message: events.MessageReceived,
    *,
    by: str,
    title: str = "",
    actor: Member | None = None,
    control: ControlCommand = ControlCommand.NONE,
    held: bool = False,
    **trigger: Any,
) -> int:
    """Store a message and its trigger in a locked conversation; gives the number of the event.

    Skills whose keywords the text has are opened. A conversation that neither runs nor waits is queued, ``held`` until
    a person starts it. A message that is not ``held`` starts it, and ends a wait for a person. A conversation without a
    title gets ``title``.
    ``trigger`` and the rest are as in ``add_trigger``.
    """
    new_events: list[events.Event] = [message, *skill_events(current, message.text)]
    if current.waits_for_person and not held:
        waits.supersede(current, cause="message", by=by)
    if title and not current.title:
        new_events.append(events.TitleChanged(title=title))
    if not is_busy(current):
        if current.status == ConversationStatus.PAUSED and not held:
            take_back_pauses(current)
        new_events.append(events.ConversationQueued(trigger=message.trigger, by=by, held=held))
    elif not held:
        new_events += start_held(current, message.trigger, by=by)
    stored = store.append(current.id, *new_events)
    add_trigger(
        current,
        message.trigger,
        by=by,
        event_seq=stored.first_seq,
        control=control,
        actor=actor,
        **trigger,
    )
    return stored.first_seq


def start_held(current: Conversation, trigger: str, *, by: str) -> list[events.Event]:
    """The event that lets workers begin the work, if it waits for a start; the timeline of its task tells it.

    ``current`` is locked, and the caller stores the event.
    """
    if not current.waits_for_start:
        return []
    record_start(current)
    return [events.ConversationQueued(trigger=trigger, by=by)]


def record_start(current: Conversation) -> None:
    """Say on the timeline of the task or doc that the agent starts, with the conversation."""
    subject = current.subject
    if subject is not None:
        kind = ActivityKind.AGENT_SESSION_STARTED
        timeline.record(subject, kind, actor=current.agent.member, conversation_id=current.pk)


def is_busy(current: Conversation) -> bool:
    """Whether a turn runs, or the conversation waits for one."""
    return current.status in (*ACTIVE_STATUSES, ConversationStatus.QUEUED)


def add_trigger(
    current: Conversation,
    kind: str,
    *,
    by: str,
    source: str = "api",
    key: str = "",
    event_seq: int | None = None,
    control: ControlCommand = ControlCommand.NONE,
    actor: Member | None = None,
    comment: Comment | None = None,
    hops: int = 0,
) -> None:
    """Add a trigger to the inbox of a locked conversation, and wake the workers after the commit.

    ``kind`` is its cause, such as ``chat_message``. ``control`` makes it a control command. ``by`` is
    the name of its author, and ``actor`` the author's member, if there is one. ``event_seq`` is the
    event of the message; a command gets the last event before it. ``comment`` and ``hops`` are as in
    ``Trigger``. A ``key`` can be used once for each ``source`` and ``kind``; raises ``IntegrityError`` if
    it is used again.
    """
    trigger = Trigger.objects.create(
        conversation=current,
        kind=kind,
        control=control,
        source=source,
        idempotency_key=key,
        by=by,
        actor=actor,
        event_seq=current.last_seq if event_seq is None else event_seq,
        comment=comment,
        hops=hops,
    )
    _wake_on_commit(current, trigger, actor)


def _wake_on_commit(current: Conversation, trigger: Trigger, actor: Member | None = None) -> None:
    facts = _stream_facts(current, trigger.control or trigger.kind, actor)

    def wake_workers() -> None:
        get_bus().wake(trigger.id, facts)
        if current.status in ACTIVE_STATUSES:
            get_bus().signal(current.id)

    transaction.on_commit(wake_workers)


def _stream_facts(current: Conversation, kind: str, actor: Member | None) -> dict[str, str]:
    """The facts of a trigger on the stream. The text of a message is in the log only."""
    facts = {
        "type": f"agent.{kind}",
        "trigger_type": current.trigger_type,
        "conversation_id": str(current.pk),
        "agent_id": str(current.agent_id),
        "project_id": str(current.project_id),
    }
    for name, value in (
        ("chat_session_id", current.session_id),
        ("task_id", current.task_id),
        ("doc_id", current.doc_id),
        ("comment_id", current.comment_id),
    ):
        if value is not None:
            facts[name] = str(value)
    if actor is not None:
        facts["actor_member_id"] = str(actor.pk)
    return facts


def queue_for_waiting_messages(conversation_id: UUID) -> None:
    """Queue an ended or paused conversation for the messages that no turn has taken up."""
    current = Conversation.objects.get(pk=conversation_id)
    waiting = Trigger.objects.filter(conversation=current, state=TriggerState.NEW)
    oldest = waiting.order_by("event_seq")[0]
    # guard: review-restarts-no-turn-that-has-stopped
    held = current.status in STOPPED_SHORT and not waiting.exclude(kind=REVIEW).exists()
    store.append(
        current.id, events.ConversationQueued(trigger=oldest.kind, by=oldest.by, held=held)
    )
    _wake_on_commit(current, oldest)


def take_back_pauses(lead: Conversation) -> None:
    """Let the helpers and teammates of a locked conversation work on that have not obeyed its pause: it goes on itself.

    While its agent is paused they pause nevertheless.
    """
    children = Conversation.objects.filter(parent=lead).values("pk")
    # guard: pause-of-an-agent-outlives-a-resume-of-its-lead
    if lead.agent.status == Agent.Status.ACTIVE:
        Trigger.objects.new_pauses().filter(conversation__in=children).move(TriggerState.DONE)


def discard_new_triggers(current: Conversation) -> None:
    """Mark every trigger that no turn has claimed as done."""
    Trigger.objects.filter(conversation=current, state=TriggerState.NEW).move(TriggerState.DONE)
