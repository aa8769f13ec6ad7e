"""Titles that a model writes after the first answer: once, beside the turn, booked, and never in its way."""

import dataclasses

import pytest

from paca.conversations import services
from paca.conversations.models import ModelCall
from paca.engine.titles import SYSTEM
from tests.support.flow import assert_replay_matches, wait_until
from tests.support.model_script import fails, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
WRITES_TITLE = SYSTEM[:40]


@pytest.fixture(autouse=True)
def switched_on(settings):
    settings.TITLE_MODEL = ""


def answer_titles_with(flow, reply):
    """Let the model answer each request for a title with ``reply``, and each other one with a text."""
    flow.model.script(lambda body: reply if WRITES_TITLE in str(body) else says("It is quiet."))


def title_requests(flow):
    return [each for each in flow.model.requests if WRITES_TITLE in str(each)]


def calls_of(conversation):
    return list(ModelCall.objects.filter(conversation=conversation.id, purpose="title"))


def test_chat_gets_a_title_after_its_first_answer_and_once(flow):
    answer_titles_with(flow, says('"The Quiet Week".'))
    conversation = flow.ask("Can you sum up what happened last week?")
    assert conversation.row.title in ("Can you sum up what happened last week?", "The Quiet Week")
    wait_until(lambda: conversation.row.title == "The Quiet Week")
    (changed,) = [each for each in conversation.event_data("title.changed") if each["model"]]
    assert changed == {"title": "The Quiet Week", "by": "", "model": flow.world.agent.model}
    (call,) = calls_of(conversation)
    assert (call.status, call.input_tokens > 0) == ("done", True)
    assert (conversation.status, conversation.row.activity) == ("finished/answered", "")
    flow.ask("And this week?", after=conversation)
    assert conversation.answers == ["It is quiet.", "It is quiet."]
    assert len(title_requests(flow)) == 1
    assert_replay_matches(conversation)


def test_title_that_cannot_be_written_leaves_the_first_words_and_is_not_tried_again(flow):
    answer_titles_with(flow, fails("500"))
    conversation = flow.ask("Sum up the week")
    wait_until(lambda: [each.status for each in calls_of(conversation)] == ["failed"])
    flow.ask("And now?", after=conversation)
    assert conversation.status == "finished/answered"
    assert conversation.row.title == "Sum up the week"
    assert len(title_requests(flow)) == 1
    assert_replay_matches(conversation)


def test_slow_title_delays_no_turn_and_a_worker_that_ends_books_it(flow):
    hangs = dataclasses.replace(says("Late"), fault="hang")
    answer_titles_with(flow, hangs)
    conversation = flow.ask("Sum up the week")
    wait_until(lambda: title_requests(flow))
    flow.ask("And now?", after=conversation)  # the next turn does not wait for it
    flow.stop_worker()
    assert [each.status for each in calls_of(conversation)] == ["cancelled"]
    assert conversation.row.title == "Sum up the week"
    assert_replay_matches(conversation)


def test_person_who_renames_meanwhile_keeps_that_name(flow):
    answer_titles_with(flow, dataclasses.replace(says("The Quiet Week"), first_token_ms=400))
    conversation = flow.ask("Sum up the week")
    wait_until(lambda: title_requests(flow))
    services.rename(conversation.row, title="Mine", by=flow.world.owner)
    wait_until(lambda: [each.status for each in calls_of(conversation)] == ["done"])
    assert conversation.row.title == "Mine"
