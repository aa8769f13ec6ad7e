"""Journeys in a split deployment: two web servers and two workers share only PostgreSQL and Valkey."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.flow import UNTIL_ALLOWED, wait_until
from tests.support.mcp_caller import NEW, OLD, McpCaller
from tests.support.model_script import calls, says
from tests.support.promises import DRAIN_SECONDS, END_COMMAND_SECONDS, kept
from tests.support.split_deployment import end

pytestmark = pytest.mark.service
PATIENCE = 90  # seconds: a worker may load a large library first, while other tests run
in_both_dialects = pytest.mark.parametrize("agent", ["anthropic", "openai"], indirect=True)
SLOW = says("Slow " * 200).slowly(tps=10)


@in_both_dialects
def test_answer_is_shown_live_and_equal_on_every_web_server(deployment, agent, model, webs):
    deployment.workers(2)
    long = says("One word after the other. " * 8).slowly(tps=40)
    model.script([says("I look.") + calls(bash="echo from-the-sandbox"), long])
    conversation = agent.start_conversation("Go")
    with conversation.page() as here, conversation.on_server(webs[1]).page() as there:
        for page in (here, there):
            page.until("agent.text.streamed", PATIENCE)
            page.until("agent.conversation.finished", PATIENCE)
            assert page.seqs == list(range(1, page.seqs[-1] + 1))
    assert [
        each["output"].splitlines()[0] for each in conversation.event_data("tool.returned")
    ] == ["from-the-sandbox"]
    assert conversation.on_server(webs[1]).frames == conversation.frames
    assert model.violations == []


def test_stop_reaches_a_worker_in_another_process_at_once(deployment, agent, model, webs):
    deployment.workers(2)
    model.script([calls(bash="sleep 300")])
    conversation = agent.start_conversation("Go")
    with conversation.page() as page:
        page.until("agent.tool.started", PATIENCE)
        with kept(END_COMMAND_SECONDS):
            conversation.on_server(webs[1]).stop()
            page.until("agent.conversation.stopped", 20)
    assert conversation.wait_until_idle() == "stopped/by_person"


@in_both_dialects
def test_conversations_of_a_killed_worker_go_on_in_the_other_one(deployment, agent, model):
    both = deployment.workers(2)
    command = f"echo x >> once.txt; echo begun; {UNTIL_ALLOWED}; echo whole"
    model.script([calls(bash=command), calls(bash="cat once.txt"), says("Once.")])
    conversation = agent.start_conversation("Go")
    with conversation.page() as page:
        page.until("agent.tool.progressed", PATIENCE)
    deployment.owner_of(conversation.id, both).kill()
    deployment.let_command_end(conversation.id)
    assert conversation.wait_until_idle() == "finished/answered"
    assert conversation.answers == ["Once."]
    first, second = (each["output"] for each in conversation.event_data("tool.returned"))
    assert "whole" in first
    assert second.splitlines()[0] == "x", "the command ran twice"
    assert conversation.has_event("conversation.resumed")
    assert model.violations == []


def test_worker_that_drains_leaves_its_work_to_the_other_one(deployment, agent, model):
    both = deployment.workers(2)
    model.script([SLOW, says("Here.")])
    conversation = agent.start_conversation("Go")
    wait_until(lambda: model.in_flight == 1, PATIENCE)
    leaving = deployment.owner_of(conversation.id, both)
    with kept(DRAIN_SECONDS):
        assert end(leaving, seconds=60) == 0, leaving.output
    assert "Traceback" not in leaving.output
    assert conversation.wait_until_idle() == "finished/answered"
    assert conversation.answers == ["Here."]
    assert wait_until(lambda: conversation.client.ready()["workers"]["working"] == 1)


def test_mcp_clients_of_any_web_server_start_one_agent_with_one_key_and_wait_anywhere(
    deployment, agent, model, webs
):
    deployment.workers(1)
    model.script([says("Forty boats.")])
    token = agent.client.token
    project = agent.client.project.rpartition("/")[2]
    callers = [
        McpCaller(webs[n % 2].port, token, version) for n, version in enumerate((OLD, NEW) * 2)
    ]
    with ThreadPoolExecutor(4) as threads:
        starts = [
            threads.submit(
                caller.tool,
                "start_agent",
                project=project,
                agent=agent.id,
                instruction="Count the boats",
                idempotency_key=f"boats-{agent.id}",
            )
            for caller in callers
        ]
    (conversation,) = {start.result()["conversation"]["id"] for start in starts}
    for caller in callers:
        found = {"is_working": True}
        while found["is_working"]:
            found = caller.tool("wait_for_agent", project=project, conversation=conversation)
        assert found["answer"] == "Forty boats."
    assert model.violations == []


def test_work_without_a_worker_waits_and_pages_say_why(deployment, agent, model):
    deployment.workers(1)
    model.script([says("First.")])
    conversation = agent.start_conversation("Go")
    conversation.wait_until_idle()
    deployment.workers(0)
    conversation.send("And now?")
    client = conversation.client
    assert client.api("GET", "/workers/") == {"working": 0}
    ready = client.ready()
    assert ready["parts"]["workers"] == "none is alive"
    assert ready["queue"]["waiting"] == 1
    row = conversation.row
    assert (row["status"], row["activity"]) == ("queued", "waiting_for_worker")
    model.script([says("Second.")])
    deployment.workers(1)
    assert conversation.wait_until_idle() == "finished/answered"
    assert conversation.answers == ["First.", "Second."]
    assert client.ready()["status"] == "ready", client.ready()


def test_web_server_that_shuts_down_tells_its_pages_to_reconnect(deployment, agent, model):
    deployment.workers(1)
    model.script([says("Fine.")])
    leaving = deployment.web("web-3")
    conversation = agent.start_conversation("Go")
    conversation.wait_until_idle()
    with conversation.on_server(leaving).page() as page:
        page.until("ready")
        leaving.process.terminate()
        assert page.close_code(20) == 1012
    assert leaving.process.wait(20) == 0
