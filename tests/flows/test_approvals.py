"""A call that waits for a person, with a real worker: over restarts, with other work beside it, once."""

import pytest

from paca.conversations import services
from paca.conversations.models import PersonRequest
from paca.conversations.services import approvals
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.model_script import calls, says
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]

LONG = 240.0  # seconds, on a machine that does much else


def decide(flow: Flow, conversation: ObservedConversation, decision: str, **facts) -> PersonRequest:
    approval = PersonRequest.objects.get(conversation=conversation.id, state="open")
    return approvals.decide(
        conversation.row,
        call_id=approval.call_id,
        decision=decision,
        by=flow.world.owner,
        **facts,
    )


def wait_for_request(conversation: ObservedConversation) -> None:
    wait_until(
        lambda: conversation.status == "waiting/approval",
        LONG,
        describe=lambda: f"{conversation.status}: {conversation.event_types}",
    )


def test_call_waits_over_a_restart_and_runs_once_as_approved(tmp_path):
    """T-57: two actions; the first is denied with a reason, the other one approved with changed arguments."""
    with Flow(tmp_path, approval="unsafe", worker={"concurrency": 1}) as flow:
        conversation = flow.begin(
            "Go", [calls(bash=["touch one", "touch two"]), says("Done."), says("Hello.")]
        )
        wait_for_request(conversation)
        assert conversation.row.lease_owner == ""
        flow.stop_worker()
        flow.start_worker()
        decide(flow, conversation, "deny", reason="Not that one.")
        wait_until(
            lambda: PersonRequest.objects.filter(state="open", subject="touch two").exists(),
            LONG,
            describe=lambda: f"{conversation.status}: {conversation.event_types}",
        )
        wait_for_request(conversation)
        flow.stop_worker()  # the decision comes while no worker runs
        decide(flow, conversation, "approve", arguments={"command": "echo two >> runs"})
        flow.start_worker()
        flow.wait_until_idle(conversation, LONG)
        assert conversation.status == "finished/answered"
        denied, approved = conversation.outputs
        assert "Not that one." in denied
        assert "changed the arguments" in approved
        assert "Not that one." in str(flow.model.requests[1].messages[-1])
        flow.ask("And?", [calls(bash="cat runs; ls"), says("ok")], after=conversation)
        assert conversation.outputs[-1].split()[:2] == ["two", "runs"]
        assert flow.model.violations == []
        assert_replay_matches(conversation)


def test_waiting_conversation_leaves_the_only_slot_to_others_and_obeys_stop(tmp_path):
    with Flow(tmp_path, approval="unsafe", worker={"concurrency": 1}) as flow:
        waiting = flow.begin("Go", [calls(bash="touch one")])
        wait_for_request(waiting)
        other = flow.ask("Hello", [says("Hello.")])
        assert other.status == "finished/answered"
        services.stop(waiting.row, by=flow.world.owner)
        flow.wait_until_idle(waiting, LONG)
        assert waiting.status == "stopped/by_person"
        assert [fact["cause"] for fact in waiting.event_data("tool.returned")] == ["cancelled"]
        assert len(flow.model.requests) == 2
        assert_replay_matches(waiting)


def test_request_that_nobody_answers_expires_and_the_turn_goes_on(tmp_path, settings):
    settings.APPROVAL_TIMEOUT_SECONDS = 1
    with Flow(tmp_path, approval="unsafe") as flow:
        conversation = flow.ask("Go", [calls(bash="touch one"), says("Nobody was there.")])
        assert conversation.answers == ["Nobody was there."]
        assert PersonRequest.objects.get().state == "expired"
        assert_replay_matches(conversation)


@pytest.mark.parametrize("fault", ["wait-stored", "intent-unstored"])
def test_killed_worker_asks_nothing_twice_and_runs_what_was_approved_once(tmp_path, fault):
    """During the wait, and between the decision and the run. `make chaos PART=APPROVE` has each point."""
    with Flow(tmp_path, approval="unsafe") as flow:
        flow.stop_worker()
        with WorkerProcess(flow.folder, fault=fault) as process:
            conversation = flow.begin("Go", [calls(bash="echo x >> runs"), says("Done.")])
            if fault == "wait-stored":
                process.wait_until_dead()
                process.start()
            wait_for_request(conversation)
            assert not conversation.has_event("tool.started")
            decide(flow, conversation, "approve")
            if fault == "intent-unstored":
                process.wait_until_dead()
                process.start()
            flow.wait_until_idle(conversation, LONG)
            assert conversation.status == "finished/answered"
            assert [
                len(conversation.event_data(f"approval.{name}")) for name in ("requested", "given")
            ] == [1, 1]
            flow.ask("And?", [calls(bash="cat runs"), says("ok")], after=conversation)
            assert conversation.outputs[-1].split()[:2] == ["x", "[exit"]
        assert flow.model.violations == []
        assert_replay_matches(conversation)
