"""The status of an agent: what a change touches, how it ends running turns, and changes at a set time."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import IntegrityError, connection, connections, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from paca.accounts.models import AuditEntry, User
from paca.agents import services as agents
from paca.agents.models import Agent
from paca.common.errors import Invalid
from paca.conversations import agent_impact
from paca.conversations.models import AgentStatusChange, StopReason, Trigger
from paca.conversations.services import agent_status, check_ins
from paca.engine.turn import TurnOutcome
from paca.events import MessageSpoken
from paca.projects.services import members, projects, tasks
from paca.worker import checkins, claim, claim_queries, turn_end
from tests.conversations.chat import Chat
from tests.conversations.waiting_call import WaitingCall

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> Chat:
    return Chat()


def url(chat: Chat, rest: str = "") -> str:
    return f"{chat.project_url}agents/{chat.world.agent.pk}/status/{rest}"


def change(chat: Chat, status: str, mode: str = "graceful", **given: Any) -> Any:
    body = {"status": status, "mode": mode, "confirm": True, **given}
    answer = chat.api.post(url(chat), body)
    assert answer.status_code == 200, answer.content
    return answer.json()


def claimed() -> list[str]:
    found = claim.claim("w", lease_seconds=60, limit=10)
    return [str(each.lease.conversation_id) for each in found]


def in_an_hour() -> datetime:
    return timezone.now() + timedelta(hours=1)


# --- what it touches ------------------------------------------------------------------------------


def test_impact_counts_what_the_agent_works_on_and_what_waits_for_it(chat: Chat) -> None:
    world = chat.world
    call = WaitingCall(chat)
    running = chat.start("Running")["conversation"]
    chat.start_turn(running)
    chat.start("Queued")
    me = world.owner
    mine = tasks.create(world.project, title="Mine", by=me)
    tasks.change(mine, assignees=[world.agent.member], by=me)
    tasks.create(world.project, title="After it", blocked_by=[mine], by=me)
    check_ins.create(world.agent, by=me, name="Look", prompt="What?", every_minutes=60)
    Chat("Elsewhere").start("Not ours")
    counted = chat.api.get(url(chat)).json()
    assert counted == {
        "status": "active",
        "planned": None,
        "impact": {
            "running": 1,
            "waiting": 1,
            "queued": 2,  # one of them is the conversation of the assigned task
            "paused": 0,
            "open_requests": 1,
            "assigned_tasks": 1,
            "blocked_tasks": 1,
            "check_ins": 1,
        },
    }
    assert call.id


def test_impact_takes_the_same_number_of_queries_for_one_and_for_ten(chat: Chat) -> None:
    counts = []
    for number in (1, 9):
        for each in range(number):
            chat.start(f"Chat {each}")
        with CaptureQueriesContext(connection) as seen:
            agent_impact.measure(chat.world.agent)
        counts.append(len(seen))
    assert counts[0] == counts[1] <= 7


def test_change_that_touches_work_needs_a_confirmation_with_the_counts(chat: Chat) -> None:
    chat.start_turn(chat.start("Running")["conversation"])
    for more in ({}, {"at": in_an_hour().isoformat()}):
        refused = chat.api.post(url(chat), {"status": "paused", **more})
        assert (refused.status_code, refused.json()["code"]) == (409, "confirmation_needed")
        assert "1 running conversation." in refused.json()["detail"]
    assert Agent.objects.get(pk=chat.world.agent.pk).status == "active"
    assert not AgentStatusChange.objects.exists()
    assert change(chat, "paused")["status"] == "paused"


def test_change_that_touches_nothing_needs_no_confirmation(chat: Chat) -> None:
    assert chat.api.post(url(chat), {"status": "inactive"}).json()["status"] == "inactive"


def test_audit_trail_says_who_changed_what_how_and_what_it_touched(chat: Chat) -> None:
    chat.start("Queued")
    change(chat, "paused", "immediate")
    entry = AuditEntry.objects.get(action="agent.status_changed")
    assert (entry.actor_name, entry.object_id) == (chat.world.owner.name, str(chat.world.agent.pk))
    assert {name: entry.facts[name] for name in ("former", "status", "mode")} == {
        "former": "active",
        "status": "paused",
        "mode": "immediate",
    }
    assert entry.facts["touched"]["queued"] == 1


# --- gracefully and at once -----------------------------------------------------------------------


@pytest.mark.parametrize("status", ["paused", "inactive"])
def test_graceful_change_lets_the_turn_finish_and_begins_nothing_new(
    status: str, chat: Chat
) -> None:
    running = chat.start("Running")
    lease = chat.start_turn(running["conversation"])
    queued = chat.start("Queued")["conversation"]
    messages = f"{chat.sessions_url}{running['session']}/messages/"
    assert chat.api.post(messages, {"text": "And this"}).status_code == 202
    change(chat, status)
    assert chat.row(running["conversation"]).status == "running"
    chat.finish_turn(lease, MessageSpoken(text="Done."))
    # The message that waited begins no turn; it is kept.
    assert chat.row(running["conversation"]).waits_for == f"agent_{status}"
    assert claimed() == []
    change(chat, "active")
    assert sorted(claimed()) == sorted([str(running["conversation"]), str(queued)])


def test_agent_that_became_inactive_after_the_worker_looked_begins_nothing(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat.start("Queued")
    candidates = claim_queries.candidates(1)
    change(chat, "inactive")
    monkeypatch.setattr(claim_queries, "candidates", lambda version: candidates)
    assert claimed() == []


def test_immediate_pause_pauses_at_the_next_step_and_goes_on_with_the_agent(chat: Chat) -> None:
    lease = chat.start_turn(chat.start("Running")["conversation"])
    change(chat, "paused", "immediate")
    (command,) = Trigger.objects.filter(control="pause")
    assert command.conversation_id == lease.conversation_id
    turn_end.end_turn(lease, [], TurnOutcome("paused", "by_person"), steps=1)
    assert chat.row(lease.conversation_id).status == "paused"
    change(chat, "active")
    assert chat.row(lease.conversation_id).status == "queued"


def test_conversation_that_a_person_paused_stays_paused_when_the_agent_is_active_again(
    chat: Chat,
) -> None:
    lease = chat.start_turn(chat.start("Running")["conversation"])
    assert chat.api.post(chat.url(lease.conversation_id, "pause/")).status_code == 202
    turn_end.end_turn(lease, [], TurnOutcome("paused", "by_person"), steps=1)
    change(chat, "paused", "immediate")
    change(chat, "active")
    assert chat.row(lease.conversation_id).status == "paused"


def test_pause_that_no_turn_has_obeyed_is_taken_back_with_the_status(chat: Chat) -> None:
    chat.start_turn(chat.start("Running")["conversation"])
    change(chat, "paused", "immediate")
    change(chat, "active")
    assert not Trigger.objects.filter(control="pause", state="new").exists()


def test_immediate_end_stops_what_runs_waits_and_is_queued_but_not_what_is_paused(
    chat: Chat,
) -> None:
    call = WaitingCall(chat)
    paused = chat.start_turn(chat.start("Paused")["conversation"])
    turn_end.end_turn(paused, [], TurnOutcome("paused", "step_limit"), steps=1)
    running = chat.start_turn(chat.start("Running")["conversation"])
    queued = chat.start("Queued")["conversation"]
    change(chat, "inactive", "immediate")
    stopped = chat.row(queued)
    assert (stopped.status, stopped.reason) == ("stopped", StopReason.AGENT_INACTIVE)
    stops = Trigger.objects.filter(control="stop").values_list("conversation", flat=True)
    assert set(stops) == {running.conversation_id, call.id}
    assert not chat.row(call.id).waits_for_person
    assert chat.row(paused.conversation_id).status == "paused"


def test_check_in_is_skipped_and_a_message_refused_while_inactive(chat: Chat) -> None:
    change(chat, "inactive")
    assert chat.api.post(chat.sessions_url, {"message": "Hello"}).status_code == 409


# --- at a set time --------------------------------------------------------------------------------


def test_planned_change_comes_at_its_time_once_and_is_told(chat: Chat) -> None:
    at = in_an_hour()
    shown = change(chat, "paused", at=at.isoformat(), time_zone="Europe/Berlin")
    assert (shown["status"], shown["planned"]["status"]) == ("active", "paused")
    assert shown["planned"]["time_zone"] == "Europe/Berlin"
    assert datetime.fromisoformat(shown["planned"]["at"]) == at
    assert agent_status.take_due(at - timedelta(seconds=1)) == at
    assert agent_status.take_due(at) == at
    assert agent_status.take_due(at) is None
    (planned,) = AgentStatusChange.objects.all()
    assert (planned.state, Agent.objects.get(pk=chat.world.agent.pk).status) == ("done", "paused")
    entry = AuditEntry.objects.get(action="agent.status_changed")
    assert (entry.actor_name, entry.facts["planned_for"]) == (
        chat.world.owner.name,
        at.isoformat(),
    )


def test_worker_makes_planned_changes_beside_check_ins(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = in_an_hour()
    change(chat, "paused", at=at.isoformat())
    assert checkins.take_due() == at
    monkeypatch.setattr(timezone, "now", lambda: at)
    checkins.take_due()
    assert Agent.objects.get(pk=chat.world.agent.pk).status == "paused"


def test_nothing_due_costs_one_query(chat: Chat, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(1):
        assert agent_status.take_due(timezone.now()) is None


@pytest.mark.django_db(transaction=True)
def test_workers_that_race_make_a_planned_change_once() -> None:
    chat = Chat()
    planned = agent_status.plan(
        chat.world.agent,
        status="paused",
        mode="graceful",
        at=in_an_hour().isoformat(),
        by=chat.world.owner,
    )
    start, taken = threading.Barrier(4), []

    def take() -> None:
        try:
            start.wait()
            taken.append(agent_status.take(planned.pk, planned.due_at))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [False, False, False, True]
    assert AuditEntry.objects.filter(action="agent.status_changed").count() == 1


def test_change_that_was_taken_between_the_read_and_the_write_is_made_once(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = in_an_hour()
    change(chat, "paused", at=at.isoformat())
    (planned,) = AgentStatusChange.objects.all()
    end = agent_status._end

    def taken_meanwhile(*args: Any) -> int:
        monkeypatch.setattr(agent_status, "_end", end)
        assert agent_status.take(planned.pk, at)
        return end(*args)

    monkeypatch.setattr(agent_status, "_end", taken_meanwhile)
    assert agent_status.take(planned.pk, at) is False
    assert AuditEntry.objects.filter(action="agent.status_changed").count() == 1


def test_change_that_fails_is_told_as_failed_and_holds_up_no_other(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = in_an_hour()
    change(chat, "paused", at=at.isoformat())

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr(agents, "set_status", fail)
    agent_status.take_due(at)
    (planned,) = AgentStatusChange.objects.all()
    assert (planned.state, Agent.objects.get(pk=chat.world.agent.pk).status) == (
        "failed",
        "active",
    )
    assert AuditEntry.objects.filter(action="agent.status_change_failed").exists()


def test_planned_change_is_cancelled_once(chat: Chat) -> None:
    at = in_an_hour()
    change(chat, "paused", at=at.isoformat())
    assert chat.api.delete(url(chat, "planned/")).status_code == 204
    assert chat.api.delete(url(chat, "planned/")).status_code == 404
    assert agent_status.take_due(at) is None
    assert chat.api.get(url(chat)).json()["planned"] is None
    change(chat, "inactive", at=at.isoformat())


def test_second_planned_change_is_refused_by_the_service_and_the_database(chat: Chat) -> None:
    change(chat, "paused", at=in_an_hour().isoformat())
    second = chat.api.post(url(chat), {"status": "inactive", "at": in_an_hour().isoformat()})
    assert (second.status_code, second.json()["code"]) == (409, "status_change_planned")
    (planned,) = AgentStatusChange.objects.all()
    planned.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        planned.save(force_insert=True)


@pytest.mark.parametrize("gone", ["agent", "project"])
def test_planned_change_of_what_is_gone_is_not_made(gone: str, chat: Chat) -> None:
    at = in_an_hour()
    change(chat, "paused", at=at.isoformat())
    if gone == "agent":
        agents.retire(chat.world.agent, by=chat.world.owner)
    else:
        projects.delete(chat.world.project, by=chat.world.owner)
    assert agent_status.take_due(at) is None


@pytest.mark.parametrize("lost", ["membership", "right", "account"])
def test_planned_change_of_somebody_who_may_not_make_it_any_more_does_not_come(
    lost: str, chat: Chat, client: Client
) -> None:
    at, owner = in_an_hour(), chat.world.owner
    bob = chat.add_member("bob", role="manager")
    agent_status.plan(
        chat.world.agent, status="inactive", mode="immediate", at=at.isoformat(), by=bob
    )
    if lost == "membership":
        members.end_membership(bob, by=owner)
    elif lost == "right":
        members.change_role(bob, role=chat.world.role("viewer"), by=owner)
    else:
        User.objects.filter(pk=bob.user_id).update(is_active=False)
    client.force_login(chat.world.user)
    ids = [chat.world.project.pk, chat.world.agent.pk]
    page = client.get(reverse("agent_settings", args=ids)).content.decode()
    assert "so it will not come" in page
    assert agent_status.take_due(at) == at
    assert agent_status.take_due(at) is None
    (planned,) = AgentStatusChange.objects.all()
    assert (planned.state, Agent.objects.get(pk=chat.world.agent.pk).status) == ("failed", "active")
    entry = AuditEntry.objects.get(action="agent.status_change_failed")
    assert entry.facts["reason"] == agent_status.NOT_ALLOWED_ANY_MORE


def test_status_that_is_set_with_other_settings_has_its_entry_in_the_audit_trail(
    chat: Chat,
) -> None:
    agent = f"{chat.project_url}agents/{chat.world.agent.pk}/"
    assert chat.api.patch(agent, {"status": "paused", "description": "Rests"}).status_code == 200
    entry = AuditEntry.objects.get(action="agent.status_changed")
    assert (entry.facts["former"], entry.facts["status"]) == ("active", "paused")
    assert AuditEntry.objects.get(action="agent.configured").facts["fields"] == ["description"]


def test_time_without_an_offset_is_meant_in_the_time_zone(chat: Chat) -> None:
    there = ZoneInfo("Pacific/Auckland")
    local = in_an_hour().astimezone(there).replace(tzinfo=None, microsecond=0)
    shown = change(chat, "paused", at=local.isoformat(), time_zone=there.key)
    assert datetime.fromisoformat(shown["planned"]["at"]) == local.replace(tzinfo=there)


def test_time_that_the_clocks_skip_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        agent_status._local(datetime.fromisoformat("2027-03-28T02:30"), "Europe/Berlin")
    assert "skip" in refused.value.fields["at"][0]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "status"),
        ({"status": "asleep"}, "status"),
        ({"status": "paused", "mode": "soon"}, "mode"),
        ({"status": "paused", "at": "tomorrow"}, "at"),
        ({"status": "paused", "at": "2020-01-01T00:00:00Z"}, "at"),
        ({"status": "paused", "at": "9999-12-31T23:59:59+00:00"}, "at"),
        ({"status": "paused", "at": "0001-01-01T00:00:00+14:00"}, "at"),
        ({"status": "paused", "at": 5e9}, "at"),
        ({"status": "paused", "at": "2027-01-01T00:00", "time_zone": "Mars/Base"}, "time_zone"),
        ({"status": "paused", "time_zone": "UTC"}, "time_zone"),
        ({"status": "paused", "confirm": "perhaps"}, "confirm"),
        ({"status": "paused", "nonsense": 1}, "nonsense"),
    ],
)
def test_bad_change_of_the_status_is_refused(body: dict[str, Any], field: str, chat: Chat) -> None:
    answer = chat.api.post(url(chat), body)
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])


def test_status_of_a_retired_or_foreign_agent_is_not_there(chat: Chat) -> None:
    other = Chat("Elsewhere")
    assert (
        chat.api.get(f"{chat.project_url}agents/{other.world.agent.pk}/status/").status_code == 404
    )
    agents.retire(chat.world.agent, by=chat.world.owner)
    assert chat.api.post(url(chat), {"status": "paused"}).status_code == 404
    with pytest.raises(agents.AgentIsRetired):
        agent_status.change(chat.world.agent, status="paused", mode="graceful", by=None)
