"""Traces of conversations: every model call as it was sent, without secrets, and never in the way of a run."""

import json
from typing import Any

import pytest
from django.db import DatabaseError

from paca.common import best_effort, disk_space
from paca.conversations.models import ModelCall, Trace, TracedCall
from paca.conversations.services import set_flags
from paca.conversations.traces import store, timeline
from tests.flows.test_fallback import KEY as FALLBACK_KEY
from tests.flows.test_fallback import give_fallback
from tests.support.flow import BOTH_DIALECTS, Flow, ObservedConversation, wait_until
from tests.support.model_script import Raw, calls, fails, says
from tests.support.worker_process import WorkerProcess

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "sk-test-1234"


@pytest.fixture
def traced(flow: Flow) -> Flow:
    """A flow whose agent traces."""
    flow.world.agent.tracing = True
    flow.world.agent.save(update_fields=["tracing"])
    return flow


def contents(conversation: ObservedConversation) -> list[tuple[TracedCall, Any]]:
    """The traced calls, once all of them are stored."""
    ended = ModelCall.objects.filter(conversation=conversation.id).exclude(status="started")
    stored = TracedCall.objects.filter(trace=conversation.id)
    wait_until(lambda: stored.count() == ended.count(), 30)
    return list(store.read_all(conversation.id))


def bodies(found: list[tuple[TracedCall, Any]]) -> list[bytes]:
    return [body for _, each in found for body in each.bodies]


@BOTH_DIALECTS
def test_trace_has_the_requests_that_the_server_received_byte_for_byte(traced: Flow) -> None:
    replies = [
        calls(bash={"command": "echo one"}),
        fails("529", retry_after=0.01),
        calls(bash={"command": "echo 'zwei: 漢字'"}),
        says("Done."),
    ]
    conversation = traced.ask("Count ☃", replies)
    traced.ask("And again?", [says("Again.")], after=conversation)
    found = contents(conversation)
    assert bodies(found) == [each.raw for each in traced.model.requests]
    facts = [
        (row.turn, row.attempt, row.outcome, row.http_status, bool(each.facts["reply"]))
        for row, each in found
    ]
    failed = (1, 1, "failed", found[1][0].http_status, False)
    assert facts == [
        (1, 1, "done", 200, True),
        failed,
        (1, 2, "done", 200, True),
        (1, 1, "done", 200, True),
        (2, 1, "done", 200, True),
    ]
    assert found[1][1].facts["error"]["code"]
    assert found[1][0].http_status in (429, 503, 529)
    reply = found[3][1].facts["reply"]
    assert [block["text"] for block in reply["blocks"]] == ["Done."]
    for row, _ in found:
        last_byte = row.last_byte_seconds if row.outcome == "done" else row.first_byte_seconds
        assert 0 <= row.first_byte_seconds <= last_byte


def test_trace_holds_no_key_in_any_place(traced: Flow) -> None:
    echo = json.dumps({"leaked": KEY})
    conversation = traced.ask(
        f"My key is {KEY}", [calls(bash={"command": f"echo {KEY}"}), says(f"It is {KEY}.")]
    )
    refusal = json.dumps({"error": {"type": "invalid_request_error", "message": f"no: {KEY}"}})
    traced.ask(echo, [Raw(refusal.encode(), status=400)], after=conversation)
    found = contents(conversation)
    assert found
    for _, each in found:
        whole = json.dumps(each.facts) + b"".join(each.bodies).decode()
        assert KEY not in whole
        assert "***" in whole
    # Nor does the database hold any of it in the clear.
    for sealed in TracedCall.objects.values_list("contents", flat=True):
        assert b"Count" not in bytes(sealed)


def test_calls_of_the_fallback_are_traced_without_either_key(traced: Flow) -> None:
    give_fallback(traced)
    own, other = KEY, FALLBACK_KEY
    conversation = traced.ask(f"Keys: {own} {other}", [fails("401"), says(f"{own} {other}")])
    found = contents(conversation)
    assert [row.outcome for row, _ in found] == ["failed", "done"]
    assert len({row.model for row, _ in found}) == 2
    for _, each in found:
        whole = json.dumps(each.facts) + b"".join(each.bodies).decode()
        assert own not in whole
        assert other not in whole


@pytest.mark.service
def test_killed_worker_loses_the_trace_of_the_open_call_only(traced: Flow) -> None:
    traced.stop_worker()
    with WorkerProcess(traced.folder) as process:
        slow = says("Slow " * 60).slowly(tps=10)
        conversation = traced.begin(
            "Go", [calls(bash={"command": "echo one"}), slow, says("Here.")]
        )
        wait_until(lambda: len(traced.model.requests) == 2)
        wait_until(lambda: TracedCall.objects.count() == 1)
        process.kill()
        process.start()
        traced.wait_until_idle(conversation)
        wait_until(lambda: TracedCall.objects.count() == 2)
    requests = [each.raw for each in traced.model.requests]
    assert bodies(list(store.read_all(conversation.id))) == [requests[0], requests[2]]
    assert conversation.answers == ["Here."]


def test_conversation_is_traced_from_the_turn_after_its_flag_on(flow: Flow) -> None:
    conversation = flow.ask("One", [says("1")])
    assert not Trace.objects.exists()
    set_flags(conversation.row, tracing=True, by=flow.world.owner)
    flow.ask("Two", [says("2")], after=conversation)
    wait_until(TracedCall.objects.exists, 20)
    set_flags(conversation.row, tracing=False, by=flow.world.owner)
    flow.ask("Three", [says("3")], after=conversation)
    flow.stop_worker()  # it stores what waits
    assert [row.turn for row, _ in store.read_all(conversation.id)] == [2]
    page = timeline.page(conversation.row, limit=100)
    assert [bool(each["trace"]) for each in page.calls] == [False, True, False]
    changes = conversation.event_data("flags.changed")
    assert [(each["tracing"], each["by"]) for each in changes] == [
        (True, flow.world.owner.name),
        (False, flow.world.owner.name),
    ]


def test_installation_can_forbid_traces(traced: Flow, settings: Any) -> None:
    settings.TRACING = False
    conversation = traced.ask("One", [says("1")])
    assert conversation.answers == ["1"]
    traced.stop_worker()
    assert not Trace.objects.exists()


@pytest.mark.parametrize("fault", ["database", "disk", "recording", "masking"])
def test_trace_that_cannot_be_written_changes_nothing(
    traced: Flow, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise disk_space.DiskFull if fault == "disk" else DatabaseError("broken")

    place = {
        "database": "paca.conversations.traces.store.store",
        "disk": "paca.conversations.traces.store.require_space",
        "recording": "paca.engine.llm.recorded_exchange._exchange_of",
        "masking": "paca.conversations.traces.contents.without_secrets",
    }[fault]
    monkeypatch.setattr(place, fail)
    before = best_effort.failures["trace"]
    conversation = traced.ask("Go", [calls(bash={"command": "echo one"}), says("Done.")])
    assert conversation.answers == ["Done."]
    assert len(traced.model.requests) == 2
    traced.stop_worker()
    assert best_effort.failures["trace"] == before + 2
    if fault != "recording":
        assert not TracedCall.objects.exists()


def test_demo_is_traced_without_http(traced: Flow) -> None:
    agent = traced.world.agent
    agent.model, agent.base_url = "demo/guide", ""
    agent.save()
    conversation = traced.ask("Hello")
    (row, each), *_ = contents(conversation)
    assert (row.model, row.http_status, row.outcome) == ("demo/guide", None, "done")
    assert json.loads(each.bodies[0])["messages"][-1]["blocks"][0]["text"] == "Hello"
