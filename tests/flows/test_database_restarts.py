"""The database is restarted in the middle of everything: nothing is lost, and nothing runs twice."""

import time

import pytest

from paca.asgi import application
from tests.realtime.pages import conversation_page, session
from tests.support import direct
from tests.support.flow import Flow, assert_replay_matches, until
from tests.support.live_server import running
from tests.support.model_script import calls, says

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.service,
    pytest.mark.django_db(transaction=True),
]


def test_a_turn_under_way_is_carried_on_when_every_connection_is_cut(flow: Flow):
    command = "echo x >> once.txt; sleep 4; echo whole"
    told = flow.begin("Go", [calls(bash=command), calls(bash="cat once.txt"), says("Once.")])
    until(lambda: told.has("tool.started"))
    for _ in range(6):
        direct.end_sessions()
        time.sleep(0.3)  # between the cuts there is time to come back, and to be cut again
    flow.rest(told)
    assert told.status == "finished/answered"
    assert told.answers == ["Once."]
    assert "whole" in told.outputs[0]
    assert told.outputs[1].splitlines()[0] == "x"
    assert told.outputs[1].splitlines()[1].startswith("[exit 0")
    assert flow.model.violations == []
    assert_replay_matches(told)


def test_a_reply_under_way_is_stored_once_when_every_connection_is_cut(flow: Flow):
    told = flow.begin("Hello", [says("Slow " * 30).slowly(tps=10), says("Slow " * 30)])
    until(lambda: flow.model.in_flight == 1)
    direct.end_sessions()
    flow.rest(told)
    assert len(told.answers) == 1
    assert_replay_matches(told)


def test_the_next_message_needs_no_new_socket(flow: Flow):
    told = flow.ask("Hello", [says("Here.")])
    with running(application) as server:
        headers = session(server, flow.world.user)
        with conversation_page(server, told.id, headers) as page:
            page.until("ready")
            assert direct.end_sessions() > 0
            flow.model.script([says("Still here.")])
            assert page.ask("message", text="And now?", client_id="1")["type"] == "ack"
            page.until(lambda frame: frame["data"].get("text") == "Still here.", 20)
            assert page.seqs == list(range(1, page.seqs[-1] + 1))
    flow.rest(told)
    assert_replay_matches(told)
