"""Runs in both dialects, tool calls written as text (T-29), and rate limits (T-33)."""

import pytest

from paca.agents import services as agents
from paca.conversations import services
from tests.support import openai_dialect
from tests.support.flow import BOTH_DIALECTS, assert_replay_matches
from tests.support.model_script import Raw, calls, fails, says, thinks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]

CALL = '{"name": "bash", "arguments": {"command": "echo ran >> runs.txt; wc -l < runs.txt"}}'
FENCED = f"I count.\n\n```json\n{CALL}\n```"


@BOTH_DIALECTS
def test_run_thinks_calls_tools_and_answers(flow):
    conversation = flow.ask(
        "Where?",
        [thinks("Hm.") + says("I look.") + calls(bash=["echo a", "echo b"]), says("Here.")],
    )
    assert conversation.status == "finished/answered"
    assert conversation.answers == ["I look.", "Here."]
    assert [output.strip()[:1] for output in conversation.outputs] == ["a", "b"]
    assert flow.model.violations == []
    assert_replay_matches(conversation)


@BOTH_DIALECTS
@pytest.mark.parametrize("kind", ["cuttool", "reset"])
def test_broken_stream_is_discarded_and_asked_for_again(flow, kind):
    conversation = flow.ask("Go", [fails(kind), says("Whole.")])
    assert (conversation.status, conversation.answers, conversation.outputs) == (
        "finished/answered",
        ["Whole."],
        [],
    )
    assert len(conversation.event_data("message.discarded")) == 1
    assert [fact["outcome"] for fact in conversation.event_data("usage.recorded")] == [
        "failed",
        "done",
    ]
    assert_replay_matches(conversation)


def test_reply_without_usage_has_no_tokens_and_no_price(flow):
    agents.configure(flow.world.agent, by=flow.world.owner, model="openai/gpt-test", base_url=f"{flow.model.base_url}/v1", llm_api_key="sk-test-1234")  # fmt: skip
    stream = openai_dialect.chunk({"content": "Hello."}, "stop") + b"data: [DONE]\n\n"
    conversation = flow.ask("Hi", [Raw(stream)])
    (used,) = conversation.event_data("usage.recorded")
    assert [used[name] for name in ("input", "output", "cost_usd")] == [None, None, None]
    assert used["estimated_tokens"] > 100
    (call,) = conversation.row.model_calls.all()
    assert (call.input_tokens, call.cost_usd) == (None, None)
    assert conversation.row.usage["cost_usd"] is None
    assert_replay_matches(conversation)


# --- T-29 -----------------------------------------------------------------------------------------


@BOTH_DIALECTS
def test_text_tool_call_is_run_once_if_the_agent_allows_it(flow):
    agents.configure(flow.world.agent, by=flow.world.owner, text_tool_calls=True)
    conversation = flow.ask("Count", [says(FENCED), says("It is 1.")])
    assert conversation.answers == ["I count.", "It is 1."]
    (output,) = conversation.outputs
    assert output.startswith("1")
    first, second = (request.body for request in flow.model.requests)
    assert "tools" not in first
    assert "- bash: " in str(first)
    assert "[result of bash]" in str(second["messages"][-1])
    assert flow.model.violations == []
    assert_replay_matches(conversation)


# --- T-33 -----------------------------------------------------------------------------------------


@BOTH_DIALECTS
def test_rate_limited_run_waits_as_asked_and_goes_on_by_itself(flow):
    conversation = flow.ask("[[fake turns=3 err=429@1x3 retry=0.2]]")
    assert conversation.status == "finished/answered"
    retried = conversation.event_data("model.retried")
    assert [fact["code"] for fact in retried] == ["rate_limited"] * 3
    assert all(0.2 <= fact["wait_seconds"] <= 0.4 for fact in retried)
    assert len(conversation.outputs) == 3
    assert_replay_matches(conversation)


@BOTH_DIALECTS
def test_rate_limited_run_pauses_in_the_end_and_can_be_continued(flow):
    conversation = flow.ask("Hello", [fails("429", retry_after=0.05)] * 4)
    assert conversation.status == "paused/rate_limited"
    assert len(flow.model.requests) == 4
    flow.model.script([says("Back again.")])
    services.continue_(conversation.row, by=flow.world.owner)
    assert flow.wait_until_idle(conversation) == "finished/answered"
    assert conversation.answers == ["Back again."]
    assert_replay_matches(conversation)
