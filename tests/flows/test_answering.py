"""The main journey: a message, model calls, tool calls, an answer; and errors of the model on the way."""

import pytest

from paca.agents import services as agents
from paca.agents.models import Agent
from paca.conversations import services
from tests.support.flow import Flow, assert_replay_matches, wait_until
from tests.support.model_script import calls, fails, says, thinks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


def test_question_is_answered_and_every_event_is_stored(flow):
    conversation = flow.ask("Hello", [thinks("A greeting.") + says("Hello, Ada.")])
    assert conversation.status == "finished/answered"
    assert conversation.answers == ["Hello, Ada."]
    assert conversation.event_types == [
        "message.received",
        "title.changed",
        "conversation.queued",
        "conversation.started",
        "turn.started",
        "usage.recorded",
        "thought.recorded",
        "message.spoken",
        "turn.finished",
        "conversation.finished",
    ]
    assert_replay_matches(conversation)


def test_command_runs_in_the_sandbox_and_its_output_reaches_the_model(flow):
    conversation = flow.ask("Where?", [says("I look.") + calls(bash="echo $((6*7))"), says("42.")])
    assert conversation.answers == ["I look.", "42."]
    (returned,) = conversation.event_data("tool.returned")
    assert returned["exit_code"] == 0
    assert "42" in returned["output"]
    assert "42" in str(flow.model.requests[-1].body["messages"][-1])
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_follow_up_message_has_the_same_files_and_the_whole_history(flow):
    conversation = flow.ask(
        "Make notes", [calls(write_file={"path": "n.txt", "content": "x"}), says("Done")]
    )
    flow.ask("Is it there?", [calls(bash="cat n.txt"), says("Yes.")], after=conversation)
    assert conversation.answers == ["Done", "Yes."]
    assert conversation.outputs[-1].startswith("x")
    assert [turn.number for turn in conversation.row.turns.order_by("number")] == [1, 2]
    first, last = flow.model.requests[0].body, flow.model.requests[-1].body
    assert last["tools"] == first["tools"]
    assert last["system"] == first["system"]
    assert_replay_matches(conversation)


def test_tool_calls_that_read_run_in_parallel_and_writes_in_order(flow):
    reads = calls(*[("list_directory", {"path": "."})] * 3)
    writes = calls(bash=[f"sleep 0.1; echo {n} >> log.txt" for n in range(3)])
    conversation = flow.ask("Go", [reads, writes, calls(bash="cat log.txt"), says("ok")])
    assert conversation.outputs[-1].split()[:3] == ["0", "1", "2"]
    started = [
        frame["seq"] for frame in conversation.frames if frame["type"] == "agent.tool.started"
    ]
    returned = [
        frame["seq"] for frame in conversation.frames if frame["type"] == "agent.tool.returned"
    ]
    assert max(started[:3]) < min(returned[:3])
    assert started[4] > returned[3]
    assert_replay_matches(conversation)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (("no_such_tool", {}), "no_such_tool"),
        (("bash", {"comand": "ls"}), "command"),
        (("bash", {"command": 7}), "command"),
        (("read_file", {"path": "../../etc/passwd"}), "outside"),
        (("read_file", {"path": "missing.txt"}), "missing.txt"),
    ],
)
def test_invalid_tool_call_becomes_a_result_that_the_model_can_use(flow, call, expected):
    conversation = flow.ask("Go", [calls(call), says("I see.")])
    (returned,) = conversation.event_data("tool.returned")
    assert returned["failed"]
    assert expected in returned["output"]
    assert conversation.status == "finished/answered"
    assert_replay_matches(conversation)


def test_broken_reply_is_discarded_whole_and_asked_for_again(flow):
    """T-65: a stream cut in the text or in a call, an error inside it, a reset, an HTML page."""
    faults = "cut@1x1,cuttool@2x1,midover@3x1,reset@4x1,html@5x1"
    text = f"[[fake turns=6 err={faults} cmd='echo {{i}} >> n.txt']]"
    conversation = flow.begin(text)
    flow.wait_until_idle(conversation, 60)
    assert conversation.status == "finished/answered"
    assert len(conversation.event_data("model.retried")) == 5
    flow.ask("And?", [calls(bash="cat n.txt"), says("ok")], after=conversation)
    assert conversation.outputs[-1].split()[:6] == ["0", "1", "2", "3", "4", "5"]
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_rate_limit_is_waited_out_for_the_time_the_provider_asks(flow):
    """T-33."""
    conversation = flow.begin("[[fake turns=1 err=429@0x2 retry=1]]")
    wait_until(lambda: conversation.has_event("model.retried"))
    flow.wait_until_idle(conversation)
    assert conversation.status == "finished/answered"
    waits = [fact["wait_seconds"] for fact in conversation.event_data("model.retried")]
    assert len(waits) == 2
    assert all(1 <= wait < 2.5 for wait in waits)


def test_rate_limit_without_end_pauses_and_a_message_goes_on(flow):
    """T-33: nothing is lost, and a person can always go on."""
    conversation = flow.begin("[[fake err=429@*]]")
    flow.wait_until_idle(conversation)
    assert conversation.status == "paused/rate_limited"
    flow.ask("Once more", [says("Now it works.")], after=conversation)
    assert conversation.status == "finished/answered"
    assert conversation.answers == ["Now it works."]
    assert_replay_matches(conversation)


def test_refused_api_key_fails_with_what_to_do_and_can_be_tried_again(flow):
    conversation = flow.ask("Hello", [fails("401")])
    assert conversation.status == "failed/configuration"
    (failed,) = conversation.event_data("conversation.failed")
    assert "refused the key" in failed["message"]
    assert (
        failed["next_step"] == "Replace the key of Rosa, which ends in 1234, then press Try again."
    )
    flow.ask("Again", [says("Hello.")], after=conversation)
    assert conversation.status == "finished/answered"


def test_empty_reply_is_asked_for_again_and_never_stored(flow):
    """T-31."""
    conversation = flow.begin("[[fake turns=0 err=empty@0x2 say='Here I am.']]")
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["Here I am."]
    assert_replay_matches(conversation)


def test_truncated_answer_is_continued_up_to_three_times(flow):
    pieces = [says(f"part {n} ").stopping("max_tokens") for n in range(5)]
    conversation = flow.ask("Write a book", pieces)
    assert len(conversation.answers) == len(flow.model.requests) == 4
    assert conversation.status == "finished/answered"
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_truncated_tool_call_is_never_run(flow):
    cut = (says("I run it.") + calls(bash="touch never.txt")).stopping("max_tokens")
    conversation = flow.ask("Go", [cut, calls(bash="ls"), says("done")])
    assert "never.txt" not in conversation.outputs[-1]
    assert conversation.status == "finished/answered"


def test_step_limit_is_announced_and_summarised_and_a_message_goes_on(transactional_db, tmp_path):
    with Flow(tmp_path, limit_steps=4) as flow:
        conversation = flow.begin("[[fake turns=20]]")
        flow.wait_until_idle(conversation)
        assert conversation.status == "paused/step_limit"
        assert conversation.has_event("limit.neared")
        assert conversation.has_event("limit.reached")
        assert len(conversation.event_data("tool.called")) == 4
        assert conversation.frames[-3]["type"] == "agent.message.spoken"
        flow.ask("[[fake turns=1]] go on", after=conversation)
        assert conversation.status == "finished/answered"
        assert flow.model.violations == []
        assert_replay_matches(conversation)


def test_raised_limit_applies_to_a_paused_conversation(transactional_db, tmp_path):
    """T-37."""
    with Flow(tmp_path, limit_steps=3) as flow:
        conversation = flow.begin("[[fake turns=20]]")
        flow.wait_until_idle(conversation)
        services.continue_(conversation.row, by=flow.world.owner)
        wait_until(lambda: len(conversation.event_data("turn.finished")) == 2)
        assert conversation.status == "paused/step_limit"
        assert len(conversation.event_data("tool.called")) == 6  # the steps are counted anew
        Agent.objects.update(limit_steps=50)
        flow.ask("[[fake turns=9]] go on", after=conversation)
        assert conversation.status == "finished/answered"
        assert len(conversation.event_data("tool.called")) == 15
        assert flow.model.violations == []


def test_token_limit_pauses_before_the_next_model_call(transactional_db, tmp_path):
    with Flow(tmp_path, limit_tokens=1000) as flow:
        flow.model.script([calls(bash="true"), says("never asked for")])
        flow.model.script(lambda body: calls(bash="echo " + "x" * 2000))
        conversation = flow.begin("Go")
        flow.wait_until_idle(conversation)
        assert conversation.status == "paused/token_budget"
        assert_replay_matches(conversation)


def test_tool_call_written_as_text_is_corrected_once_and_never_run(flow):
    """T-29: the turn does not finish silently, and the model is corrected only once."""
    written = says('```json\n{"name": "bash", "arguments": {"command": "touch never.txt"}}\n```')
    conversation = flow.ask("Go", [written, calls(bash="ls"), written])
    assert conversation.status == "finished/answered"
    assert len(conversation.event_data("guard.noticed")) == 1
    assert "never.txt" not in conversation.outputs[0]
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_cost_limit_is_refused_for_a_model_without_a_known_price(transactional_db, tmp_path):
    """At another base URL the price is not known; tokens can still be counted."""
    with Flow(tmp_path, limit_cost_usd="1.00") as flow:
        conversation = flow.ask("Go", [says("never asked")])
        assert conversation.status == "failed/configuration"
        assert flow.model.requests == []
        agents.configure(flow.world.agent, by=flow.world.owner, limit_tokens=100_000)
        flow.ask("Again", [says("Now.")], after=conversation)
        assert conversation.answers == ["Now."]
