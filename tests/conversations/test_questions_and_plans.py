"""Questions and plans: the first answer counts, from every door, and what comes before one ends the wait."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from paca.common.errors import Invalid, NotAllowed
from paca.conversations import event_log, services
from paca.conversations.models import Conversation, PersonRequest
from paca.conversations.services import person_requests, plans, questions
from paca.projects.models import Notification
from paca.worker import claim
from tests.conversations.chat import Chat, error_of
from tests.conversations.waiting_call import WaitingCall, WaitingPlan, WaitingQuestion
from tests.support.api import Api

pytestmark = pytest.mark.django_db


def claimed():
    return claim.claim("w2", lease_seconds=30, limit=10)


# --- questions --------------------------------------------------------------------------------------


def test_question_waits_without_a_lease_and_an_answer_makes_it_claimable():
    question = WaitingQuestion()
    assert question.status == "waiting/question"
    assert question.row.lease_owner == ""
    assert claimed() == []
    shown = question.answer().json()
    assert (shown["state"], shown["answer"], shown["text"]) == (
        "answered",
        "SQLite",
        "Which database?",
    )
    assert shown["id"] == shown["call_id"] == question.call_id
    assert shown["decided_by"]["name"] == question.chat.world.owner.name
    assert question.row.activity == "waiting_for_worker"
    [taken] = claimed()
    assert taken.taken_over
    assert question.event_types[-4:] == [
        "question.asked",
        "conversation.waiting",
        "question.answered",
        "conversation.resumed",
    ]
    assert event_log.load_after(question.id, 0)[-1][1].waited_for == "question"


def test_second_answer_is_refused_and_told_the_first():
    question = WaitingQuestion()
    mei = question.chat.add_member("mei")
    question.answer()
    second = question.chat.api_of(mei).post(question.url, {"text": "PostgreSQL"})
    assert error_of(second)[:2] == (409, "question_answered")
    assert second.json()["detail"] == f"{question.chat.world.owner.name} answered this already."
    assert second.json()["present"]["reason"] == "SQLite"
    assert question.event_types.count("question.answered") == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "text"),
        ({"text": ""}, "text"),
        ({"text": "   "}, "text"),
        ({"text": None}, "text"),
        ({"text": ["SQLite"]}, "text"),
        ({"text": "x" * 10_001}, "text"),
        ({"text": "SQLite", "choice": 1}, "choice"),
    ],
)
def test_bad_answer_is_refused_and_changes_nothing(body, field):
    question = WaitingQuestion()
    status, code, fields = error_of(question.chat.api.post(question.url, body))
    assert (status, code) == (400, "invalid")
    assert field in fields
    assert question.status == "waiting/question"


def test_agent_answers_no_question():
    question = WaitingQuestion()
    agent = question.chat.world.agent.member
    with pytest.raises(NotAllowed):
        questions.answer(question.row, question_id=question.call_id, text="SQLite", by=agent)
    assert question.status == "waiting/question"


def test_viewer_reads_a_question_and_may_not_answer():
    question = WaitingQuestion()
    viewer = question.chat.api_of(question.chat.add_member("vic", role="viewer"))
    assert viewer.get(question.url).status_code == 200
    assert viewer.post(question.url, {"text": "SQLite"}).status_code == 403
    assert viewer.get("/requests/").json()["results"] == []


def test_token_without_the_scope_may_not_answer():
    question = WaitingQuestion()
    token = Api.by_token(question.chat.world.user, "conversations:read")
    assert error_of(token.post(question.url, {"text": "SQLite"}))[:2] == (403, "out_of_scope")


def test_one_kind_of_request_is_no_other_kind():
    question, call, plan = WaitingQuestion(), None, None
    call = WaitingCall(question.chat)
    plan = WaitingPlan(question.chat)
    for one, other in (
        (question, "approvals"),
        (call, "questions"),
        (plan, "approvals"),
        (call, "plans"),
    ):
        body = {"text": "approve"} if other == "questions" else {"decision": "approve"}
        url = question.chat.url(one.id, f"{other}/{one.call_id}/")
        assert question.chat.api.post(url, body).status_code == 404
        assert one.approval.state == "open"


def test_question_of_another_conversation_or_project_is_not_found():
    question = WaitingQuestion()
    other = WaitingQuestion(Chat("Dock"))
    url = question.chat.url(question.id, f"questions/{other.call_id}/")
    assert question.chat.api.post(url, {"text": "SQLite"}).status_code == 404
    assert question.chat.api.post(other.url, {"text": "SQLite"}).status_code == 404
    assert other.approval.state == "open"


def test_message_supersedes_a_question_and_answers_it_not():
    question = WaitingQuestion()
    question.act("messages", {"text": "SQLite"})
    assert (question.approval.state, question.approval.reason) == ("superseded", "message")
    assert error_of(question.answer())[1] == "question_answered"
    assert len(claimed()) == 1


def test_question_has_its_own_time_and_the_turn_goes_on_after_it(settings):
    settings.APPROVAL_TIMEOUT_SECONDS, settings.QUESTION_TIMEOUT_SECONDS = 10, 100
    question = WaitingQuestion()
    assert person_requests.expire_due(now=timezone.now() + timedelta(seconds=50)) == 0
    assert person_requests.expire_due(now=timezone.now() + timedelta(seconds=101)) == 1
    assert question.approval.state == "expired"
    [expired] = [
        event
        for _, event in event_log.load_after(question.id, 0)
        if event.type == "agent.approval.expired"
    ]
    assert expired.kind == "question"
    late = question.answer()
    assert late.json()["detail"] == (
        "The time to decide has run out; the agent goes on without an answer."
    )


def test_people_who_may_answer_are_told_until_somebody_has():
    chat = Chat()
    mei, vic = chat.add_member("mei"), chat.add_member("vic", role="viewer")
    question = WaitingQuestion(chat)
    told = Notification.objects.filter(kind="question", read_at=None)
    assert {row.recipient_id for row in told} == {chat.world.user.pk, mei.user_id}
    assert vic.user_id not in {row.recipient_id for row in told}
    question.answer()
    assert not told.all().exists()


# --- plans ------------------------------------------------------------------------------------------


def test_approved_plan_ends_plan_mode_and_is_shown_with_its_steps():
    plan = WaitingPlan()
    assert plan.status == "waiting/approval"
    assert plan.chat.api.get(plan.chat.url(plan.id)).json()["plan_mode"] is True
    shown = plan.decide("approve", feedback="Go").json()
    assert (shown["state"], shown["feedback"], shown["changed_steps"]) == ("approved", "Go", None)
    conversation = plan.chat.api.get(plan.chat.url(plan.id)).json()
    assert conversation["plan_mode"] is False
    assert conversation["plan"] == {
        "title": "Move it",
        "steps": [{"text": "Read.", "state": "open"}, {"text": "Write.", "state": "open"}],
    }


def test_plan_is_approved_with_other_steps():
    plan = WaitingPlan()
    shown = plan.decide("approve", steps=["Read it all."]).json()
    assert shown["steps"] == ["Read.", "Write."]
    assert shown["changed_steps"] == ["Read it all."]
    assert plan.row.plan["steps"] == [{"text": "Read it all.", "state": "open"}]


def test_rejected_plan_leaves_plan_mode_on():
    plan = WaitingPlan()
    assert plan.decide("reject", feedback="Smaller.").json()["state"] == "denied"
    assert plan.row.plan_mode
    assert plan.row.plan is None
    second = plan.decide("approve")
    assert error_of(second)[:2] == (409, "plan_decided")
    assert second.json()["detail"] == f"{plan.chat.world.owner.name} rejected this already."


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "decision"),
        ({"decision": "banana"}, "decision"),
        ({"decision": "deny"}, "decision"),
        ({"decision": "approve", "steps": []}, "steps"),
        ({"decision": "approve", "steps": ["s"] * 21}, "steps"),
        ({"decision": "approve", "steps": ["x" * 301]}, "steps"),
        ({"decision": "approve", "steps": [" "]}, "steps"),
        ({"decision": "approve", "steps": "Read."}, "steps"),
        ({"decision": "reject", "steps": ["Read."]}, "steps"),
        ({"decision": "reject", "feedback": "x" * 2001}, "feedback"),
        ({"decision": "approve", "reason": "x"}, "reason"),
    ],
)
def test_bad_decision_on_a_plan_is_refused_and_changes_nothing(body, field):
    plan = WaitingPlan()
    status, code, fields = error_of(plan.chat.api.post(plan.url, body))
    assert (status, code) == (400, "invalid")
    assert any(name.split(".")[0] == field for name in fields)
    assert plan.status == "waiting/approval"
    assert plan.row.plan_mode


def test_service_refuses_an_unknown_decision_on_a_plan_from_any_door():
    plan = WaitingPlan()
    with pytest.raises(Invalid):
        plans.decide(plan.row, decision="banana", by=plan.chat.world.owner)
    assert plan.approval.state == "open"


def test_plan_mode_is_switched_by_people_and_its_end_ends_the_wait():
    plan = WaitingPlan()
    url = plan.chat.url(plan.id)
    assert plan.chat.api.patch(url, {"plan_mode": True}).json()["plan_mode"] is True
    assert plan.event_types.count("flags.changed") == 1, "it was on already"
    assert plan.chat.api.patch(url, {"plan_mode": False}).json()["plan_mode"] is False
    assert (plan.approval.state, plan.approval.reason) == ("superseded", "plan_mode")
    assert len(claimed()) == 1
    for bad in ({"plan_mode": "yes please"}, {"plan_mode": None}, {"plan": True}):
        assert plan.chat.api.patch(url, bad).status_code == 400


def test_end_of_plan_mode_leaves_a_question_waiting():
    question = WaitingQuestion()
    for on in (True, False):
        plans.set_mode(question.row, on=on, by=question.chat.world.owner)
    assert question.status == "waiting/question"


def test_plan_mode_is_switched_off_only_by_those_who_may_approve():
    plan = WaitingPlan()
    writer = Api.by_token(plan.chat.world.user, "conversations:read", "conversations:write")
    url = plan.chat.url(plan.id)
    assert writer.patch(url, {"plan_mode": False}).status_code == 403
    assert writer.patch(url, {"plan_mode": True}).status_code == 200
    assert plan.row.plan_mode


@pytest.mark.parametrize(("setting", "flags", "mode"), [
    (False, None, False), (True, None, True), (True, {"plan": False}, False), (False, {"plan": True}, True),
    (True, {}, True),
])  # fmt: skip
def test_new_conversation_begins_in_plan_mode_as_the_agent_or_the_flag_says(setting, flags, mode):
    chat = Chat(plan_mode=setting)
    more = {} if flags is None else {"flags": flags}
    answer = chat.api.post(chat.sessions_url, {"message": "Hello", **more})
    assert answer.status_code == 201, answer.data
    row = Conversation.objects.get(pk=answer.json()["conversation"])
    assert bool(row.plan_mode) is mode
    first = event_log.load_after(row.pk, 0)[0][1].type
    assert first == ("agent.flags.changed" if mode else "agent.message.received")
    agent = chat.world.agent
    execute = f"{chat.project_url}agents/{agent.pk}/execute/"
    started = chat.api.post(execute, {"instruction": "Go", **more}).json()["conversation"]
    assert started["plan_mode"] is mode


@pytest.mark.parametrize("setting", [True, False])
def test_plan_mode_of_the_agent_is_left_out_only_by_those_who_may_approve(setting):
    chat = Chat(plan_mode=setting)
    writer = Api.by_token(chat.world.user, "conversations:read", "conversations:write")
    execute = f"{chat.project_url}agents/{chat.world.agent.pk}/execute/"
    for url, body in ((chat.sessions_url, {"message": "Hi"}), (execute, {"instruction": "Go"})):
        for plan in (False, True):
            answer = writer.post(url, {**body, "flags": {"plan": plan}})
            assert answer.status_code == (403 if setting and not plan else 201), answer.data
    assert Conversation.objects.count() == (2 if setting else 4)


@pytest.mark.parametrize("flags", [{"plan": "maybe"}, {"plan": None}, {"plans": True}, [], "plan"])
def test_bad_flags_of_a_new_conversation_are_refused(flags):
    chat = Chat()
    for url, body in (
        (chat.sessions_url, {"text": "Hello"}),
        (f"{chat.project_url}agents/{chat.world.agent.pk}/execute/", {"instruction": "Go"}),
    ):
        assert chat.api.post(url, {**body, "flags": flags}).status_code == 400
    assert not Conversation.objects.exists()


def test_description_of_a_task_is_written_without_plan_mode():
    chat = Chat(plan_mode=True)
    task = chat.api.post(f"{chat.project_url}tasks/", {"title": "Mend"}).json()
    url = f"{chat.project_url}tasks/{task['number']}/write-with-ai/"
    started = chat.api.post(url, {"agent_id": str(chat.world.agent.pk)}).json()["conversation"]
    assert started["plan_mode"] is False


def test_fork_keeps_plan_mode_and_the_plan_as_they_were_there():
    plan = WaitingPlan()
    before = plan.row.last_seq
    plan.decide("approve")
    for seq, mode, title in ((before, True, None), (plan.row.last_seq, False, "Move it")):
        fork = services.fork(plan.row, seq=seq, by=plan.chat.world.owner)
        assert bool(fork.plan_mode) is mode
        assert (fork.plan or {}).get("title") == title
        types = [event.type for _, event in event_log.load_after(fork.pk, 0)]
        assert "agent.tool.returned" in types, "its open call is closed, and never waits there"
        assert not PersonRequest.objects.filter(conversation=fork).exists()


def test_fork_of_nothing_begins_in_plan_mode_if_the_agent_says_so():
    plan = WaitingPlan(Chat(plan_mode=True))
    fork = services.fork(plan.row, seq=0, by=plan.chat.world.owner)
    assert fork.plan_mode
    types = [event.type for _, event in event_log.load_after(fork.pk, 0)]
    assert types[0] == "agent.flags.changed"


def test_deleted_conversation_leaves_no_question_plan_or_steps():
    plan = WaitingPlan()
    plan.decide("approve")
    Conversation.objects.filter(pk=plan.id).update(status="finished", reason="answered")
    assert plan.chat.api.delete(plan.chat.url(plan.id)).status_code == 204
    assert not PersonRequest.objects.exists()
    assert Conversation.objects.get(pk=plan.id).plan is None


# --- lists ------------------------------------------------------------------------------------------


def test_inbox_has_all_three_kinds_of_the_projects_where_one_may_decide():
    call = WaitingCall()
    question, plan = WaitingQuestion(call.chat), WaitingPlan(call.chat)
    WaitingQuestion(Chat("Dock"))
    api = call.chat.api
    rows = {row["kind"]: row for row in api.get("/requests/").json()["results"]}
    assert {kind: row["call_id"] for kind, row in rows.items()} == {
        "approval": call.call_id,
        "question": question.call_id,
        "plan": plan.call_id,
    }
    assert rows["approval"]["arguments"] == {"command": "rm a.txt"}
    assert rows["question"]["choices"][0]["label"] == "PostgreSQL"
    assert rows["plan"]["steps"] == ["Read.", "Write."]
    [only] = api.get("/requests/?kind=plan").json()["results"]
    assert only["call_id"] == plan.call_id
    [approval] = api.get("/approvals/").json()["results"]
    assert approval["call_id"] == call.call_id
    assert api.get("/requests/?kind=banana").status_code == 400
    assert api.get("/requests/?state=banana").status_code == 400
    question.answer()
    assert len(api.get("/requests/").json()["results"]) == 2
    assert len(api.get("/requests/?state=answered").json()["results"]) == 1


def test_list_of_requests_takes_the_same_queries_for_three_and_thirty_rows():
    chat = Chat()
    waiting = [kind(chat) for kind in (WaitingQuestion, WaitingPlan, WaitingCall)]
    for each in waiting:
        each.act("messages")
    kinds = [each.approval for each in waiting]
    counts = []
    for total in (3, 30):
        for number in range(PersonRequest.objects.count(), total):
            row = kinds[number % 3]
            row.pk, row.call_id = uuid4(), uuid4().hex
            row.save(force_insert=True)
        with CaptureQueriesContext(connection) as found:
            url = "/requests/?limit=100&state=superseded"
            assert len(chat.api.get(url).json()["results"]) == total
        counts.append(len(found))
    assert counts[0] == counts[1]
