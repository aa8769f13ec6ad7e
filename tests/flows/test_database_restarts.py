"""The database is restarted during a run: nothing is lost, and nothing runs twice."""

import pytest

from paca.asgi import application
from tests.realtime.pages import conversation_page, session_headers
from tests.support import postgres_sessions
from tests.support.flow import UNTIL_ALLOWED, Flow, assert_replay_matches, wait_until
from tests.support.live_server import running
from tests.support.model_script import calls, says

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.service,
    pytest.mark.django_db(transaction=True),
]


def test_turn_is_carried_on_after_every_database_connection_was_cut(flow: Flow):
    command = f"echo x >> once.txt; {UNTIL_ALLOWED}; echo whole"
    conversation = flow.begin(
        "Go", [calls(bash=command), calls(bash="cat once.txt"), says("Once.")]
    )
    wait_until(lambda: conversation.has_event("tool.started"))
    for _ in range(6):
        postgres_sessions.end_sessions()
        wait_until(postgres_sessions.sessions)  # the worker has connected again
    flow.let_command_end(conversation)
    flow.wait_until_idle(conversation)
    assert conversation.status == "finished/answered"
    assert conversation.answers == ["Once."]
    assert "whole" in conversation.outputs[0]
    assert conversation.outputs[1].splitlines()[0] == "x"
    assert conversation.outputs[1].splitlines()[1].startswith("[exit 0")
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_reply_is_stored_once_after_every_database_connection_was_cut(flow: Flow):
    conversation = flow.begin("Hello", [says("Slow " * 30).slowly(tps=10), says("Slow " * 30)])
    wait_until(lambda: flow.model.in_flight == 1)
    postgres_sessions.end_sessions()
    flow.wait_until_idle(conversation)
    assert len(conversation.answers) == 1
    assert_replay_matches(conversation)


def test_socket_still_works_after_every_database_connection_was_cut(flow: Flow):
    conversation = flow.ask("Hello", [says("Here.")])
    with running(application) as server:
        headers = session_headers(server, flow.world.user)
        with conversation_page(server, conversation.id, headers) as page:
            page.until("ready")
            assert postgres_sessions.end_sessions() > 0
            flow.model.script([says("Still here.")])
            assert page.ask("message", text="And now?", client_id="1")["type"] == "ack"
            page.until(lambda frame: frame["data"].get("text") == "Still here.", 20)
            assert page.seqs == list(range(1, page.seqs[-1] + 1))
    flow.wait_until_idle(conversation)
    assert_replay_matches(conversation)
