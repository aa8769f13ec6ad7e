"""Executes the triggers that other programs put on the bus, with the permissions of the person they name."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import IntegrityError, InterfaceError, OperationalError, transaction

from paca.agents.models import Agent
from paca.bus.base import STOP, EntryResult, EntryStatus
from paca.common import disk_space
from paca.common.errors import PacaError
from paca.common.text import to_storable
from paca.conversations import event_log, services
from paca.conversations.models import ChatSession, Conversation, Trigger
from paca.projects.models import Member
from paca.worker import external_work
from paca.worker.database import Database
from paca.worker.external_fields import (
    SOURCE,
    TriggerRefused,
    TriggerTooEarly,
    find_agent,
    find_person,
    quote,
    uuid_in,
)

logger = logging.getLogger(__name__)

CLIENT_ID = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
MESSAGE = "agent.chat_message"
# A chat is about none of these; the other types are.
FIELDS_OF_OTHER_TYPES = ("task_id", "comment_id", "doc_id")


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
                conversation = {"conversation_id": str(done.result())}
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
def handle_entry(entry_id: str, fields: Mapping[str, str]) -> UUID:
    """Execute an entry of the stream; gives the id of its conversation.

    The same entry starts one conversation, or continues or stops it once. Raises ``TriggerTooEarly`` if
    the entry may be accepted later. Raises ``TriggerRefused``, ``NotAllowed`` or another ``PacaError``
    with a reason for the other program.
    """
    kind = fields.get("type", "")
    if kind == STOP:
        return _stop(entry_id, fields)
    take = {MESSAGE: _take_message, **external_work.TYPES}.get(kind)
    if take is None:
        known = ", ".join([MESSAGE, *external_work.TYPES])
        raise TriggerRefused(f"type is {quote(kind)}; it must be one of {known} or {STOP}.")
    expected = kind.removeprefix("agent.")
    if (type_ := fields.get("trigger_type", expected)) != expected:
        raise TriggerRefused(f"trigger_type is {quote(type_)}, which does not fit type {kind}.")
    return take(fields)


# --- a message ----------------------------------------------------------------------------------


def _take_message(fields: Mapping[str, str]) -> UUID:
    """Start a conversation with the message of the entry, or go on in the one that it names."""
    for name in FIELDS_OF_OTHER_TYPES:
        if fields.get(name):
            raise TriggerRefused(f"{name} is set, but {MESSAGE} is about no task, comment or doc.")
    agent = find_agent(fields)
    actor = uuid_in(fields, "actor_member_id")
    by = find_person(agent.project_id, actor, "conversations:write")
    match fields.get("continue", ""):
        case "true":
            _continue_conversation(agent, by, fields)
        case "" | "false":
            _start_conversation(agent, by, fields)
        case other:
            raise TriggerRefused(f"continue is {quote(other)}; it must be true or false.")
    return uuid_in(fields, "conversation_id")


def _continue_conversation(agent: Agent, by: Member, fields: Mapping[str, str]) -> None:
    """Send the message to the existing conversation. The same ``client_id`` is one message."""
    conversation_id, client_id = uuid_in(fields, "conversation_id"), fields.get("client_id", "")
    if not CLIENT_ID.fullmatch(client_id):
        raise TriggerRefused(
            f"client_id is {quote(client_id)}; with continue it must be an id that you choose for this "
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
    conversation_id, text = uuid_in(fields, "conversation_id"), fields.get("message", "")
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
    options: dict[str, Any] = {"source": SOURCE, "client_id": str(conversation_id)}
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


def _lock_session(agent: Agent, by: Member, fields: Mapping[str, str]) -> ChatSession | None:
    """Lock the chat that the entry continues, so that copies of one entry are handled in turn."""
    if not fields.get("chat_session_id"):
        return None
    chats = ChatSession.objects.select_for_update(of=("self",), no_key=True).select_related(
        "agent", "member"
    )
    found = chats.filter(pk=uuid_in(fields, "chat_session_id"), agent=agent, member=by).first()
    if found is None:
        raise TriggerRefused("chat_session_id is no chat of this member with this agent.")
    return found


# --- a stop -------------------------------------------------------------------------------------


def _stop(entry_id: str, fields: Mapping[str, str]) -> UUID:
    """Stop the conversation. The entry need name no member, but what it names has to be right."""
    conversation_id = uuid_in(fields, "conversation_id")
    current = Conversation.objects.filter(pk=conversation_id, deleted_at=None).first()
    if current is None:
        # Another worker may be starting this conversation at this moment.
        raise TriggerTooEarly("conversation_id names no conversation.")
    for name, actual in (("project_id", current.project_id), ("agent_id", current.agent_id)):
        if fields.get(name) and uuid_in(fields, name) != actual:
            raise TriggerRefused(f"{name} is not that of the conversation.")
    by: Member | ExternalProgram = ExternalProgram()
    if fields.get("actor_member_id"):
        actor = uuid_in(fields, "actor_member_id")
        by = find_person(current.project_id, actor, "conversations:write")
    services.stop(current, by=by, source=SOURCE, key=entry_id)
    return current.pk
