"""Reads and writes of the tools on a project: the role is asked each time, and a write happens once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from django.db import transaction

from paca.common.errors import NotAllowed
from paca.projects import permissions
from paca.projects.models import KeyedWrite, Member, Project
from paca.projects.tools.base import Act, Caller


@dataclass(frozen=True, slots=True)
class CallingAgent:
    """The agent and the conversation in which it calls tools."""

    agent_id: UUID
    conversation_id: UUID


T = TypeVar("T")


def read(agent: CallingAgent, permission: str, act: Callable[[Caller], T]) -> T:
    """What ``act`` reads. Raises ``NotAllowed`` if the agent's role lacks the permission."""
    return act(_permitted(agent, permission))


def write(
    agent: CallingAgent,
    call_id: str,
    permission: str,
    act: Act,
    *,
    require_lease: Callable[[], None],
) -> str:
    """Do what ``act`` does and store its text under the call's id, in one transaction.

    If a worker has done so before and died before it stored the outcome, the stored text is given and
    nothing is written. ``require_lease`` raises an error if the calling worker may not write any more.

    Raises ``NotAllowed`` if the agent's role lacks the permission, and the errors of ``act`` and
    ``require_lease``; nothing is written then.
    """
    key = _key(agent, call_id)
    with transaction.atomic():
        # A write of an earlier worker is either visible here or will be refused its lease. The role is
        # asked later: a call that has taken effect must not say that it was refused.
        written = KeyedWrite.objects.filter(key=key).first()
        # guard: tools-write-once
        if written is not None:
            return written.result
        caller = _permitted(agent, permission)
        # Agents of a project write one after another. Two that mention each other would otherwise wait
        # for each other: each transaction ends with a lock of the conversation of its agent.
        Project.objects.select_for_update(no_key=True).get(pk=caller.project.pk)
        text = act(caller)
        KeyedWrite.objects.create(key=key, project=caller.project, result=text)
        # guard: tools-require-the-lease
        require_lease()
        return text


def find_result(agent: CallingAgent, call_id: str) -> str | None:
    """The text of a call that has written; None if it has not."""
    found = KeyedWrite.objects.filter(key=_key(agent, call_id)).first()
    return None if found is None else found.result


def forget(conversation_id: UUID) -> None:
    """Delete the texts of a conversation's calls. None of them is repeated any more."""
    KeyedWrite.objects.filter(key__startswith=f"{conversation_id}:").delete()


def _key(agent: CallingAgent, call_id: str) -> str:
    return f"{agent.conversation_id}:{call_id}"


def _permitted(agent: CallingAgent, permission: str) -> Caller:
    """The agent's member. Raises ``NotAllowed`` if it is removed or its role lacks the permission."""
    members = Member.objects.with_names().select_related("project", "role", "agent", "user")
    member = members.filter(agent_id=agent.agent_id).first()
    if member is None or member.deleted_at is not None or member.project.deleted_at is not None:
        raise NotAllowed("You are no longer a member of this project, so nothing was done.")
    # guard: tools-ask-the-role
    if not permissions.allows(member, permission):
        raise NotAllowed(
            f"Your role, {member.role.name}, does not allow this; it needs {permission}. Nothing was"
            " done. Do not try again; tell who asked you.",
            permission=permission,
        )
    member.acting_in = agent.conversation_id
    return Caller(member, member.project, agent.conversation_id)
