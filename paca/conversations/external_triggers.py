"""What other programs leave in the queue: checked, then carried out as if a person had done it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from paca.agents.models import Agent
from paca.bus.base import STOP
from paca.common.errors import NotAllowed, PacaError
from paca.common.text import to_storable
from paca.conversations import event_log, services
from paca.conversations.models import ChatSession, Conversation, Trigger
from paca.projects.models import Member
from paca.projects.permissions import allows

SOURCE = "stream"
MESSAGE = "agent.chat_message"
UNSUPPORTED_TYPES = {
    "agent.task_assigned": "tasks",
    "agent.comment_mention": "comments",
    "agent.description_write": "tasks",
}
# They would name what the agent is to look at, and it could not.
UNSUPPORTED_FIELDS = ("task_id", "comment_id", "doc_id")


class TriggerRefused(PacaError):
    """Nobody will ever be able to take this in."""

    code = "trigger_refused"


class TriggerTooEarly(PacaError):
    """What this is about is not there yet; it may be on its way."""

    code = "trigger_too_early"


@dataclass(frozen=True, slots=True)
class ExternalProgram:
    """Who gave an order that names no member."""

    name: str = "another program"


@transaction.atomic
def carry_out(entry_id: str, fields: Mapping[str, str]) -> None:
    """Do what the entry asks for, once: however often it comes, it starts or stops one thing.

    Raises ``Refused`` or another ``PacaError`` with a reason for whoever sent it, or ``TooEarly``.
    """
    kind = fields.get("type", "")
    if kind == MESSAGE:
        _begin(fields)
    elif kind == STOP:
        _stop(entry_id, fields)
    elif kind in UNSUPPORTED_TYPES:
        raise TriggerRefused(
            f"This version has no {UNSUPPORTED_TYPES[kind]}, so it cannot take {kind}. "
            f"Send what is to be done as {MESSAGE}."
        )
    else:
        raise TriggerRefused(f"type is {_quoted(kind)}; it must be {MESSAGE} or {STOP}.")


# --- a message ----------------------------------------------------------------------------------


def _begin(fields: Mapping[str, str]) -> None:
    """A conversation under the id that the other program has chosen, begun with its message."""
    if (named := fields.get("trigger_type", "chat_message")) != "chat_message":
        raise TriggerRefused(
            f"trigger_type is {_quoted(named)}, which does not fit type {MESSAGE}."
        )
    for thing in UNSUPPORTED_FIELDS:
        if fields.get(thing):
            raise TriggerRefused(f"{thing} is set, and this version has no such thing to look up.")
    conversation_id, text = _id(fields, "conversation_id"), fields.get("message", "")
    agent = _agent(_id(fields, "project_id"), _id(fields, "agent_id"))
    by = _actor(agent.project_id, _id(fields, "actor_member_id"))
    session = _session(agent, by, fields)
    known = Conversation.objects.filter(pk=conversation_id).first()
    if known is not None:
        _check_is_the_same(known, agent, by, text)
        return
    names = {"source": SOURCE, "client_id": str(conversation_id)}
    if session is not None:
        services.start_next_conversation(
            session, text=text, conversation_id=conversation_id, **names
        )
    else:
        services.start_chat(agent, text=text, by=by, conversation_id=conversation_id, **names)


def _check_is_the_same(known: Conversation, agent: Agent, by: Member, text: str) -> None:
    """The id was used before: by this very message, or this one would be swallowed."""
    if known.agent_id == agent.pk and known.deleted_at is not None:
        return  # what was said in it is gone; it does not begin again
    taken = Trigger.objects.filter(
        conversation=known, source=SOURCE, idempotency_key=f"{by.pk}:{known.pk}"
    ).first()
    if taken is None or taken.event_seq is None or known.agent_id != agent.pk:
        raise TriggerRefused("conversation_id is taken. Choose a new UUID for each trigger.")
    (message,) = event_log.page_after(known.pk, taken.event_seq - 1, 1)
    if message.data()["text"] != to_storable(text):
        raise TriggerRefused(
            "conversation_id was used before, with another message. "
            "Choose a new UUID for each trigger."
        )


def _agent(project_id: UUID, agent_id: UUID) -> Agent:
    found = Agent.objects.filter(pk=agent_id, project=project_id, project__deleted_at=None).first()
    if found is None:
        raise TriggerRefused("agent_id is no agent of the project that project_id names.")
    return found


def _actor(project_id: UUID, member_id: UUID) -> Member:
    """The person on whose behalf it is: they must be allowed to do the same in the browser."""
    people = Member.objects.live().with_names().filter(kind=Member.Kind.HUMAN)
    found = people.filter(pk=member_id, project=project_id, user__is_active=True).first()
    if found is None:
        raise TriggerRefused("actor_member_id is no person of the project that project_id names.")
    if not allows(found, "conversations:write"):
        raise NotAllowed(
            f"The role of {found.name}, whom actor_member_id names, does not allow to write "
            "to agents (conversations:write)."
        )
    return found


def _session(agent: Agent, by: Member, fields: Mapping[str, str]) -> ChatSession | None:
    """The chat that goes on, held: two copies of one entry come one after the other."""
    if not fields.get("chat_session_id"):
        return None
    chats = ChatSession.objects.select_for_update(of=("self",), no_key=True).select_related(
        "agent", "member"
    )
    found = chats.filter(pk=_id(fields, "chat_session_id"), agent=agent, member=by).first()
    if found is None:
        raise TriggerRefused("chat_session_id is no chat of this member with this agent.")
    return found


# --- a stop -------------------------------------------------------------------------------------


def _stop(entry_id: str, fields: Mapping[str, str]) -> None:
    """Whoever may write to the queue may end work; what else the entry names has to fit."""
    conversation_id = _id(fields, "conversation_id")
    current = Conversation.objects.filter(pk=conversation_id, deleted_at=None).first()
    if current is None:
        # The stop of what was begun a moment ago, which another worker is just taking in?
        raise TriggerTooEarly("conversation_id names no conversation.")
    for name, actual in (("project_id", current.project_id), ("agent_id", current.agent_id)):
        if fields.get(name) and _id(fields, name) != actual:
            raise TriggerRefused(f"{name} is not that of the conversation.")
    by: Member | ExternalProgram = ExternalProgram()
    if fields.get("actor_member_id"):
        by = _actor(current.project_id, _id(fields, "actor_member_id"))
    services.stop(current, by=by, source=SOURCE, key=entry_id)


def _id(fields: Mapping[str, str], name: str) -> UUID:
    given = fields.get(name, "")
    if not given:
        raise TriggerRefused(f"{name} is missing.")
    try:
        return UUID(given)
    except ValueError:
        raise TriggerRefused(f"{name} is {_quoted(given)}, which is not a UUID.") from None


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…") if text else "missing"
