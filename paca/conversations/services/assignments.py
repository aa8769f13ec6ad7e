"""Services that start an agent on a task or doc, or continue its conversation there."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID, uuid4

from django.db import transaction

from paca import events
from paca.agents.models import Agent
from paca.conversations.models import COMMENTED_TYPES, Conversation, ConversationStatus, TriggerType
from paca.conversations.services import plans, trigger_texts
from paca.conversations.services.inbox import add_message, is_busy, record_start
from paca.conversations.services.messages import MAX_TITLE_CHARACTERS
from paca.projects.models import Comment, Doc, Member, Task


@dataclass(frozen=True, slots=True)
class Cause:
    """An assignment or a mention. ``by`` is None for the system; ``text`` is the comment, or what a program adds to the assignment.

    ``key`` can be used once for each ``source``. ``hops`` is as in ``Trigger``.
    """

    kind: TriggerType
    by: Member | None
    comment: Comment | None = None
    text: str = ""
    source: str = "project"
    key: str = ""
    hops: int = 0


@transaction.atomic
def begin_or_continue(
    agent: Agent, subject: Task | Doc, cause: Cause, *, conversation_id: UUID | None = None
) -> Conversation:
    """Give the cause to the agent's conversation on the task or doc; the first cause begins it.

    An assignment of an agent without ``auto_start`` waits there until a person starts it.

    The lock on the agent's row puts two causes in order, so that they make one conversation. A new
    conversation gets ``conversation_id``, or a new id.
    """
    lock_agent(agent)
    current = find(agent, subject)
    is_first = current is None
    if current is None:
        current = create(
            agent,
            cause.kind,
            by=cause.by,
            subject=subject,
            comment=cause.comment,
            conversation_id=conversation_id,
        )
    # guard: assignment-waits-for-a-start
    held = cause.kind is TriggerType.TASK_ASSIGNED and not agent.auto_start
    if not is_busy(current) and not held:
        record_start(current)
    add_message(
        current,
        _message(subject, cause, is_first=is_first),
        by=cause.by.name if cause.by else "",
        title=trigger_texts.title_of(subject)[:MAX_TITLE_CHARACTERS],
        actor=cause.by,
        source=cause.source,
        key=cause.key,
        comment=cause.comment,
        hops=cause.hops,
        held=held,
    )
    return current


def _message(subject: Task | Doc, cause: Cause, *, is_first: bool) -> events.MessageReceived:
    if cause.kind is TriggerType.TASK_ASSIGNED:
        assert isinstance(subject, Task)
        text = trigger_texts.assignment(subject, by=cause.by, text=cause.text)
    else:
        text = trigger_texts.mention(
            subject, text=cause.text, by=cause.by, comment=cause.comment, is_first=is_first
        )
    return message_of(text, cause.kind, by=cause.by, comment=cause.comment)


def message_of(
    text: str, kind: TriggerType, *, by: Member | None, comment: Comment | None = None
) -> events.MessageReceived:
    """The event of a message that a trigger of this kind gives to an agent."""
    return events.MessageReceived(
        text=text,
        author_id=str(by.pk) if by else "",
        author_name=by.name if by else "",
        trigger=kind.value,
        comment_id=str(comment.pk) if comment else "",
    )


def lock_agent(agent: Agent) -> None:
    """Lock the agent's row until the commit. Everybody locks it after the project and before conversations."""
    Agent.objects.select_for_update(no_key=True).only("pk").get(pk=agent.pk)


def find(agent: Agent, subject: Task | Doc) -> Conversation | None:
    """The conversation of the agent for assignments and mentions on the task or doc, locked."""
    about = {"task": subject} if isinstance(subject, Task) else {"doc": subject}
    rows = Conversation.objects.select_related("agent").for_update()
    return rows.filter(
        agent=agent, trigger_type__in=COMMENTED_TYPES, deleted_at=None, **about
    ).first()


def create(
    agent: Agent,
    kind: TriggerType,
    *,
    by: Member | None,
    subject: Task | Doc | None = None,
    comment: Comment | None = None,
    conversation_id: UUID | None = None,
    plan: bool | None = None,
) -> Conversation:
    """An empty conversation, which its first message queues.

    ``plan``: whether it begins in plan mode; None for the setting of the agent.
    """
    made = Conversation.objects.create(
        id=conversation_id or uuid4(),
        project_id=agent.project_id,
        agent=agent,
        trigger_type=kind,
        task=subject if isinstance(subject, Task) else None,
        doc=subject if isinstance(subject, Doc) else None,
        comment=comment,
        triggered_by=by,
        status=ConversationStatus.FINISHED,
        reason="answered",
    )
    plans.begin(made, agent, on=plan, by=by.name if by else "")
    return made
