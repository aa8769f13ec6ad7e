"""Stop, interrupt, queue and pause: people decide, and none of their messages is lost."""

import time

import pytest

from paca.conversations import services
from paca.conversations.services import ConversationBusy
from tests.support.flow import BOTH_DIALECTS, UNTIL_ALLOWED, assert_replay_matches, wait_until
from tests.support.model_script import calls, fails, says
from tests.support.promises import END_COMMAND_SECONDS, STOP_SECONDS, kept

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@pytest.mark.parametrize("fault", ["hang", "stall"])
def test_stop_closes_the_connection_to_the_model_within_a_second(flow, fault):
    """T-07."""
    conversation = flow.begin("Hello", [fails(fault)])
    wait_until(lambda: flow.model.in_flight == 1)
    with kept(STOP_SECONDS):
        flow.stop(conversation)
        flow.wait_until_idle(conversation)
        assert flow.model.wait_until_idle(20)
    assert conversation.status == "stopped/by_person"
    asked = len(flow.model.requests)
    flow.ask("Still there?", [says("Yes.")], after=conversation)
    assert conversation.answers == ["Yes."]
    assert len(flow.model.requests) == asked + 1
    assert_replay_matches(conversation)


def test_stop_ends_a_command_and_its_whole_tree_within_two_seconds(flow):
    deaf = "(trap '' TERM; echo x > deaf; sleep 301)"
    command = f"sleep 300 & {deaf} & echo begun; echo x > begun; sleep 302"
    conversation = flow.begin("Go", [calls(bash=command)])
    flow.wait_until_written(conversation, "deaf")
    flow.wait_until_written(conversation, "begun")
    with kept(END_COMMAND_SECONDS):
        flow.stop(conversation)
        flow.wait_until_idle(conversation)
    (returned,) = conversation.event_data("tool.returned")
    assert returned["cause"] == "cancelled"
    assert "Stopped by" in returned["output"]
    assert "begun" in returned["output"]
    flow.ask(
        "Who runs?", [calls(bash="pgrep -a sleep || echo nobody"), says("ok")], after=conversation
    )
    assert "nobody" in conversation.outputs[-1]
    assert flow.model.violations == []
    assert_replay_matches(conversation)


@BOTH_DIALECTS
def test_message_after_a_stop_reaches_the_model_with_what_people_saw_of_its_answer(flow, shown):
    conversation = flow.begin("One", [says("Slow " * 60).slowly(tps=20), says("Second.")])
    wait_until(lambda: len("".join(shown)) > 10)
    flow.stop(conversation)
    flow.send(conversation, "Two")
    wait_until(lambda: conversation.answers, describe=lambda: conversation.status)
    flow.wait_until_idle(conversation)
    (first, _), (middle, cut_off), (last, second) = flow.model.requests[-1].texts
    assert [first, middle, last] == ["user", "assistant", "user"]
    assert "Slow Slow" in cut_off
    assert "stopped you here" in second
    assert "Two" in second
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_limit_that_is_changed_during_a_turn_counts_from_the_next_call_on(flow):
    replies = [calls(bash=UNTIL_ALLOWED), says("So far.")]
    conversation = flow.begin("Go", replies)
    wait_until(lambda: conversation.has_event("tool.started"))
    flow.world.agent.limit_steps = 1
    flow.world.agent.save()
    flow.let_command_end(conversation)
    flow.wait_until_idle(conversation)
    assert conversation.status == "paused/step_limit"
    assert conversation.event_data("conversation.paused")[0]["limit"] == 1
    assert conversation.row.detail.endswith("Continue or a message gives it 1 step more.")


def test_message_after_a_stop_starts_a_turn_however_long_the_stop_takes(flow):
    deaf = "trap '' TERM; echo x > deaf; while true; do sleep 0.2; done"
    conversation = flow.begin("Go", [calls(bash=deaf), says("Something else.")])
    flow.wait_until_written(conversation, "deaf")
    flow.send(conversation, "Before the stop")
    flow.stop(conversation)
    flow.send(conversation, "After the stop")
    wait_until(lambda: conversation.answers, describe=lambda: conversation.status)
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["Something else."]
    assert conversation.event_types.count("conversation.stopped") == 1
    turns = dict(conversation.row.triggers.filter(control="").values_list("event_seq", "turn"))
    assert [turns[seq] for seq in sorted(turns)] == [1, None, 2]
    assert_replay_matches(conversation)


@BOTH_DIALECTS
def test_message_during_a_turn_is_read_at_the_next_step(flow):
    conversation = flow.begin("Go", [calls(bash=UNTIL_ALLOWED), says("Both done.")])
    wait_until(lambda: conversation.has_event("tool.started"))
    sent = flow.send(conversation, "And also this")
    assert sent.turn is None
    flow.let_command_end(conversation)
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["Both done."]
    assert "And also this" in flow.model.requests[-1].texts[-1][1]
    assert conversation.row.turns.count() == 1
    assert_replay_matches(conversation)


def test_message_during_the_final_reply_gets_a_turn_of_its_own(flow):
    conversation = flow.begin("One", [says("First " * 20).slowly(tps=30), says("Second answer.")])
    wait_until(lambda: flow.model.in_flight == 1)
    flow.send(conversation, "Two")
    flow.wait_until_idle(conversation)
    assert conversation.answers[-1] == "Second answer."
    assert conversation.row.turns.count() == 2
    roles = [role for role, _ in flow.model.requests[-1].texts]
    assert roles == ["user", "assistant", "user"]
    assert_replay_matches(conversation)


def test_message_during_a_failed_attempt_is_read_by_the_next_attempt(flow):
    conversation = flow.begin("One", [fails("cut").slowly(ftd=1500), says("Both.")])
    wait_until(lambda: flow.model.in_flight == 1)
    flow.send(conversation, "Two")
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["Both."]
    assert "Two" in flow.model.requests[-1].texts[-1][1]
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_interrupt_ends_the_turn_and_starts_the_next(flow):
    conversation = flow.begin("Go", [calls(bash="sleep 300"), says("Changed course.")])
    wait_until(lambda: conversation.has_event("tool.started"))
    flow.send(conversation, "No, do this instead", on_busy="interrupt")
    flow.wait_until_idle(conversation)  # sooner than the command ends
    assert conversation.status == "finished/answered"
    assert conversation.answers == ["Changed course."]
    turns = [(turn.status, turn.reason) for turn in conversation.row.turns.order_by("number")]
    assert turns == [("stopped", "interrupted"), ("finished", "answered")]
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_message_refused_by_a_busy_conversation_is_not_stored(flow):
    conversation = flow.begin("Go", [calls(bash=UNTIL_ALLOWED), says("done")])
    wait_until(lambda: conversation.has_event("tool.started"))
    with pytest.raises(ConversationBusy):
        flow.send(conversation, "Now", on_busy="reject")
    flow.let_command_end(conversation)
    flow.wait_until_idle(conversation)
    assert len(conversation.event_data("message.received")) == 1


def test_pause_lets_the_step_end_and_resume_goes_on(flow):
    command = f"{UNTIL_ALLOWED}; echo kept"
    conversation = flow.begin("Go", [calls(bash=command), says("done")])
    wait_until(lambda: conversation.has_event("tool.started"))
    services.pause(conversation.row, by=flow.world.owner)
    run = flow.worker._worker._runs[conversation.id]
    wait_until(lambda: run._active_turn.pause_asked_by)
    flow.let_command_end(conversation)
    flow.wait_until_idle(conversation)
    assert conversation.status == "paused/by_person"
    assert "kept" in conversation.outputs[0]
    services.resume(conversation.row, by=flow.world.owner)
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["done"]
    assert_replay_matches(conversation)


def test_stop_before_a_claim_leaves_nothing_to_run(flow):
    flow.stop_worker()
    conversation = flow.begin("Go")
    flow.stop(conversation)
    assert conversation.status == "stopped/by_person"
    flow.start_worker()
    # The worker claims the longest waiting first.
    later = flow.ask("Hello", [says("Here.")])
    assert later.answers == ["Here."]
    assert conversation.answers == []
    assert conversation.row.turns.count() == 0


def test_continue_directly_after_a_stop_starts_a_turn(flow):
    conversation = flow.begin("Go", [calls(bash="sleep 300"), says("Went on.")])
    wait_until(lambda: conversation.has_event("tool.started"))
    flow.stop(conversation)
    wait_until(lambda: conversation.row.status == "stopped")
    services.continue_(conversation.row, by=flow.world.owner)
    flow.wait_until_idle(conversation)
    assert conversation.status == "finished/answered"
    assert conversation.answers == ["Went on."]
    turns = [(turn.status, turn.reason) for turn in conversation.row.turns.order_by("number")]
    assert turns == [("stopped", "by_person"), ("finished", "answered")]
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_messages_around_the_final_event_are_all_answered(flow):
    """Messages are sent 0 to 50 ms around the end of a turn; one later request reads each."""
    flow.model.script(lambda body: says("ok"))
    conversation = flow.ask("message 0")
    for number in range(1, 41):
        flow.send(conversation, f"message {number}")
        time.sleep((number * 7 % 50) / 1000)
    flow.wait_until_idle(conversation)
    wait_until(lambda: conversation.row.status == "finished")
    read = {line for _, text in flow.model.requests[-1].texts for line in text.splitlines()}
    assert read >= {f"message {number}" for number in range(41)}
    assert flow.model.violations == []
    assert_replay_matches(conversation)
