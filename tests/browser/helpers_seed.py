"""A conversation that waits for its helpers, made by ``manage.py shell``; a worker that does not exist runs them."""

from datetime import timedelta
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from paca import events
from paca.conversations import store
from paca.conversations.models import Conversation
from paca.conversations.services import helpers
from paca.engine.helpers.requests import HelpersRequested, Piece
from tests.browser.row_kinds import stopped_chat

TASKS = (
    ("explore", "Find where the prices are rounded \u202e and " + "say so " * 30),
    ("code", "Write the test for the rounding"),
    ("research", "Read what the tasks say about prices"),
)


@transaction.atomic
def conversation() -> UUID:
    """Make the conversation: one helper runs a command, one needs an approval, one has ended."""
    made = stopped_chat("Mend the rounding")
    call = uuid4().hex
    request = HelpersRequested(call, tuple(Piece(kind=kind, task=task) for kind, task in TASKS))
    store.append(made, events.ConversationQueued(trigger="chat_message"))
    store.append(made, events.ConversationStarted(model="demo/guide", demo=True))
    store.append(made, events.ToolCalled(call_id=call, tool="delegate", arguments={}))
    parent = Conversation.objects.select_related("agent").get(pk=made)
    started = helpers.start(parent, request, allowance=None, actor=None, hops=0)
    store.append(made, events.ToolStarted(call_id=call, boot_id=""), *started)
    store.append(made, events.ConversationWaiting(reason="helpers", detail="3 helpers"))
    first, second, third = helpers.of(parent)
    for child in (first, second, third):
        store.append(child.pk, events.ConversationStarted(model="demo/guide", demo=True))
        usage = events.UsageRecorded(
            call_id=uuid4().hex, model="m", input=4200, output=180, cost_usd=0.0312
        )
        store.append(child.pk, usage)
        Conversation.objects.filter(pk=child.pk).update(
            lease_owner="nobody", lease_until=timezone.now() + timedelta(hours=1)
        )
    reading = uuid4().hex
    store.append(
        first.pk,
        events.ToolCalled(call_id=reading, tool="search_files", arguments={}, subject="round("),
        events.ToolStarted(call_id=reading, boot_id=""),
    )
    asked = events.ApprovalRequested(
        call_id=uuid4().hex,
        tool="bash",
        arguments={"command": "rm -r old"},
        subject="rm -r old",
        rule="delete_files",
        why="It deletes files.",
        effect="opaque",
        deadline=(timezone.now() + timedelta(hours=1)).isoformat(),
    )
    store.append(
        second.pk, asked, events.ConversationWaiting(reason="approval", detail="rm -r old")
    )
    store.append(third.pk, events.MessageSpoken(text="Nothing is said."))
    store.append(third.pk, events.ConversationFinished(reason="answered"))
    return made
