"""What people do with conversations: begin, write, stop, pause, go on, clear, rename."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from django.db import transaction

from paca import events
from paca.agents.models import Agent
from paca.bus import get_bus
from paca.common.errors import Conflict, Invalid
from paca.conversations import store
from paca.conversations.models import (
    ChatSession,
    Control,
    Conversation,
    Status,
    Trigger,
    TriggerState,
    TriggerType,
)
from paca.conversations.models.conversation import ENDED, HELD
from paca.projects.models import Member

LONGEST_MESSAGE = 100_000
ON_BUSY = ("queue", "interrupt", "reject")


class ConversationBusy(Conflict):
    """The agent is busy; nothing was stored. Send it to be queued, or interrupt."""

    code = "conversation_busy"


class AgentUnavailable(Conflict):
    """This agent takes no work now."""

    code = "agent_unavailable"


class Named(Protocol):
    """Whoever gives an order: a member, or an administrator who is none."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Sent:
    """Where a message went. ``turn`` is None while it is queued behind the running turn."""

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
    idempotency_key: str = "",
) -> Sent:
    """Begin a chat session with its first conversation and message.

    The same ``client_id`` of the same person begins one chat.
    """
    _check_text(text)
    key = _key(by, client_id, idempotency_key)
    if client_id:
        session, is_new = ChatSession.objects.get_or_create(
            agent=agent, member=by, client_id=client_id
        )
        if not is_new and (earlier := _earlier(source, key, conversation__session=session)):
            return earlier
    else:
        session = ChatSession.objects.create(agent=agent, member=by)
    _check_agent(agent)
    conversation = _open(session)
    return send(
        conversation,
        text=text,
        by=by,
        source=source,
        client_id=client_id,
        idempotency_key=idempotency_key,
    )


def _open(session: ChatSession) -> Conversation:
    conversation = Conversation.objects.create(
        project_id=session.agent.project_id,
        agent=session.agent,
        session=session,
        trigger_type=TriggerType.CHAT_MESSAGE,
        status=Status.FINISHED,
        reason="answered",
    )
    session.conversation = conversation
    session.save(update_fields=["conversation", "updated_at"])
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
    idempotency_key: str = "",
) -> Sent:
    """Write to the agent: stored and shown at once, read at the next step or in a new turn.

    The same ``client_id`` or ``idempotency_key`` of the same person is one message. Raises
    ``ConversationBusy`` with ``on_busy="reject"`` while a turn runs.
    """
    _check_text(text)
    if on_busy not in ON_BUSY:
        raise Invalid(f"on_busy must be one of {', '.join(ON_BUSY)}.")
    current = _locked(conversation)
    key = _key(by, client_id, idempotency_key)
    if key and (earlier := _earlier(source, key, conversation=current)):
        return earlier
    _check_agent(current.agent)
    busy = current.status in (*HELD, Status.QUEUED)
    if busy and on_busy == "reject":
        raise ConversationBusy
    interrupt = on_busy == "interrupt" and current.status in HELD
    stored = store.append(current.id, *_message(current, text, by, client_id, on_busy, busy))
    _put(
        current,
        TriggerType.CHAT_MESSAGE,
        by=by.name,
        source=source,
        key=key,
        event_seq=stored.first_seq,
        control=Control.INTERRUPT if interrupt else Control.NONE,
    )
    return Sent(current.id, current.session_id, _next_turn(current), stored.first_seq)


def _message(
    current: Conversation, text: str, by: Member, client_id: str, on_busy: str, busy: bool
) -> list[events.Event]:
    message = events.MessageReceived(
        text=text,
        author_id=str(by.id),
        author_name=by.name,
        client_id=client_id,
        on_busy=on_busy,
    )
    happened: list[events.Event] = [message]
    if not current.title:
        happened.append(events.TitleChanged(title=title_from(text)))
    if not busy:
        happened.append(events.ConversationQueued(trigger=TriggerType.CHAT_MESSAGE, by=by.name))
    return happened


def title_from(text: str) -> str:
    """A title made of a first message: its first line, cut at a word."""
    line = next((line.strip() for line in _shown(text).splitlines() if line.strip()), "")
    if len(line) <= 80:
        return line
    return line[:80].rsplit(" ", 1)[0].rstrip(",.;:") + "…"


def _shown(text: str) -> str:
    """Without what no database column and no page can hold: control characters, lone surrogates."""
    return "".join(char for char in text if char.isprintable() or char in "\n\t")


@transaction.atomic
def stop(conversation: Conversation, *, by: Named) -> None:
    """End the run at once, wherever it is; what is stored stays. Ended already: nothing."""
    _stop(_locked(conversation), reason="by_person", by=by.name)


@transaction.atomic
def stop_all_of(agent_id: UUID, *, by: str) -> None:
    """The agent is removed: end whatever it does or has before it."""
    unfinished = Conversation.objects.filter(agent=agent_id, deleted_at=None).exclude(
        status__in=ENDED
    )
    for conversation in unfinished.select_related("agent").select_for_update(of=("self",)):
        _stop(conversation, reason="agent_removed", by=by)


def _stop(current: Conversation, *, reason: str, by: str) -> None:
    if current.status in HELD:
        _put(current, reason, by=by, control=Control.STOP)
    elif current.status in (Status.QUEUED, Status.PAUSED):
        _drop_waiting(current)
        store.append(current.id, events.ConversationStopped(reason=reason, by=by))


@transaction.atomic
def pause(conversation: Conversation, *, by: Member) -> None:
    """Let the step under way end, then stand still until a message or ``resume``."""
    current = _locked(conversation)
    if current.status not in HELD:
        raise Conflict("Only a running conversation can be paused.")
    _put(current, "pause", by=by.name, control=Control.PAUSE)


@transaction.atomic
def resume(conversation: Conversation, *, by: Member) -> None:
    """Leave ``paused``."""
    current = _locked(conversation)
    if current.status != Status.PAUSED:
        raise Conflict("This conversation is not paused.")
    _go_on(current, by)


@transaction.atomic
def continue_(conversation: Conversation, *, by: Member) -> None:
    """Go on after any end, as if the person had said so. Running already: nothing."""
    current = _locked(conversation)
    if current.status not in (*HELD, Status.QUEUED):
        _go_on(current, by)


def _go_on(current: Conversation, by: Member) -> None:
    _check_agent(current.agent)
    store.append(current.id, events.ConversationQueued(trigger="continue", by=by.name))
    _put(current, "continue", by=by.name)


@transaction.atomic
def clear(session: ChatSession, *, by: Member) -> Conversation:
    """Close the session's conversation, which stays readable, and open an empty one."""
    _check_agent(session.agent)
    if session.conversation is not None:
        stop(session.conversation, by=by)
    return _open(session)


@transaction.atomic
def rename(conversation: Conversation, *, title: str, by: Member) -> None:
    """Give the conversation another title."""
    title = " ".join(_shown(title).split())
    if not title:
        raise Invalid("A title cannot be empty.", fields={"title": ["Write a title."]})
    if len(title) > 200:
        raise Invalid("The title is too long.", fields={"title": ["At most 200 characters."]})
    store.append(conversation.id, events.TitleChanged(title=title, by=by.name))


def _check_text(text: str) -> None:
    if not text.strip():
        raise Invalid("The message is empty.", fields={"text": ["Write something."]})
    if len(text) > LONGEST_MESSAGE:
        fact = f"At most {LONGEST_MESSAGE:,} characters; this has {len(text):,}."
        raise Invalid("The message is too long.", fields={"text": [fact]})


def _check_agent(agent: Agent) -> None:
    if agent.deleted_at is not None:
        raise AgentUnavailable(f"{agent.name} is retired and takes no new work.")
    if agent.status == Agent.Status.INACTIVE:
        raise AgentUnavailable(f"{agent.name} is inactive. Set it to active to give it work.")


def _locked(conversation: Conversation) -> Conversation:
    """The row as it is now, held until the transaction ends."""
    return (
        Conversation.objects.select_for_update(of=("self",))
        .select_related("agent")
        .get(pk=conversation.pk)
    )


def _key(by: Member, client_id: str, idempotency_key: str) -> str:
    own = client_id or idempotency_key
    return f"{by.id}:{own}"[:200] if own else ""


def _earlier(source: str, key: str, **where: Any) -> Sent | None:
    """What was answered when this message came the first time."""
    trigger = (
        Trigger.objects.filter(
            source=source, kind=TriggerType.CHAT_MESSAGE, idempotency_key=key, **where
        )
        .select_related("conversation")
        .first()
    )
    if trigger is None or trigger.event_seq is None:
        return None
    current = trigger.conversation
    turn = trigger.turn or _next_turn(current)
    return Sent(current.id, current.session_id, turn, trigger.event_seq, duplicate=True)


def _next_turn(current: Conversation) -> int | None:
    """The turn that answers what is written now, unless one runs, which may or may not."""
    return None if current.status in HELD else current.turn_number + 1


def _put(
    current: Conversation,
    kind: str,
    *,
    by: str,
    source: str = "api",
    key: str = "",
    event_seq: int | None = None,
    control: Control = Control.NONE,
) -> None:
    """Enter a cause into the inbox, and hint at it once it is certain."""
    trigger = Trigger.objects.create(
        conversation=current,
        kind=kind,
        control=control,
        source=source,
        idempotency_key=key,
        by=by,
        event_seq=event_seq,
    )

    def hint() -> None:
        get_bus().wake(trigger.id)
        if current.status in HELD:
            get_bus().signal(current.id)

    transaction.on_commit(hint)


def _drop_waiting(current: Conversation) -> None:
    Trigger.objects.filter(conversation=current, state=TriggerState.NEW).update(
        state=TriggerState.DONE
    )
