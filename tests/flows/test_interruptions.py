"""Stop, interrupt, queue, pause: people have the last word, and nothing they write is lost."""

import time

import pytest

from paca.conversations import services
from paca.conversations.services import ConversationBusy
from tests.support.flow import assert_replay_matches, until
from tests.support.model_script import calls, fails, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
UNTIL_TOLD = "until [ -e go-on ]; do sleep 0.05; done"


@pytest.mark.parametrize("fault", ["hang", "stall"])
def test_stop_closes_the_connection_to_the_model_within_a_second(flow, fault):
    """T-07."""
    told = flow.begin("Hello", [fails(fault)])
    until(lambda: flow.model.in_flight == 1)
    began = time.monotonic()
    flow.stop(told)
    flow.rest(told, 1)
    assert flow.model.wait_until_idle(1 - (time.monotonic() - began))
    assert told.status == "stopped/by_person"
    asked = len(flow.model.requests)
    flow.ask("Still there?", [says("Yes.")], after=told)
    assert told.answers == ["Yes."]
    assert len(flow.model.requests) == asked + 1
    assert_replay_matches(told)


def test_stop_ends_a_command_and_its_whole_tree_within_two_seconds(flow):
    deaf = "(trap '' TERM; echo x > deaf; sleep 301)"
    command = f"sleep 300 & {deaf} & echo begun; echo x > begun; sleep 302"
    told = flow.begin("Go", [calls(bash=command)])
    flow.until_written(told, "deaf")
    flow.until_written(told, "begun")
    began = time.monotonic()
    flow.stop(told)
    flow.rest(told, 3)
    assert time.monotonic() - began < 2.5
    (returned,) = told.all("tool.returned")
    assert returned["cause"] == "cancelled"
    assert "Stopped by" in returned["output"]
    assert "begun" in returned["output"]
    flow.ask("Who runs?", [calls(bash="pgrep -a sleep || echo nobody"), says("ok")], after=told)
    assert "nobody" in told.outputs[-1]
    assert flow.model.violations == []
    assert_replay_matches(told)


def test_stop_reaches_a_run_that_waits_to_try_again(flow):
    told = flow.begin("[[fake err=429@* retry=60]]")
    until(lambda: told.has("model.retried"))
    flow.stop(told)
    flow.rest(told, 1)
    assert told.status == "stopped/by_person"
    assert_replay_matches(told)


def test_each_open_call_gets_one_result_when_three_are_stopped(flow):
    """T-17."""
    told = flow.begin("Go", [calls(bash=["true", "sleep 60", "echo never"])])
    until(lambda: len(told.all("tool.started")) == 2)
    flow.stop(told)
    flow.rest(told, 3)
    assert [fact["cause"] for fact in told.all("tool.returned")] == ["", "cancelled", "cancelled"]
    flow.ask("go on", [says("Good.")], after=told)
    assert flow.model.violations == []
    assert_replay_matches(told)


def test_a_message_while_it_runs_is_read_at_the_next_step(flow):
    told = flow.begin("Go", [calls(bash=UNTIL_TOLD), says("Both done.")])
    until(lambda: told.has("tool.started"))
    sent = flow.send(told, "And also this")
    assert sent.turn is None
    flow.file_of(told, "go-on").touch()
    flow.rest(told)
    assert told.answers == ["Both done."]
    last = flow.model.requests[-1].body["messages"][-1]
    assert "And also this" in str(last)
    assert told.row.turns.count() == 1
    assert_replay_matches(told)


def test_a_message_during_the_final_reply_gets_a_turn_of_its_own(flow):
    told = flow.begin("One", [says("First " * 20).slowly(tps=30), says("Second answer.")])
    until(lambda: flow.model.in_flight == 1)
    time.sleep(0.3)
    flow.send(told, "Two")
    flow.rest(told)
    assert told.answers[-1] == "Second answer."
    assert told.row.turns.count() == 2
    roles = [message["role"] for message in flow.model.requests[-1].body["messages"]]
    assert roles == ["user", "assistant", "user"]
    assert_replay_matches(told)


def test_an_interrupt_ends_the_turn_and_begins_the_next(flow):
    told = flow.begin("Go", [calls(bash="sleep 30"), says("Changed course.")])
    until(lambda: told.has("tool.started"))
    flow.send(told, "No, do this instead", on_busy="interrupt")
    flow.rest(told, 20)  # and not as long as the command takes
    assert told.status == "finished/answered"
    assert told.answers == ["Changed course."]
    turns = [(turn.status, turn.reason) for turn in told.row.turns.order_by("number")]
    assert turns == [("stopped", "interrupted"), ("finished", "answered")]
    assert flow.model.violations == []
    assert_replay_matches(told)


def test_an_interrupt_of_the_model_keeps_what_was_shown_for_people_only(flow, shown):
    told = flow.begin("One", [says("Half a sentence " * 30).slowly(tps=20), says("Instead.")])
    until(lambda: "Half a" in "".join(shown))
    flow.send(told, "Stop that", on_busy="interrupt")
    flow.rest(told)
    (discarded,) = told.all("message.discarded")
    assert discarded["text"].startswith("Half a")
    assert "Half a" not in str(flow.model.requests[-1].body)
    assert_replay_matches(told)


def test_a_busy_conversation_can_refuse_and_then_stores_nothing(flow):
    told = flow.begin("Go", [calls(bash=UNTIL_TOLD), says("done")])
    until(lambda: told.has("tool.started"))
    with pytest.raises(ConversationBusy):
        flow.send(told, "Now", on_busy="reject")
    flow.file_of(told, "go-on").touch()
    flow.rest(told)
    assert len(told.all("message.received")) == 1


def test_pause_lets_the_step_end_and_resume_goes_on(flow):
    # Long enough for a busy worker to hear of it before the step ends.
    told = flow.begin("Go", [calls(bash="sleep 4; echo kept"), says("done")])
    until(lambda: told.has("tool.started"))
    services.pause(told.row, by=flow.world.owner)
    flow.rest(told)
    assert told.status == "paused/by_person"
    assert "kept" in told.outputs[0]
    services.resume(told.row, by=flow.world.owner)
    flow.rest(told)
    assert told.answers == ["done"]
    assert_replay_matches(told)


def test_stop_before_any_worker_has_it_leaves_nothing_to_do(flow):
    flow.stop_worker()
    told = flow.begin("Go", [says("never")])
    flow.stop(told)
    assert told.status == "stopped/by_person"
    flow.start_worker()
    time.sleep(1.5)
    assert told.answers == []


def test_continue_goes_on_after_a_stop(flow):
    told = flow.begin("Go", [fails("hang")])
    until(lambda: flow.model.in_flight == 1)
    flow.stop(told)
    flow.rest(told, 2)
    flow.model.script([says("Here we are.")])
    services.continue_(told.row, by=flow.world.owner)
    flow.rest(told)
    assert told.answers == ["Here we are."]
    assert flow.model.violations == []


def test_messages_around_the_final_event_are_all_answered(flow):
    """Sent 0 to 50 ms around the end of a turn; each is read by exactly one later request."""
    flow.model.script(lambda body: says("ok"))
    told = flow.ask("message 0")
    for number in range(1, 41):
        flow.send(told, f"message {number}")
        time.sleep((number * 7 % 50) / 1000)
    flow.rest(told)
    until(lambda: told.row.status == "finished")
    last = str(flow.model.requests[-1].body["messages"])
    assert all(f"message {number}'" in last for number in range(41))
    assert flow.model.violations == []
    assert_replay_matches(told)
