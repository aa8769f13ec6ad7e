"""Which conversations get a title from a model, and what becomes of its reply."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from paca.agents import services as agents
from paca.common.errors import Invalid
from paca.conversations import deletion, services
from paca.conversations.models import Conversation, ModelCall
from paca.conversations.services import generated_titles, model_calls
from paca.conversations.services.generated_titles import FirstWords, NoTitleWanted
from paca.engine.limits import TurnProgress
from paca.engine.turn import ModelCallStarted
from paca.events import ConversationForked, MessageSpoken, TitleChanged, UsageRecorded
from paca.worker import claim
from tests.conversations.chat import Chat

pytestmark = pytest.mark.django_db


def call(**facts) -> ModelCallStarted:
    return ModelCallStarted(call_id=uuid4().hex, model="m", purpose="title", **facts)


def answered(chat: Chat, text: str = "Sum up the week") -> Conversation:
    conversation = chat.start(text)["conversation"]
    chat.run_turn(conversation, MessageSpoken(text="It was quiet."))
    return chat.row(conversation)


def words(row: Conversation) -> FirstWords | None:
    return generated_titles.first_words(row.pk, turn=1)


def test_title_is_made_of_the_first_message_and_its_answer():
    row = answered(Chat())
    assert words(row) == FirstWords("Sum up the week", "It was quiet.")


def test_title_of_a_person_a_fork_or_a_second_call_is_not_wanted():
    chat = Chat()
    renamed = answered(chat)
    services.rename(renamed, title="Mine", by=chat.world.owner)
    assert words(renamed) is None
    origin = answered(chat)
    made = chat.api.post(chat.url(origin.pk, "fork/"), {"seq": origin.last_seq}).data["id"]
    assert words(chat.row(made)) is None
    asked = answered(chat)
    generated_titles.append(asked.pk, call())
    assert words(asked) is None
    with pytest.raises(NoTitleWanted):
        generated_titles.append(asked.pk, call())
    assert ModelCall.objects.filter(conversation=asked.pk, purpose="title").count() == 1


def test_call_for_a_title_reads_no_message_of_the_next_turn():
    chat = Chat()
    row = answered(chat)
    services.send(row, text="And now?", by=chat.world.owner)
    (claimed,) = claim.claim("test", lease_seconds=60, limit=1)
    services.send(row, text="More", by=chat.world.owner)
    generated_titles.append(row.pk, call())
    states = row.triggers.values_list("state", flat=True)
    assert sorted(states) == ["claimed", "done", "new"]
    assert claimed.lease.conversation_id == row.pk


def test_running_call_for_a_title_is_not_the_next_workers_to_abandon_and_a_lost_one_is_marked():
    chat = Chat()
    row = answered(chat)
    generated_titles.append(row.pk, call())
    services.send(row, text="And now?", by=chat.world.owner)
    claim.claim("one", lease_seconds=0, limit=1)
    claim.claim("two", lease_seconds=60, limit=1)
    titles = ModelCall.objects.filter(purpose="title")
    assert titles.get().status == "started"
    titles.update(started_at=timezone.now() - timedelta(minutes=11))
    assert model_calls.mark_lost_as_abandoned() == 1
    assert titles.get().status == "abandoned"


def test_title_that_comes_late_changes_neither_status_nor_activity():
    chat = Chat()
    row = answered(chat)
    started = call()
    generated_titles.append(row.pk, started)
    used = UsageRecorded(call_id=started.call_id, model="m", input=3, cost_usd=0.1, purpose="title")
    generated_titles.store_title(row.pk, "## The **quiet** week.", model="m", usage=(used,))
    row.refresh_from_db()
    assert (row.title, row.status, row.activity) == ("The quiet week", "finished", "")
    assert (row.input_tokens, row.cost_usd) == (3, 0.1)
    assert ModelCall.objects.get(pk=started.call_id).status == "done"


def test_title_never_takes_the_place_of_one_that_a_person_gave_meanwhile():
    chat = Chat()
    row = answered(chat)
    generated_titles.append(row.pk, call())
    services.rename(row, title="Mine", by=chat.world.owner)
    generated_titles.store_title(row.pk, "The quiet week", model="m", usage=())
    row.refresh_from_db()
    assert row.title == "Mine"


def test_deleted_conversation_takes_no_title():
    chat = Chat()
    row = answered(chat)
    generated_titles.append(row.pk, call())
    deletion.delete(row, by=chat.world.owner)
    generated_titles.store_title(row.pk, "The quiet week", model="m", usage=())
    row.refresh_from_db()
    assert row.title == ""


@pytest.mark.parametrize(
    ("reply", "title"),
    [
        ('"Totals of the invoices."', "Totals of the invoices"),
        ("**Totals**\nof the invoices", "Totals"),
        ("„Die Rechnung“", "Die Rechnung"),
        ("x" * 90 + " y", "x" * 80 + "…"),
        ("  \n``` \n", ""),
        ("", ""),
        ("\u202eevil\x00", "evil"),
    ],
)
def test_reply_becomes_one_line(reply, title):
    found = generated_titles.title_of(reply)
    assert found == title or found.startswith(title[:-1])


def test_log_says_that_a_title_is_settled():
    assert not TurnProgress().advance(TitleChanged(title="First words")).title_settled
    for event in (
        TitleChanged(title="Mine", by="Ada"),
        TitleChanged(title="The week", model="m"),
        UsageRecorded(call_id="c", model="m", outcome="failed", purpose="title"),
        ConversationForked(conversation_id="x", seq=1),
    ):
        assert TurnProgress().advance(event).title_settled


@pytest.mark.parametrize("model", ["off", "anthropic/claude-haiku-4-5"])
def test_agent_can_have_a_model_for_titles_or_none(model):
    world = Chat().world
    agents.configure(
        world.agent,
        by=world.owner,
        model="anthropic/claude-sonnet-4-5",
        parameters={"title_model": model},
    )
    assert world.agent.parameters == {"title_model": model}


def test_model_for_titles_is_of_the_provider_that_has_the_key():
    world = Chat().world
    with pytest.raises(Invalid) as refused:
        agents.configure(world.agent, by=world.owner, parameters={"title_model": "elsewhere/x"})
    assert "title_model must be a model of" in str(refused.value.fields)
