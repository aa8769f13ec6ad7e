"""A conversation that leads a team, made by ``manage.py shell``; a worker that does not exist runs it."""

from datetime import timedelta
from uuid import UUID, uuid4

from django.db import transaction
from django.utils import timezone

from paca import events
from paca.conversations import store
from paca.conversations.models import Conversation, Trigger
from paca.conversations.services.teams import members, settling
from paca.engine.teams.requests import Spawn
from paca.projects.services import tasks
from tests.browser.row_kinds import stopped_chat

MATES = (("ann", "writes the tests"), ("bob", "reads the \u202e docs " + "and so on " * 30))


@transaction.atomic
def conversation() -> UUID:
    """Make the conversation: one teammate runs a command, one is idle."""
    made = stopped_chat("Ship the release")
    store.append(made, events.ConversationQueued(trigger="chat_message"))
    store.append(made, events.ConversationStarted(model="demo/guide", demo=True))
    lead = Conversation.objects.select_related("agent").get(pk=made)
    tasks.lock_project(lead.project_id)
    ann, bob = (
        members.spawn(lead, Spawn(name=name, role=role, work="Do it."), allowance=None, actor=None)
        for name, role in MATES
    )
    for mate in (ann, bob):
        begun = (
            events.ConversationStarted(model="demo/guide", demo=True),
            events.TurnStarted(number=1),
        )
        store.append(mate.conversation_id, *begun)
    call = uuid4().hex
    running = events.ToolCalled(call_id=call, tool="bash", arguments={}, subject="make test")
    store.append(ann.conversation_id, running, events.ToolStarted(call_id=call, boot_id=""))
    said = events.MessageSpoken(text="The docs are read.")
    ended = events.TurnFinished(number=1, status="finished", reason="answered")
    store.append(bob.conversation_id, said, ended, events.ConversationFinished(reason="answered"))
    Conversation.objects.filter(pk__in=(made, ann.conversation_id)).update(
        lease_owner="nobody", lease_until=timezone.now() + timedelta(hours=1)
    )
    settling.settle(made, now=timezone.now())
    return made


@transaction.atomic
def answered() -> UUID:
    """The same conversation after an answer of the lead, with more events than a page loads at first."""
    made = conversation()
    Trigger.objects.filter(conversation=made).update(state="done")
    Conversation.objects.filter(pk=made).update(lease_owner="", lease_until=None)
    titles = (events.TitleChanged(title=f"Ship release {number}") for number in range(250))
    said = events.MessageSpoken(text="I wait for the team.")
    store.append(made, *titles, said, events.ConversationFinished(reason="answered"))
    return made
