"""Messages within a team: stored in the log and the inbox of the receiver, like those of a person."""

from __future__ import annotations

from django.db.models import Q

from paca import events
from paca.agents.models import Agent
from paca.common.errors import Conflict
from paca.conversations import event_log, store
from paca.conversations.models import (
    Conversation,
    ConversationStatus,
    Teammate,
    Trigger,
    TriggerType,
)
from paca.conversations.services import hops
from paca.conversations.services.background import WAKE
from paca.conversations.services.inbox import add_trigger
from paca.conversations.services.teams import texts
from paca.engine.teams.requests import ALL, LEAD, MAX_MESSAGES

KIND = TriggerType.TEAMMATE.value
# The sources of triggers: messages that somebody wrote count for the limit, what Paca tells does not.
WRITTEN, TOLD = "team_message", "team"
SHOWN = 20


class TooManyMessages(Conflict):
    """The team has sent all the messages that it may before a person writes again."""

    code = "too_many_team_messages"


def send(lead: Conversation, *, sender: Teammate | None, to: str, text: str) -> list[str]:
    """Send a message to the lead, a teammate or all; gives the names of the receivers. ``lead`` is locked.

    ``sender`` is None for the lead. Raises ``Conflict`` if there is no such receiver, ``TooManyMessages``.
    """
    name = LEAD if sender is None else sender.name
    mates = list(Teammate.objects.live().filter(lead=lead).exclude(name=name))
    receivers = [mate for mate in mates if to in (ALL, mate.name)]
    to_lead = sender is not None and to in (ALL, LEAD)
    if not receivers and not to_lead:
        known = [each.name for each in mates] + ([LEAD] if sender is not None else [])
        raise Conflict(f"There is no {to} in your team. There are: {', '.join(known) or 'none'}.")
    _require_room(lead, len(receivers) + to_lead)
    message = texts.message(name, text)
    for mate in receivers:
        wake_teammate(mate, message, sender=name, source=WRITTEN)
    if to_lead:
        deliver(lead, message, sender=name, source=WRITTEN)
    return [*([LEAD] if to_lead else []), *(mate.name for mate in receivers)]


def _require_room(lead: Conversation, count: int) -> None:
    """Raises ``TooManyMessages`` if ``count`` more messages are too many: two agents may answer each other for ever."""
    sent = Trigger.objects.filter(
        Q(conversation=lead) | Q(conversation__parent=lead), kind=KIND, source=WRITTEN
    )
    # guard: team-messages-count-on-past-background-work
    by_itself = (KIND, WAKE)
    people = Trigger.objects.filter(conversation=lead).exclude(kind__in=by_itself)
    if (
        last := people.order_by("-created_at").values_list("created_at", flat=True).first()
    ) is not None:
        sent = sent.filter(created_at__gte=last)
    # guard: team-messages-are-capped
    if sent.count() + count > MAX_MESSAGES:
        raise TooManyMessages(
            f"Not sent: a team may send {MAX_MESSAGES} messages until a person writes to its lead again."
            " Go on without messages, and end your turn with what you have."
        )


def wake_teammate(
    mate: Teammate, text: str, *, sender: str, source: str = TOLD, task: str = ""
) -> None:
    """Give a teammate a message to work on. If it is idle, it is working from now on. The lead is locked."""
    rows = Conversation.objects.select_related("agent").for_update()
    child = rows.get(pk=mate.conversation_id)
    if deliver(child, text, sender=sender, source=source):
        tell(mate, "working", task=task)


def deliver(
    to: Conversation,
    text: str,
    *,
    sender: str,
    source: str = TOLD,
    key: str = "",
    wake: bool = True,
) -> bool:
    """Store a message to a locked conversation; whether it is queued for it.

    A running turn reads it at its next step. One that has answered is queued, if ``wake``. A paused, failed or
    stopped one reads it when a person lets it go on: an agent does not undo what a person or a limit has ended.
    """
    # guard: team-message-leaves-a-paused-lead
    queued = wake and to.status == ConversationStatus.FINISHED and is_available(to.agent)
    message = events.MessageReceived(text=text, author_name=sender, trigger=KIND, teammate=sender)
    begins = [events.ConversationQueued(trigger=KIND, by=sender)] if queued else []
    stored = store.append(to.pk, message, *begins)
    # guard: team-counts-as-its-lead-called
    called = hops.of_turn(to.parent_id or to.pk)
    add_trigger(
        to,
        KIND,
        by=sender,
        source=source,
        key=key,
        event_seq=stored.first_seq,
        actor=to.triggered_by,
        hops=called,
    )
    to.refresh_from_db(fields=["status", "next_seq"])
    return queued


def is_available(agent: Agent) -> bool:
    """Whether the agent takes work by itself."""
    return agent.deleted_at is None and agent.status != Agent.Status.INACTIVE


def tell(mate: Teammate, state: str, **facts: object) -> None:
    """Store in the log of the lead what a teammate does now."""
    changed = events.TeammateChanged(
        name=mate.name,
        role=mate.role,
        state=state,
        conversation_id=str(mate.conversation_id),
        **facts,  # type: ignore[arg-type]
    )
    store.append(mate.lead_id, changed)


def read_inbox(conversation: Conversation) -> str:
    """The newest messages of the team to this conversation, the oldest first."""
    found = Trigger.objects.filter(conversation=conversation, kind=KIND).order_by("-event_seq")
    numbers = list(found.values_list("event_seq", flat=True)[:SHOWN])
    after = min(numbers, default=1) - 1
    log = event_log.of_type(conversation.pk, events.MessageReceived, after=after)
    words = [event.text for event in log if event.trigger == KIND]
    return "\n\n".join(words) or "No messages yet. They come by themselves at your next step."
