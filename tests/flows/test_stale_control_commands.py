"""Control commands that are read during one turn and delivered in the next count for the first."""

import pytest

from paca.worker import main
from tests.support.flow import assert_replay_matches, wait_until
from tests.support.model_script import says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


def test_interrupt_that_is_delivered_late_does_not_end_the_turn_that_answers_it(flow, monkeypatch):
    read = main.pending_requests

    def late(conversations):
        found = read(conversations)
        if found:
            wait_until(lambda: conversation.row.turn_number == 2)
        return found

    monkeypatch.setattr(main, "pending_requests", late)
    conversation = flow.begin(
        "One", [says("First.").slowly(ftd=4000), says("Second " * 20).slowly(tps=20)]
    )
    wait_until(lambda: flow.model.in_flight == 1)
    flow.send(conversation, "Two", on_busy="interrupt")
    flow.wait_until_idle(conversation)
    assert conversation.status == "finished/answered"
    assert conversation.answers[0] == "First."
    assert conversation.answers[1].startswith("Second")
    assert_replay_matches(conversation)
