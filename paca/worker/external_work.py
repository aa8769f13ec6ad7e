"""Assignments, mentions and requests for descriptions that other programs put on the bus.

Each acts on behalf of a person, with the permissions that the same act needs on a page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from uuid import UUID

from paca.agents.models import Agent
from paca.conversations.models import Conversation, Trigger, TriggerType
from paca.conversations.services import assignments, instructions
from paca.conversations.services.assignments import Cause
from paca.conversations.services.inbox import check_agent_available
from paca.conversations.services.messages import check_text
from paca.projects.models import Doc, Task
from paca.worker.external_fields import (
    SOURCE,
    TriggerRefused,
    find_agent,
    find_person,
    find_subject,
    find_task,
    uuid_in,
)


def _take_assignment(fields: Mapping[str, str]) -> UUID:
    """Start the agent on the task. The assignees of the task stay as they are."""
    agent = find_agent(fields)
    task = find_task(agent, fields)
    by = find_person(agent.project_id, uuid_in(fields, "actor_member_id"), "tasks:write")
    if text := fields.get("message", ""):
        check_text(text)
    return _begin_or_continue(agent, task, fields, Cause(TriggerType.TASK_ASSIGNED, by, text=text))


def _take_mention(fields: Mapping[str, str]) -> UUID:
    """Let the agent answer a comment. Without ``message`` its text is that of ``comment_id``."""
    agent = find_agent(fields)
    subject, comment = find_subject(agent, fields)
    needed = "tasks:write" if isinstance(subject, Task) else "docs:write"
    by = find_person(agent.project_id, uuid_in(fields, "actor_member_id"), needed)
    text = fields.get("message") or (comment.text if comment else "")
    check_text(text)
    cause = Cause(TriggerType.COMMENT_MENTION, by, comment=comment, text=text)
    return _begin_or_continue(agent, subject, fields, cause)


def _take_description_request(fields: Mapping[str, str]) -> UUID:
    """Let the agent write the description of the task, in a conversation of its own."""
    agent = find_agent(fields)
    task = find_task(agent, fields)
    actor = uuid_in(fields, "actor_member_id")
    by = find_person(agent.project_id, actor, "tasks:write", "conversations:write")
    conversation_id = uuid_in(fields, "conversation_id")
    if (earlier := _find_earlier(agent, conversation_id)) is not None:
        return earlier
    return instructions.write_description(
        agent,
        task,
        by=by,
        instruction=fields.get("message", ""),
        source=SOURCE,
        key=str(conversation_id),
        conversation_id=conversation_id,
    ).pk


TYPES: dict[str, Callable[[Mapping[str, str]], UUID]] = {
    "agent.task_assigned": _take_assignment,
    "agent.comment_mention": _take_mention,
    "agent.description_write": _take_description_request,
}


def _begin_or_continue(
    agent: Agent, subject: Task | Doc, fields: Mapping[str, str], cause: Cause
) -> UUID:
    conversation_id = uuid_in(fields, "conversation_id")
    if (earlier := _find_earlier(agent, conversation_id)) is not None:
        return earlier
    check_agent_available(agent)
    cause = replace(cause, source=SOURCE, key=str(conversation_id))
    begun = assignments.begin_or_continue(agent, subject, cause, conversation_id=conversation_id)
    return begun.pk


def _find_earlier(agent: Agent, conversation_id: UUID) -> UUID | None:
    """The conversation that took this entry before, if one did. Locks the agent, so that copies wait.

    Raises ``TriggerRefused`` if the id is that of another conversation.
    """
    assignments.lock_agent(agent)
    # guard: trigger-of-a-task-starts-one-turn
    taken = Trigger.objects.filter(
        conversation__agent=agent,
        source=SOURCE,
        kind__in=[kind.removeprefix("agent.") for kind in TYPES],
        idempotency_key=str(conversation_id),
    )
    if (found := taken.values_list("conversation_id", flat=True).first()) is not None:
        return found
    if Conversation.objects.filter(pk=conversation_id).exists():
        raise TriggerRefused("conversation_id is taken. Choose a new UUID for each trigger.")
    return None
