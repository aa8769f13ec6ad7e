"""Executes the triggers that other programs put on the bus, with the permissions of the person they name."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db import IntegrityError, InterfaceError, OperationalError, transaction

from paca.agents.models import Agent
from paca.bus.base import STOP, EntryResult, EntryStatus
from paca.common import disk_space
from paca.common.errors import NotAllowed, PacaError
from paca.common.text import to_storable
from paca.conversations import event_log, services
from paca.conversations.models import ChatSession, Conversation, Trigger
from paca.projects.models import Member
from paca.projects.permissions import allows
from paca.worker.database import Database

logger = logging.getLogger(__name__)

SOURCE = "stream"
CLIENT_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
MESSAGE = "agent.chat_message"
UNSUPPORTED_TYPES = {
    "agent.task_assigned": "tasks",
    "agent.comment_mention": "comments",
    "agent.description_write": "tasks",
}
# Fields that name an object for the agent to look at; this version has no such objects.
UNSUPPORTED_FIELDS = ("task_id", "comment_id", "doc_id")


class TriggerRefused(PacaError):
    """This trigger can never be accepted."""

    code = "trigger_refused"


class TriggerTooEarly(PacaError):
    """The conversation of this trigger does not exist yet; it may still come."""

    code = "trigger_too_early"


@dataclass(frozen=True, slots=True)
class ExternalProgram:
    """The author of a stop that names no member."""

    name: str = "another program"


class ExternalTriggerHandler:
    """Satisfies ``bus.base.TriggerHandler``. Writes in the database threads of the worker."""

    def __init__(self, database: Database, capacity: Callable[[], int]) -> None:
        """``capacity`` gives the number of conversations to take now; another thread calls it."""
        self.capacity = capacity
        self._database = database

    def handle(self, entry_id: str, fields: Mapping[str, str]) -> EntryResult:
        """Store one entry in one transaction.

        The entry stays on the stream if the database cannot be reached or the disk is full.
        """
        try:
            done = self._database.submit(handle_entry, entry_id, fields)
        except RuntimeError:
            return EntryResult(EntryStatus.RETRY_LATER, "this worker has ended")
        error = done.exception()
        match error:
            case None:
                conversation = {"conversation_id": str(_uuid(fields, "conversation_id"))}
                return EntryResult(EntryStatus.ACCEPTED, facts=conversation)
            case OperationalError() | InterfaceError() | disk_space.DiskFull():
                logger.warning("trigger waits for the database", extra={"entry": entry_id})
                return EntryResult(
                    EntryStatus.RETRY_LATER, "the database cannot be reached, or its disk is full"
                )
            case TriggerTooEarly():
                return EntryResult(EntryStatus.FAILED, error.detail, error.code)
            case PacaError():
                return EntryResult(EntryStatus.REJECTED, error.detail, error.code)
        logger.error("trigger could not be stored", exc_info=error, extra={"entry": entry_id})
        reason = f"{type(error).__name__}, see the worker's log"
        return EntryResult(EntryStatus.FAILED, reason, "internal")


@transaction.atomic
def handle_entry(entry_id: str, fields: Mapping[str, str]) -> None:
    """Execute an entry of the stream. The same entry starts one conversation, or continues or stops it once.

    Raises ``TriggerTooEarly`` if the entry may be accepted later. Raises ``TriggerRefused``,
    ``NotAllowed`` or another ``PacaError`` with a reason for the other program.
    """
    kind = fields.get("type", "")
    if kind == MESSAGE:
        _take_message(fields)
    elif kind == STOP:
        _stop(entry_id, fields)
    elif kind in UNSUPPORTED_TYPES:
        raise TriggerRefused(
            f"This version has no {UNSUPPORTED_TYPES[kind]}, so it cannot take {kind}. "
            f"Send what is to be done as {MESSAGE}."
        )
    else:
        raise TriggerRefused(f"type is {_quote(kind)}; it must be {MESSAGE} or {STOP}.")


# --- a message ----------------------------------------------------------------------------------


def _take_message(fields: Mapping[str, str]) -> None:
    """Start a conversation with the message of the entry, or go on in the one that it names."""
    if (type_ := fields.get("trigger_type", "chat_message")) != "chat_message":
        raise TriggerRefused(f"trigger_type is {_quote(type_)}, which does not fit type {MESSAGE}.")
    for name in UNSUPPORTED_FIELDS:
        if fields.get(name):
            raise TriggerRefused(f"{name} is set, and this version has no such thing to look up.")
    agent = _find_agent(_uuid(fields, "project_id"), _uuid(fields, "agent_id"))
    by = _find_person(agent.project_id, _uuid(fields, "actor_member_id"))
    match fields.get("continue", ""):
        case "true":
            _continue_conversation(agent, by, fields)
        case "" | "false":
            _start_conversation(agent, by, fields)
        case other:
            raise TriggerRefused(f"continue is {_quote(other)}; it must be true or false.")


def _continue_conversation(agent: Agent, by: Member, fields: Mapping[str, str]) -> None:
    """Send the message to the existing conversation. The same ``client_id`` is one message."""
    conversation_id, client_id = _uuid(fields, "conversation_id"), fields.get("client_id", "")
    if not CLIENT_ID.fullmatch(client_id):
        raise TriggerRefused(
            f"client_id is {_quote(client_id)}; with continue it must be an id that you choose for this "
            "message: 1 to 100 letters, digits or _.:-"
        )
    current = Conversation.objects.filter(pk=conversation_id, deleted_at=None).first()
    if current is None:
        # Another worker may be starting this conversation at this moment.
        raise TriggerTooEarly("conversation_id names no conversation.")
    if current.agent_id != agent.pk:
        raise TriggerRefused("conversation_id is no conversation of this agent.")
    text = fields.get("message", "")
    sent = services.send(
        current,
        text=text,
        by=by,
        on_busy=fields.get("on_busy") or "queue",
        source=SOURCE,
        client_id=client_id,
    )
    # guard: trigger-client-id-is-one-text
    if sent.duplicate and not _is_text_of(current, sent.event_seq, text):
        raise TriggerRefused(
            "client_id was used before, with another message. Choose a new one for each message."
        )


def _start_conversation(agent: Agent, by: Member, fields: Mapping[str, str]) -> None:
    """Start a conversation under the id that the entry gives it.

    The primary key decides between two entries with the same id that are handled at the same moment: one
    starts the conversation, the other one finds it and is compared with it.
    """
    conversation_id, text = _uuid(fields, "conversation_id"), fields.get("message", "")
    session = _lock_session(agent, by, fields)
    # guard: trigger-id-starts-one-conversation
    if not _is_started(agent, by, session, conversation_id, text):
        existing = Conversation.objects.get(pk=conversation_id)
        _check_same_message(existing, agent, by, text)


def _is_started(
    agent: Agent, by: Member, session: ChatSession | None, conversation_id: UUID, text: str
) -> bool:
    """Start the conversation; False if there is one of this id."""
    if Conversation.objects.filter(pk=conversation_id).exists():
        return False
    options = {"source": SOURCE, "client_id": str(conversation_id)}
    try:
        with transaction.atomic():
            if session is not None:
                sent = services.start_next_conversation(
                    session, text=text, conversation_id=conversation_id, **options
                )
            else:
                sent = services.start_chat(
                    agent, text=text, by=by, conversation_id=conversation_id, **options
                )
    except IntegrityError:
        if not Conversation.objects.filter(pk=conversation_id).exists():
            raise
        return False
    return not sent.duplicate


def _check_same_message(existing: Conversation, agent: Agent, by: Member, text: str) -> None:
    """Raises ``TriggerRefused`` unless the existing conversation was started by the same message."""
    if existing.agent_id == agent.pk and existing.deleted_at is not None:
        return  # it was deleted, and its message with it: it does not start again
    first = Trigger.objects.filter(
        conversation=existing, source=SOURCE, idempotency_key=f"{by.pk}:{existing.pk}"
    ).first()
    if first is None or existing.agent_id != agent.pk:
        raise TriggerRefused("conversation_id is taken. Choose a new UUID for each trigger.")
    if not _is_text_of(existing, first.event_seq, text):
        raise TriggerRefused(
            "conversation_id was used before, with another message. "
            "Choose a new UUID for each trigger."
        )


def _is_text_of(conversation: Conversation, event_seq: int, text: str) -> bool:
    """Whether this was the text of the message, before its author may have changed it."""
    (message,) = event_log.page_after(conversation.pk, event_seq - 1, 1)
    return bool(message.data()["text"] == to_storable(text))


def _find_agent(project_id: UUID, agent_id: UUID) -> Agent:
    found = Agent.objects.filter(pk=agent_id, project=project_id, project__deleted_at=None).first()
    if found is None:
        raise TriggerRefused("agent_id is no agent of the project that project_id names.")
    return found


def _find_person(project_id: UUID, member_id: UUID) -> Member:
    """The person on whose behalf the entry acts.

    Raises ``TriggerRefused`` if the project has no such person, ``NotAllowed`` if they may not write.
    """
    people = Member.objects.live().with_names().filter(kind=Member.Kind.HUMAN)
    found = people.filter(pk=member_id, project=project_id, user__is_active=True).first()
    if found is None:
        raise TriggerRefused("actor_member_id is no person of the project that project_id names.")
    if not allows(found, "conversations:write"):
        raise NotAllowed(
            f"actor_member_id names {found.name}, whose role does not allow to write to agents "
            "(conversations:write)."
        )
    return found


def _lock_session(agent: Agent, by: Member, fields: Mapping[str, str]) -> ChatSession | None:
    """Lock the chat that the entry continues, so that copies of one entry are handled in turn."""
    if not fields.get("chat_session_id"):
        return None
    chats = ChatSession.objects.select_for_update(of=("self",), no_key=True).select_related(
        "agent", "member"
    )
    found = chats.filter(pk=_uuid(fields, "chat_session_id"), agent=agent, member=by).first()
    if found is None:
        raise TriggerRefused("chat_session_id is no chat of this member with this agent.")
    return found


# --- a stop -------------------------------------------------------------------------------------


def _stop(entry_id: str, fields: Mapping[str, str]) -> None:
    """Stop the conversation. The entry need name no member, but what it names has to be right."""
    conversation_id = _uuid(fields, "conversation_id")
    current = Conversation.objects.filter(pk=conversation_id, deleted_at=None).first()
    if current is None:
        # Another worker may be starting this conversation at this moment.
        raise TriggerTooEarly("conversation_id names no conversation.")
    for name, actual in (("project_id", current.project_id), ("agent_id", current.agent_id)):
        if fields.get(name) and _uuid(fields, name) != actual:
            raise TriggerRefused(f"{name} is not that of the conversation.")
    by: Member | ExternalProgram = ExternalProgram()
    if fields.get("actor_member_id"):
        by = _find_person(current.project_id, _uuid(fields, "actor_member_id"))
    services.stop(current, by=by, source=SOURCE, key=entry_id)


def _uuid(fields: Mapping[str, str], name: str) -> UUID:
    given = fields.get(name, "")
    if not given:
        raise TriggerRefused(f"{name} is missing.")
    try:
        return UUID(given)
    except ValueError:
        raise TriggerRefused(f"{name} is {_quote(given)}, which is not a UUID.") from None


def _quote(text: str) -> str:
    """The start of the text in quotation marks; "missing" for an empty one."""
    return repr(text if len(text) <= 60 else f"{text[:60]}…") if text else "missing"
