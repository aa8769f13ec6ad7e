"""Orders read for one turn and delivered in the next: each counts for the turn it was given to."""

import pytest

from paca.worker import main
from tests.support.flow import assert_replay_matches, until
from tests.support.model_script import says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


def test_an_interrupt_that_comes_late_does_not_end_the_turn_that_answers_it(flow, monkeypatch):
    read = main.orders_for

    def late(conversations):
        found = read(conversations)
        if found:
            until(lambda: told.row.turn_number == 2)
        return found

    monkeypatch.setattr(main, "orders_for", late)
    told = flow.begin("One", [says("First.").slowly(ftd=4000), says("Second " * 20).slowly(tps=20)])
    until(lambda: flow.model.in_flight == 1)
    flow.send(told, "Two", on_busy="interrupt")
    flow.rest(told)
    assert told.status == "finished/answered"
    assert told.answers[0] == "First."
    assert told.answers[1].startswith("Second")
    assert_replay_matches(told)
