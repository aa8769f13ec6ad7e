"""People ask for a summary in place of what came before in a conversation."""

from __future__ import annotations

from django.db import transaction

from paca import events
from paca.common.errors import Invalid
from paca.conversations import event_log, store
from paca.conversations.models import Conversation
from paca.conversations.services.inbox import lock
from paca.projects.models import Member

MAX_FOCUS_CHARACTERS = 2_000
_REQUESTED = events.ContextCompactionRequested
_TYPES = (
    _REQUESTED.type,
    events.ContextCompacted.type,
    events.ContextCompactionSkipped.type,
    events.ConversationForked.type,  # a request above it was made of the origin
)


@transaction.atomic
def request_summary(conversation: Conversation, *, by: Member, focus: str = "") -> None:
    """Let the agent's model write a summary of the conversation, which takes the place of what came before.

    It is made before the next model call: after the step that runs, or before the next message is
    answered. ``focus`` is what it must keep. The same request while one waits changes nothing.

    The request is an event of the log, so it outlives every process; the worker makes the summary when it
    comes to it. Raises ``Invalid`` for a focus that is too long.
    """
    focus = focus.strip()
    if len(focus) > MAX_FOCUS_CHARACTERS:
        raise Invalid(
            fields={
                "focus": [f"At most {MAX_FOCUS_CHARACTERS:,} characters; this has {len(focus):,}."]
            }
        )
    current = lock(conversation)
    newest = [event for _, event in event_log.of_types(current.pk, _TYPES)][-1:]
    waits = newest and isinstance(newest[0], _REQUESTED) and newest[0].focus == focus
    # guard: summary-is-requested-once
    if not waits:
        store.append(current.pk, _REQUESTED(focus=focus, by=by.name))
