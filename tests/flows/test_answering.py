"""The main journey: a message, model calls, tool calls, an answer; and errors of the model on the way."""

import pytest

from paca.agents.models import Agent
from paca.conversations import services
from paca.conversations.models import Sandbox
from tests.support.flow import BOTH_DIALECTS, Flow, assert_replay_matches, wait_until
from tests.support.model_script import calls, fails, says, thinks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@BOTH_DIALECTS
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


@BOTH_DIALECTS
def test_command_runs_in_the_sandbox_and_its_output_reaches_the_model(flow):
    conversation = flow.ask("Where?", [says("I look.") + calls(bash="echo $((6*7))"), says("42.")])
    assert conversation.answers == ["I look.", "42."]
    (returned,) = conversation.event_data("tool.returned")
    assert returned["exit_code"] == 0
    assert "42" in returned["output"]
    assert "42" in str(flow.model.requests[-1].messages[-1])
    assert flow.model.violations == []
    assert_replay_matches(conversation)


@BOTH_DIALECTS
def test_follow_up_message_has_the_same_files_and_the_whole_history(flow):
    conversation = flow.ask(
        "Make notes", [calls(write_file={"path": "n.txt", "content": "x"}), says("Done")]
    )
    flow.ask("Is it there?", [calls(bash="cat n.txt"), says("Yes.")], after=conversation)
    assert conversation.answers == ["Done", "Yes."]
    assert conversation.outputs[-1].startswith("x")
    wait_until(lambda: Sandbox.objects.get(conversation=conversation.id).workspace_bytes)
    assert [turn.number for turn in conversation.row.turns.order_by("number")] == [1, 2]
    first, last = flow.model.requests[0], flow.model.requests[-1]
    assert last.body["tools"] == first.body["tools"]
    assert last.system == first.system != ""
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
