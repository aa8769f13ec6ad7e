"""Questions and plans with a real worker: over restarts and deaths, asked once, and obeyed once."""

import pytest

from paca.conversations import services
from paca.conversations.models import PersonRequest
from paca.conversations.services import plans, questions
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.model_script import calls, says
from tests.support.worker_process import WorkerProcess

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]

LONG = 240.0  # seconds, on a machine that does much else
ASK = calls(
    ask_person={"question": "Which port?", "choices": [{"label": "8000"}, {"label": "8001"}]}
)
PLAN = calls(propose_plan={"title": "Build", "steps": ["Look", "Make"]})


def wait_for(conversation: ObservedConversation, status: str) -> PersonRequest:
    wait_until(
        lambda: conversation.status == status,
        LONG,
        describe=lambda: f"{conversation.status}: {conversation.event_types}",
    )
    return PersonRequest.objects.get(conversation=conversation.id, state="open")


def test_question_and_plan_wait_over_restarts_without_a_slot(tmp_path):
    """Plan mode refuses a command before the plan is approved; another conversation runs meanwhile."""
    with Flow(tmp_path, worker={"concurrency": 1}, plan_mode=True) as flow:
        conversation = flow.begin(
            "Go",
            [
                ASK,
                calls(bash="touch early"),
                PLAN,
                calls(("bash", {"command": "ls"}), ("update_plan", {"step": 1, "state": "done"})),
                says("Done."),
                says("Hello."),
            ],
        )
        question = wait_for(conversation, "waiting/question")
        assert conversation.row.lease_owner == ""
        flow.stop_worker()  # the answer comes while no worker runs
        questions.answer(
            conversation.row, question_id=question.call_id, text="9000", by=flow.world.owner
        )
        flow.start_worker()
        wait_for(conversation, "waiting/approval")
        flow.stop_worker()
        flow.start_worker()
        plans.decide(conversation.row, decision="approve", by=flow.world.owner)
        flow.wait_until_idle(conversation, LONG)
        assert conversation.status == "finished/answered"
        answer, refused, approved, listed, ticked = conversation.outputs
        assert answer == f"{flow.world.owner.name} answered: 9000"
        assert "plan mode" in refused
        assert "approved the plan" in approved
        assert "early" not in listed
        assert "1 of 2 steps are done" in ticked
        assert conversation.row.plan["steps"][0] == {"text": "Look", "state": "done"}
        assert flow.model.violations == []
        assert len({str(request.body["tools"]) for request in flow.model.requests}) == 1
        assert_replay_matches(conversation)


def test_question_that_nobody_answers_lets_the_agent_decide_and_stop_ends_one(tmp_path, settings):
    with Flow(tmp_path) as flow:
        stopped = flow.begin("Go", [ASK])
        wait_for(stopped, "waiting/question")
        services.stop(stopped.row, by=flow.world.owner)
        flow.wait_until_idle(stopped, LONG)
        assert stopped.status == "stopped/by_person"
        assert_replay_matches(stopped)
        settings.QUESTION_TIMEOUT_SECONDS = 1
        alone = flow.ask("Go", [ASK, says("I took 8000.")])
        assert alone.answers == ["I took 8000."]
        assert "Nobody answered in time" in alone.outputs[0]
        assert_replay_matches(alone)


@pytest.mark.parametrize("fault", ["wait-stored", "outcome-unstored"])
def test_killed_worker_asks_once_and_reads_the_answer_once(tmp_path, fault):
    """During the wait, and between the answer and the next request."""
    with Flow(tmp_path) as flow:
        flow.stop_worker()
        with WorkerProcess(flow.folder, fault=fault) as process:
            conversation = flow.begin("Go", [ASK, calls(bash="echo x"), says("Done.")])
            if fault == "wait-stored":
                process.wait_until_dead()
                process.start()
            question = wait_for(conversation, "waiting/question")
            questions.answer(
                conversation.row, question_id=question.call_id, text="8001", by=flow.world.owner
            )
            if fault != "wait-stored":
                process.wait_until_dead()
                process.start()
            flow.wait_until_idle(conversation, LONG)
            assert conversation.status == "finished/answered"
        for name in ("asked", "answered"):
            assert len(conversation.event_data(f"question.{name}")) == 1
        assert conversation.outputs[0] == f"{flow.world.owner.name} answered: 8001"
        assert flow.model.violations == []
        assert_replay_matches(conversation)
