"""Journeys in a split deployment: two web servers and two workers share only PostgreSQL and Valkey."""

import time

import pytest

from tests.support.flow import wait_until
from tests.support.model_script import calls, says
from tests.support.split_deployment import end

pytestmark = pytest.mark.service
PATIENCE = 90  # seconds: a worker may load a large library first, while other tests run
in_both_dialects = pytest.mark.parametrize("rosa", ["anthropic", "openai"], indirect=True)
SLOW = says("Slow " * 200).slowly(tps=10)


@in_both_dialects
def test_answer_is_shown_live_and_equal_on_every_web_server(team, rosa, model, webs):
    team.workers(2)
    long = says("One word after the other. " * 8).slowly(tps=40)
    model.script([says("I look.") + calls(bash="echo from-the-sandbox"), long])
    talk = rosa.begin("Go")
    with talk.page() as here, talk.seen_at(webs[1]).page() as there:
        for page in (here, there):
            page.wait_until("agent.text.streamed", PATIENCE)
            page.wait_until("agent.conversation.finished", PATIENCE)
            assert page.seqs == list(range(1, page.seqs[-1] + 1))
    assert [each["output"].splitlines()[0] for each in talk.all("tool.returned")] == [
        "from-the-sandbox"
    ]
    assert talk.seen_at(webs[1]).frames == talk.frames
    assert model.violations == []


def test_stop_reaches_a_worker_in_another_process_at_once(team, rosa, model, webs):
    team.workers(2)
    model.script([calls(bash="sleep 300")])
    talk = rosa.begin("Go")
    with talk.page() as page:
        page.wait_until("agent.tool.started", PATIENCE)
        began = time.monotonic()
        talk.seen_at(webs[1]).stop()
        page.wait_until("agent.conversation.stopped", 10)
        assert time.monotonic() - began < 5
    assert talk.rest() == "stopped/by_person"


@in_both_dialects
def test_conversations_of_a_killed_worker_go_on_in_the_other_one(team, rosa, model):
    both = team.workers(2)
    command = "echo x >> once.txt; echo begun; sleep 4; echo whole"
    model.script([calls(bash=command), calls(bash="cat once.txt"), says("Once.")])
    talk = rosa.begin("Go")
    with talk.page() as page:
        page.wait_until("agent.tool.progressed", PATIENCE)
    team.holder(talk.id, both).kill()
    assert talk.rest() == "finished/answered"
    assert talk.answers == ["Once."]
    first, second = (each["output"] for each in talk.all("tool.returned"))
    assert "whole" in first
    assert second.splitlines()[0] == "x", "the command ran twice"
    assert talk.has("conversation.resumed")
    assert model.violations == []


def test_worker_that_drains_leaves_its_work_to_the_other_one(team, rosa, model):
    both = team.workers(2)
    model.script([SLOW, says("Here.")])
    talk = rosa.begin("Go")
    wait_until(lambda: model.in_flight == 1, PATIENCE)
    leaving = team.holder(talk.id, both)
    began = time.monotonic()
    assert end(leaving) == 0, leaving.output
    assert time.monotonic() - began < 30
    assert "Traceback" not in leaving.output
    assert talk.rest() == "finished/answered"
    assert talk.answers == ["Here."]
    assert wait_until(lambda: talk.person.ready()["workers"]["working"] == 1)


def test_work_without_a_worker_waits_and_pages_say_why(team, rosa, model):
    team.workers(1)
    model.script([says("First.")])
    talk = rosa.begin("Go")
    talk.rest()
    team.workers(0)
    talk.say("And now?")
    person = talk.person
    assert person.api("GET", "/workers/") == {"working": 0}
    ready = person.ready()
    assert ready["parts"]["workers"] == "none is alive"
    assert ready["queue"]["waiting"] == 1
    row = talk.row
    assert (row["status"], row["activity"]) == ("queued", "waiting_for_worker")
    model.script([says("Second.")])
    team.workers(1)
    assert talk.rest() == "finished/answered"
    assert talk.answers == ["First.", "Second."]
    assert person.ready()["status"] == "ready", person.ready()


def test_web_server_that_shuts_down_tells_its_pages_to_reconnect(team, rosa, model):
    team.workers(1)
    model.script([says("Fine.")])
    leaving = team.web("web-3")
    talk = rosa.begin("Go")
    talk.rest()
    with talk.seen_at(leaving).page() as page:
        page.wait_until("ready")
        leaving.process.terminate()
        assert page.close_code(20) == 1012
    assert leaving.process.wait(20) == 0
