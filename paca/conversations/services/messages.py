"""Services for chats and messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction

from paca import events
from paca.agents.models import Agent
from paca.common.errors import Conflict, Invalid, NotFound
from paca.common.text import is_storable
from paca.conversations import store
from paca.conversations.models import (
    ChatSession,
    ControlCommand,
    Conversation,
    ConversationStatus,
    Trigger,
    TriggerType,
)
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.conversations.services import helpers, plans
from paca.conversations.services.inbox import (
    add_message,
    check_agent_available,
    check_subject,
    is_busy,
    lock,
)
from paca.conversations.services.lifecycle import mark_team, stop, stop_helpers
from paca.conversations.services.titles import printable, title_from
from paca.engine.model_state import EFFORTS
from paca.projects.models import Member

MAX_MESSAGE_CHARACTERS = 100_000
MAX_TITLE_CHARACTERS = 200
MAX_ATTACHMENTS, MAX_PATH_CHARACTERS = 50, 1000
# Controls, the ends of lines and paragraphs, and marks that turn the direction of text.
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]")
ON_BUSY_CHOICES = ("queue", "interrupt", "reject")


class ConversationBusy(Conflict):
    """The agent is busy; nothing was stored. Send it to be queued, or interrupt."""

    code = "conversation_busy"


class ConversationRunning(Conflict):
    """The agent is at work in this conversation. Stop it first."""

    code = "conversation_running"


@dataclass(frozen=True, slots=True)
class MessageReceipt:
    """Where a message was stored, and the number of the turn that answers it.

    ``turn`` is None while a turn runs: that turn or the next one answers. ``duplicate``: the same
    message was stored before, and this is its place.
    """

    conversation_id: UUID
    session_id: UUID | None
    turn: int | None
    event_seq: int
    duplicate: bool = False


@transaction.atomic
def start_chat(
    agent: Agent,
    *,
    text: str,
    by: Member,
    source: str = "api",
    client_id: str = "",
    effort: str = "",
    conversation_id: UUID | None = None,
    plan: bool | None = None,
) -> MessageReceipt:
    """Start a chat session with its first conversation and message.

    ``plan``: whether it begins in plan mode; None for the setting of the agent. The same ``client_id`` of the same person starts one chat. The conversation gets
    ``conversation_id``, or a new id. Raises ``Invalid`` for an empty or too long text, and what
    ``check_agent_available`` raises.
    """
    check_text(text)
    key = _idempotency_key(by, client_id)
    if client_id:
        session, is_new = ChatSession.objects.get_or_create(
            agent=agent, member=by, client_id=client_id
        )
        if not is_new and (earlier := _earlier_receipt(source, key, conversation__session=session)):
            return earlier
    else:
        session = ChatSession.objects.create(agent=agent, member=by)
    return start_next_conversation(
        session,
        text=text,
        source=source,
        client_id=client_id,
        effort=effort,
        conversation_id=conversation_id,
        plan=plan,
    )


@transaction.atomic
def start_next_conversation(
    session: ChatSession,
    *,
    text: str,
    source: str = "api",
    client_id: str = "",
    effort: str = "",
    conversation_id: UUID | None = None,
    plan: bool | None = None,
) -> MessageReceipt:
    """Start the next conversation of a chat with a message. The one before stays, and may run on.

    Raises what ``start_chat`` raises.
    """
    check_agent_available(session.agent)
    conversation = _create_conversation(session, conversation_id, plan=plan)
    return send(
        conversation,
        text=text,
        by=session.member,
        source=source,
        client_id=client_id,
        effort=effort,
    )


def _create_conversation(
    session: ChatSession, conversation_id: UUID | None = None, *, plan: bool | None = None
) -> Conversation:
    """An empty conversation, which the chat session then continues."""
    conversation = Conversation.objects.create(
        id=conversation_id or uuid4(),
        project_id=session.agent.project_id,
        agent=session.agent,
        session=session,
        trigger_type=TriggerType.CHAT_MESSAGE,
        triggered_by=session.member,
        status=ConversationStatus.FINISHED,
        reason="answered",
    )
    session.conversation = conversation
    session.save(update_fields=["conversation", "updated_at"])
    plans.begin(conversation, session.agent, on=plan, by=session.member.name)
    return conversation


@transaction.atomic
def send(
    conversation: Conversation,
    *,
    text: str,
    by: Member,
    on_busy: str = "queue",
    source: str = "api",
    client_id: str = "",
    effort: str = "",
    attachments: Sequence[str] = (),
) -> MessageReceipt:
    """Store a message to the agent. A running turn reads it at its next step; else a new turn does.

    The same ``client_id`` of the same person is one message. ``effort`` is quick, standard or determined; empty is
    standard. ``attachments`` are paths of files in its workspace. Raises ``Invalid`` for an empty or too long text or an unknown ``on_busy`` or ``effort``, ``ConversationBusy`` with ``on_busy="reject"`` while a turn
    runs, ``SubjectDeleted``, and what ``check_agent_available`` raises.
    """
    check_text(text)
    if on_busy not in ON_BUSY_CHOICES:
        raise Invalid(f"on_busy must be one of {', '.join(ON_BUSY_CHOICES)}.")
    # guard: effort-of-a-message-is-known
    if effort and effort not in EFFORTS:
        known = f"It must be one of {', '.join(EFFORTS)}."
        raise Invalid(f"The effort is not known. {known}", fields={"effort": [known]})
    check_attachments(attachments)
    helpers.refuse_helper(conversation)
    current = lock(conversation)
    key = _idempotency_key(by, client_id)
    if key and (earlier := _earlier_receipt(source, key, conversation=current)):
        return earlier
    check_agent_available(current.agent)
    check_subject(current)
    if is_busy(current) and on_busy == "reject":
        raise ConversationBusy
    interrupt = on_busy == "interrupt" and current.status in ACTIVE_STATUSES
    message = events.MessageReceived(
        text=text,
        author_id=str(by.id),
        author_name=by.name,
        client_id=client_id,
        on_busy=on_busy,
        effort=effort,
        attachments=list(attachments),
    )
    event_seq = add_message(
        current,
        message,
        by=by.name,
        title=title_from(text),
        source=source,
        key=key,
        control=ControlCommand.INTERRUPT if interrupt else ControlCommand.NONE,
        actor=by,
    )
    if interrupt:
        # guard: interrupt-reaches-the-helpers
        stop_helpers(current, by=by.name)
        if current.waits_for_helpers:
            helpers.release(current, cause="message", by=by.name)
    return MessageReceipt(current.id, current.session_id, _next_turn(current), event_seq)


def check_attachments(paths: Sequence[str]) -> None:
    """Raises ``Invalid`` for too many paths, and for one that is empty, too long or has control characters."""
    # guard: attachments-are-names-of-files
    if len(paths) > MAX_ATTACHMENTS or not all(_is_path(path) for path in paths):
        why = f"At most {MAX_ATTACHMENTS} paths of up to {MAX_PATH_CHARACTERS} characters, without control characters."
        raise Invalid(fields={"attachments": [why]})


def _is_path(path: str) -> bool:
    return 0 < len(path) <= MAX_PATH_CHARACTERS and not CONTROLS.search(path) and is_storable(path)


@transaction.atomic
def clear(session: ChatSession, *, by: Member) -> Conversation:
    """Stop the session's conversation, which stays readable, and give the session an empty one.

    Raises ``NotFound`` if the chat was deleted, and what ``check_agent_available`` raises.
    """
    session = _lock_session(session)
    check_agent_available(session.agent)
    if session.conversation is not None:
        stop(session.conversation, by=by)
    return _create_conversation(session)


def _lock_session(session: ChatSession) -> ChatSession:
    """Lock the chat session and read it. Every writer locks a chat before its conversation."""
    rows = ChatSession.objects.select_for_update(of=("self",), no_key=True)
    found = rows.select_related("agent", "conversation").filter(pk=session.pk).first()
    if found is None:
        raise NotFound("This chat was deleted.")
    return found


@transaction.atomic
def rename(conversation: Conversation, *, title: str, by: Member) -> None:
    """Change the title of the conversation. Raises ``Invalid`` if it is empty or too long."""
    helpers.refuse_helper(conversation)
    title = " ".join(printable(title).split())
    if not title:
        raise Invalid("A title cannot be empty.", fields={"title": ["Write a title."]})
    if len(title) > MAX_TITLE_CHARACTERS:
        fact = f"At most {MAX_TITLE_CHARACTERS} characters."
        raise Invalid("The title is too long.", fields={"title": [fact]})
    store.append(conversation.id, events.TitleChanged(title=title, by=by.name))


@transaction.atomic
def archive(conversation: Conversation, *, archived: bool, by: Member) -> None:
    """Move the conversation to the archive, or back from it; nothing happens if it is there already.

    Teammates that are idle end. Raises ``ConversationRunning`` if the agent, a helper or a teammate works in it or is
    to begin.
    """
    helpers.refuse_helper(conversation)
    current = lock(conversation)
    if archived == current.archived:
        return
    if archived:
        # guard: archive-takes-no-files-of-a-team-at-work
        if is_busy(current) or helpers.are_at_work(current):
            raise ConversationRunning
        # guard: archive-ends-the-team
        mark_team(current)
    # Stored now, so that no conversation loses files by a later change of its agent or of Paca.
    files_go = archived and current.agent.sandbox_life == Agent.SandboxLife.EPHEMERAL
    store.append(
        current.id, events.ConversationArchived(archived=archived, by=by.name, files_go=files_go)
    )


def check_text(text: str, *, field: str = "text") -> None:
    """Raises ``Invalid`` for the ``field`` if the text is empty or longer than ``MAX_MESSAGE_CHARACTERS``."""
    if not text.strip():
        raise Invalid("The message is empty.", fields={field: ["Write something."]})
    if len(text) > MAX_MESSAGE_CHARACTERS:
        fact = f"At most {MAX_MESSAGE_CHARACTERS:,} characters; this has {len(text):,}."
        # In the sentence too: the error frame of a socket has no fields.
        raise Invalid(f"The message is too long. {fact}", fields={field: [fact]})


def _idempotency_key(by: Member, client_id: str) -> str:
    return f"{by.id}:{client_id}"[:200] if client_id else ""


def _earlier_receipt(source: str, key: str, **where: Any) -> MessageReceipt | None:
    """The receipt of the message if it was stored before."""
    trigger = (
        Trigger.objects.filter(
            source=source, kind=TriggerType.CHAT_MESSAGE, idempotency_key=key, **where
        )
        .select_related("conversation")
        .first()
    )
    if trigger is None:
        return None
    current = trigger.conversation
    turn = trigger.turn or _next_turn(current)
    return MessageReceipt(current.id, current.session_id, turn, trigger.event_seq, duplicate=True)


def _next_turn(current: Conversation) -> int | None:
    """The turn that answers a message stored now; None while one runs, because it may answer too."""
    return None if current.status in ACTIVE_STATUSES else current.turn_number + 1
