"""Receivers of the signals of ``paca/projects/signals.py``."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.db import transaction
from django.dispatch import receiver

from paca.agents.models import Agent
from paca.bus import get_bus
from paca.bus.base import project_topic
from paca.conversations import selectors, services
from paca.conversations.models import PendingKind, StopReason
from paca.conversations.services import agent_pauses, check_ins, delivery, memory, model_calls
from paca.engine.llm.base import Usage
from paca.projects.models import Comment, Member, Project, Task
from paca.projects.signals import (
    agent_states_asked,
    agent_status_changed,
    member_mentioned,
    members_changed,
    model_call_ended,
    model_call_started,
    project_changed,
    task_assigned,
    task_unassigned,
    time_zone_changed,
)


@receiver(members_changed)
def on_members_changed(member: Member, change: str, by: Any, **_: Any) -> None:
    """Stop the conversations of a removed agent, delete its memory, and tell open pages to check their permission again."""
    if change == "removed" and member.agent_id is not None:
        memory.forget_agent(member.agent_id)
        is_deleted = member.project.deleted_at is not None
        services.stop_agent_conversations(
            member.agent_id,
            by=getattr(by, "name", "") or str(by or ""),
            reason=StopReason.PROJECT_DELETED if is_deleted else StopReason.AGENT_REMOVED,
        )
    if member.project.deleted_at is not None:
        memory.forget_project(member.project_id)
    _tell_pages(member.project_id, "member", member.pk)


@receiver(project_changed)
def on_project_changed(
    project_id: UUID,
    noun: str,
    id: Any,  # the frame's
    facts: dict[str, Any] | None = None,
    **_: Any,
) -> None:
    """Tell open pages of the project that something changed which they may show."""
    _tell_pages(project_id, noun, id, **(facts or {}))


@receiver(task_assigned)
def on_task_assigned(task: Task, member: Member, by: Member | None, **_: Any) -> None:
    """Let an agent start on the task that it was assigned. An agent that takes a task itself is at it."""
    if member.agent is not None and not _is_same(member, by):
        delivery.request(PendingKind.TASK_ASSIGNED, member.agent, task, by=by)


@receiver(task_unassigned)
def on_task_unassigned(task: Task, member: Member, by: Member | None, **_: Any) -> None:
    """Stop the work of an agent on a task that it was unassigned from. One that leaves a task itself ends its turn."""
    if member.agent is not None and not _is_same(member, by):
        delivery.request(PendingKind.TASK_UNASSIGNED, member.agent, task, by=by)


@receiver(member_mentioned)
def on_member_mentioned(comment: Comment, member: Member, by: Member | None, **_: Any) -> None:
    """Let an agent answer the comment that mentions it. One that mentions itself would never end."""
    subject = comment.task or comment.doc
    if member.agent is not None and subject is not None and not _is_same(member, by):
        delivery.request(PendingKind.COMMENT_MENTION, member.agent, subject, by=by, comment=comment)


def _is_same(member: Member, by: Member | None) -> bool:
    return by is not None and by.pk == member.pk


@receiver(agent_status_changed)
def on_agent_status_changed(agent: Agent, by: Any, **_: Any) -> None:
    """Let an agent that is active again go on with what its pause has paused, whichever way it was set to active."""
    # guard: active-agent-goes-on
    if agent.status == Agent.Status.ACTIVE:
        agent_pauses.go_on(agent, by=by if isinstance(by, Member) or by is None else by.actor)


@receiver(agent_states_asked)
def on_agent_states_asked(task_ids: Collection[UUID], **_: Any) -> dict[UUID, dict[str, Any]]:
    """The states of the agents that work on these tasks, by task, in one query."""
    return selectors.agent_states(task_ids)


@receiver(model_call_started)
def on_model_call_started(
    call_id: UUID,
    agent: Agent,
    purpose: str,
    asked: model_calls.AskedModel | None = None,
    key_source: str = "",
    **_: Any,
) -> None:
    """Store the row of a model call outside a conversation."""
    model_calls.begin(call_id, agent=agent, purpose=purpose, asked=asked, key_source=key_source)


@receiver(model_call_ended)
def on_model_call_ended(
    call_id: UUID,
    agent: Agent,
    usage: Usage | None,
    failed: bool,
    asked: model_calls.AskedModel | None = None,
    **_: Any,
) -> None:
    """Store what the call took."""
    model_calls.end(call_id, agent=agent, usage=usage, failed=failed, asked=asked)


@receiver(time_zone_changed)
def on_time_zone_changed(project: Project, **_: Any) -> None:
    """Plan the check-ins anew whose hours are meant in the project's time zone."""
    check_ins.reschedule(project)


def _tell_pages(project_id: UUID, noun: str, key: Any, **facts: Any) -> None:
    frame = {"type": f"{noun}.changed", "id": str(key), "version": 0, **facts}
    topic = project_topic(project_id)
    transaction.on_commit(lambda: get_bus().live(topic, frame))
