"""Approvals: the wait without a worker, the first decision, and what ends the wait otherwise."""

from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from paca.accounts.models import User
from paca.common.errors import Invalid
from paca.conversations import event_log, sandbox_queries, services, store
from paca.conversations.models import Conversation, PersonRequest, RequestState, Trigger
from paca.conversations.services import approvals, person_requests
from paca.conversations.store import Fenced, Lease
from paca.projects import permissions
from paca.projects.models import Notification
from paca.projects.services import members, roles
from paca.sandbox.base import IdlePolicy
from paca.worker import claim
from tests.conversations.chat import Chat, error_of
from tests.conversations.waiting_call import WaitingCall
from tests.support.api import Api

pytestmark = pytest.mark.django_db


def claimed():
    return claim.claim("w2", lease_seconds=30, limit=10)


def test_waiting_conversation_has_no_lease_and_is_not_claimed():
    call = WaitingCall()
    assert call.status == "waiting/approval"
    assert (call.row.lease_owner, call.row.lease_until) == ("", None)
    assert claimed() == []
    with pytest.raises(Fenced):
        store.append(call.id, lease=Lease(call.id, "w", call.row.lease_epoch))


def test_decision_makes_the_conversation_claimable_and_keeps_who_decided():
    call = WaitingCall()
    answer = call.decide(reason="ok")
    assert answer.status_code == 200, answer.data
    shown = answer.json()
    assert (shown["state"], shown["reason"]) == ("approved", "ok")
    assert shown["decided_by"]["name"] == call.chat.world.owner.name
    assert call.status == "running/"
    assert call.row.activity == "waiting_for_worker"
    [taken] = claimed()
    assert taken.taken_over
    assert call.row.lost_workers == 0
    assert call.event_types[-4:] == [
        "approval.requested",
        "conversation.waiting",
        "approval.given",
        "conversation.resumed",
    ]
    assert event_log.load_after(call.id, 0)[-1][1].waited_for == "approval"


def test_second_decision_is_refused_and_told_the_first():
    call = WaitingCall()
    mei = call.chat.add_member("mei")
    assert call.decide("deny", reason="no").status_code == 200
    second = call.chat.api_of(mei).post(call.url, {"decision": "approve"})
    assert error_of(second)[:2] == (409, "approval_decided")
    assert second.json()["detail"] == f"{call.chat.world.owner.name} denied this already."
    assert second.json()["present"]["state"] == "denied"
    assert call.event_types.count("approval.given") == 1


def test_database_keeps_the_first_decision():
    call = WaitingCall()
    call.decide()
    with pytest.raises(DatabaseError), transaction.atomic():
        PersonRequest.objects.filter(call_id=call.call_id).update(state="denied")
    assert not PersonRequest.objects.filter(call_id=call.call_id).move(RequestState.EXPIRED)
    with pytest.raises(DatabaseError), transaction.atomic():
        PersonRequest.objects.filter(call_id=call.call_id).update(state="maybe")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "decision"),
        ({"decision": "banana"}, "decision"),
        ({"decision": "auto_approve"}, "decision"),
        ({"decision": "expired"}, "decision"),
        ({"decision": None}, "decision"),
        ({"decision": ["approve"]}, "decision"),
        ({"decision": "approve", "arguments": []}, "arguments"),
        ({"decision": "approve", "arguments": {"cmd": "ls"}}, "arguments"),
        ({"decision": "approve", "arguments": {"command": ""}}, "arguments"),
        ({"decision": "approve", "arguments": {"command": "a\0b"}}, "arguments"),
        ({"decision": "deny", "arguments": {"command": "ls"}}, "arguments"),
        ({"decision": "deny", "reason": "x" * 2001}, "reason"),
        ({"decision": "approve", "more": 1}, "more"),
    ],
)
def test_bad_decision_is_refused_and_changes_nothing(body, field):
    call = WaitingCall()
    status, code, fields = error_of(call.chat.api.post(call.url, body))
    assert (status, code) == (400, "invalid")
    assert field in fields
    assert call.status == "waiting/approval"
    assert call.approval.state == "open"


def test_service_refuses_an_unknown_decision_from_any_door():
    call = WaitingCall()
    with pytest.raises(Invalid):
        approvals.decide(
            call.row, call_id=call.call_id, decision="banana", by=call.chat.world.owner
        )
    assert call.approval.state == "open"


def test_changed_arguments_are_kept_beside_those_of_the_model():
    call = WaitingCall()
    shown = call.decide(arguments={"command": "rm b.txt"}).json()
    assert shown["arguments"] == {"command": "rm a.txt"}
    assert shown["changed_arguments"] == {"command": "rm b.txt"}


def test_viewer_and_agent_may_not_decide():
    call = WaitingCall()
    viewer = call.chat.add_member("vic", role="viewer")
    assert call.chat.api_of(viewer).post(call.url, {"decision": "approve"}).status_code == 403
    assert call.chat.api_of(viewer).get(call.url).status_code == 200
    agent = call.chat.world.agent.member
    for role in (call.chat.world.role("owner"), call.chat.world.role("manager")):
        agent.role = role
        assert not permissions.allows(agent, permissions.APPROVE)
        assert permissions.allows(agent, "conversations:write")


def test_token_without_the_scope_may_not_decide():
    call = WaitingCall()
    token = Api.by_token(call.chat.world.user, "conversations:read", "conversations:write")
    assert error_of(token.post(call.url, {"decision": "approve"}))[:2] == (403, "out_of_scope")
    assert token.get("/approvals/").status_code == 403


def test_decision_has_the_id_of_the_call_as_the_log_writes_it():
    call = WaitingCall()
    dashed = str(UUID(call.call_id))
    url = call.chat.url(call.id, f"approvals/{dashed}/")
    assert call.chat.api.post(url, {"decision": "approve"}).json()["call_id"] == call.call_id
    assert event_log.load_after(call.id, 0)[-1][1].call_id == call.call_id
    assert call.chat.api.get(call.chat.url(call.id, "approvals/nonsense/")).status_code == 404


def test_approval_of_another_conversation_is_not_found():
    call = WaitingCall()
    other = WaitingCall(call.chat)
    url = call.chat.url(other.id, f"approvals/{call.call_id}/")
    assert call.chat.api.post(url, {"decision": "approve"}).status_code == 404
    assert call.approval.state == other.approval.state == "open"


# --- what comes before a decision -------------------------------------------------------------------


def test_message_supersedes_and_never_approves():
    call = WaitingCall()
    call.act("messages", {"text": "approve"})
    assert call.approval.state == "superseded"
    assert call.status == "running/"
    assert error_of(call.decide())[1] == "approval_decided"
    assert len(claimed()) == 1


def test_stop_ends_the_wait_and_a_worker_ends_the_turn():
    call = WaitingCall()
    call.act("stop")
    assert (call.approval.state, call.approval.reason) == ("superseded", "stop")
    assert Trigger.objects.filter(conversation=call.id, control="stop", state="new").exists()
    assert len(claimed()) == 1


def test_pause_waits_with_the_call():
    call = WaitingCall()
    call.act("pause")
    assert call.status == "waiting/approval"
    call.decide()
    assert Trigger.objects.filter(conversation=call.id, control="pause", state="new").exists()


@pytest.mark.parametrize(("action", "reason"), [("stop", "stop"), ("messages", "message")])
def test_what_came_during_the_reply_ends_the_wait_at_once(action, reason):
    chat = Chat(approval="unsafe")
    call = WaitingCall(chat, before=(action,))
    assert (call.approval.state, call.approval.reason) == ("superseded", reason)
    assert call.status == "running/"
    assert not Notification.objects.filter(kind="approval").exists()


def test_removal_of_the_agent_ends_the_wait():
    call = WaitingCall()
    services.stop_agent_conversations(call.chat.world.agent.pk, by="Ada")
    assert call.approval.state == "superseded"


def test_deleted_conversation_leaves_no_arguments_of_its_calls():
    call = WaitingCall()
    url = call.chat.url(call.id)
    assert call.chat.api.delete(url).status_code == 409
    call.decide("deny")
    Conversation.objects.filter(pk=call.id).update(status="finished", reason="answered")
    assert call.chat.api.delete(url).status_code == 204
    assert not PersonRequest.objects.exists()


# --- time -------------------------------------------------------------------------------------------


def test_sweep_denies_what_nobody_decided_in_time(settings):
    settings.APPROVAL_TIMEOUT_SECONDS = 100
    call = WaitingCall()
    assert person_requests.expire_due() == 0
    later = timezone.now() + timedelta(seconds=101)
    assert person_requests.expire_due(now=later) == 1
    assert person_requests.expire_due(now=later) == 0
    assert call.approval.state == "expired"
    assert call.status == "running/"
    assert error_of(call.decide())[1] == "approval_decided"


def test_decision_after_the_deadline_is_refused_before_the_sweep():
    call = WaitingCall()
    PersonRequest.objects.update(deadline=timezone.now() - timedelta(seconds=1))
    assert error_of(call.decide())[:2] == (409, "approval_decided")
    assert call.approval.state == "open"


# --- the rest ---------------------------------------------------------------------------------------


def test_approval_of_the_rest_is_shown_and_can_be_revoked_once():
    call = WaitingCall()
    call.decide("approve_rest")
    shown = call.chat.api.get(call.chat.url(call.id)).json()
    assert shown["rest_approved_by"] == call.chat.world.owner.name
    revoke = call.chat.url(call.id, "approvals/revoke/")
    assert call.chat.api.post(revoke).json()["rest_approved_by"] == ""
    assert error_of(call.chat.api.post(revoke))[:2] == (409, "nothing_to_revoke")
    assert call.event_types[-1] == "approval.revoked"


# --- lists and notifications ------------------------------------------------------------------------


def test_inbox_lists_what_waits_in_the_projects_where_one_may_approve():
    call = WaitingCall()
    other = WaitingCall(Chat("Dock", approval="unsafe"))
    mei = call.chat.add_member("mei")
    vic = call.chat.add_member("vic", role="viewer")
    api = call.chat.api_of(mei)
    rows = api.get("/approvals/").json()["results"]
    assert [row["call_id"] for row in rows] == [call.call_id]
    assert rows[0]["conversation"]["project"]["name"] == "Harbor"
    assert rows[0]["agent"]["name"] == "Rosa"
    assert rows[0]["arguments"] == {"command": "rm a.txt"}
    assert call.chat.api_of(vic).get("/approvals/").json()["results"] == []
    other.decide()
    call.decide()
    assert api.get("/approvals/").json()["results"] == []
    decided = api.get("/approvals/?state=approved").json()["results"]
    assert [row["state"] for row in decided] == ["approved"]
    assert api.get("/approvals/?state=banana").status_code == 400


def test_lists_take_the_same_queries_for_three_and_thirty_rows():
    call = WaitingCall()
    call.decide()

    def count(url: str) -> int:
        with CaptureQueriesContext(connection) as found:
            assert call.chat.api.get(url).status_code == 200
        return len(found)

    urls = ("/approvals/?state=approved", call.chat.url(call.id, "approvals/"))
    few = {}
    for total in (3, 30):
        for _ in range(total - PersonRequest.objects.count()):
            row = call.approval
            row.pk, row.call_id = uuid4(), uuid4().hex
            row.save(force_insert=True)
        for url in urls:
            assert few.setdefault(url, count(url)) == count(url)


def test_people_who_may_approve_are_told_until_it_is_decided():
    chat = Chat(approval="unsafe")
    mei, vic = chat.add_member("mei"), chat.add_member("vic", role="viewer")
    call = WaitingCall(chat)
    told = Notification.objects.filter(kind="approval", read_at=None)
    assert {row.recipient_id for row in told} == {chat.world.user.pk, mei.user_id}
    assert vic.user_id not in {row.recipient_id for row in told}
    assert {row.conversation_id for row in told} == {call.id}
    call.decide("deny")
    assert not told.all().exists()


def test_role_without_the_right_is_not_told_and_may_not_decide():
    chat = Chat(approval="unsafe")
    role = roles.create(
        chat.world.project,
        name="Writer",
        permissions=["conversations:read", "conversations:write"],
        by=chat.world.owner,
    )
    user = User.objects.create_user("wim", password="a long password 7")
    chat.world.project.workspace.members.create(user=user)
    wim = members.add_person(chat.world.project, user=user, role=role, by=chat.world.owner)
    call = WaitingCall(chat)
    assert not Notification.objects.filter(recipient=user).exists()
    assert chat.api_of(wim).post(call.url, {"decision": "approve"}).status_code == 403


def test_sandbox_of_a_waiting_conversation_may_sleep():
    call = WaitingCall()
    assert call.id not in sandbox_queries.needed_conversations(IdlePolicy(0, 0))
    call.decide()
    assert call.id in sandbox_queries.needed_conversations(IdlePolicy(0, 0))
    assert Conversation.objects.count() == 1
