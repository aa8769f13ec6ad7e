"""Teams: teammates begin, talk, claim tasks, rest and end; and what is stored of it outlives every process."""

from __future__ import annotations

import threading
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, IntegrityError, connections, transaction
from django.utils import timezone
from pydantic import ValidationError

from paca import events
from paca.common.errors import Conflict, NotAllowed
from paca.conversations import services
from paca.conversations.models import Conversation, ModelCall, Teammate, TeamTask, Trigger
from paca.conversations.services.teams import members, messages, protocols, settling
from paca.engine.teams import requests
from paca.engine.turn import TurnOutcome
from paca.projects.models import Member
from paca.projects.services import tasks
from tests.conversations.team_desk import TeamDesk

pytestmark = pytest.mark.django_db
FAILED = TurnOutcome("failed", "model_error", "No key.")


@pytest.fixture
def desk() -> TeamDesk:
    return TeamDesk()


# --- spawning -------------------------------------------------------------------------------------


def test_teammate_begins_with_its_role_and_reports_to_the_lead(desk):
    ann = desk.spawn("ann", role="a careful tester", work="Test the login.")
    assert desk.state() == "working"
    [beginning] = desk.messages(ann)
    assert "You are ann" in beginning
    assert "a careful tester" in beginning
    assert beginning.endswith("Test the login.")
    desk.end(ann, "The login works.")
    assert desk.state() == "idle"
    [report] = desk.messages()
    assert report == "ann has ended its turn:\nThe login works."
    assert [each.state for each in desk.told(events.TeammateChanged)] == ["working", "idle"]


def test_team_has_five_places_and_a_teammate_that_has_ended_leaves_its_place(desk):
    for n in range(requests.MAX_TEAMMATES):
        desk.idle(f"mate{n}")
    with pytest.raises(Conflict, match="at most 5"):
        desk.spawn("late")
    desk.call(desk.lead, "shut_down_teammate", name="mate2")
    desk.claim()
    desk.call(desk.mate("mate2"), "answer_shutdown", agree=True)
    desk.end(desk.mate("mate2"))
    assert desk.state("mate2") == "ended/shutdown"
    assert desk.spawn("late").place == 3


def test_database_refuses_a_sixth_teammate_and_a_place_that_is_taken(desk):
    ann = desk.spawn("ann")
    for place in (ann.place, 0, 6):
        child = Conversation.objects.create(
            project=desk.team.world.project,
            agent=desk.team.world.agent,
            trigger_type="teammate",
            parent=desk.lead,
        )
        with pytest.raises(IntegrityError), transaction.atomic():
            Teammate.objects.create(
                lead=desk.lead, conversation=child, name=f"bob{place}", role="coder", place=place
            )


def test_call_that_is_repeated_after_a_lost_worker_spawns_once(desk):
    wanted = {"name": "ann", "role": "coder", "work": "Do it."}
    for _ in range(2):
        desk.call(desk.lead, "spawn_teammate", call_id="c1", **wanted)
    assert Teammate.objects.count() == 1
    assert len(desk.messages(desk.mate("ann"))) == 1


def test_name_that_was_used_is_taken_for_ever(desk):
    desk.idle("ann")
    desk.settle(after=61)
    assert desk.state() == "ended/idle"
    with pytest.raises(Conflict, match="Choose another name"):
        desk.spawn("ann")


def test_conversation_spawns_a_bounded_number_of_teammates(desk, monkeypatch):
    monkeypatch.setattr(requests, "MAX_EVER", 2)
    for name in ("ann", "bob"):
        desk.idle(name)
        desk.settle(after=61)
    with pytest.raises(Conflict, match="at most 2"):
        desk.spawn("cid")


def test_read_only_lead_has_read_only_teammates(desk):
    assert not desk.spawn("ann").conversation.reads_only
    Conversation.objects.filter(pk=desk.lead.pk).update(trigger_type="check_in")
    assert desk.spawn("bob").conversation.reads_only


def test_teammate_inherits_the_approval_of_the_rest(desk):
    Conversation.objects.filter(pk=desk.lead.pk).update(rest_approved_by="Ada")
    ann = desk.spawn()
    from paca.engine.approvals.decisions import Decisions
    from tests.conversations.team import store_events

    decisions = Decisions()
    for event in store_events(ann.conversation):
        decisions = decisions.advance(event)
    assert decisions.rest_by == "Ada"


# --- messages -------------------------------------------------------------------------------------


def test_message_wakes_an_idle_teammate_and_enters_a_running_turn(desk):
    ann = desk.idle()
    desk.call(desk.lead, "send_message", to="ann", text="One more thing.")
    assert desk.status(ann) == "queued"
    desk.claim()
    assert desk.state() == "working"
    desk.call(desk.lead, "send_message", to="ann", text="And another.")
    assert desk.status(ann) == "running"
    assert [text.splitlines()[0] for text in desk.messages(ann)[1:]] == [
        "Message from lead of your team:"
    ] * 2
    desk.end(ann)  # the last message came after the turn began, so the next turn answers it
    assert desk.status(ann) == "running"


def test_messages_reach_one_or_all_and_not_the_sender(desk):
    ann, bob = desk.spawn("ann"), desk.spawn("bob")
    assert desk.call(ann, "send_message", to="all", text="Hello.") == "Sent to lead, bob."
    assert len(desk.messages(ann)) == 1
    assert desk.messages(bob)[-1] == "Message from ann of your team:\nHello."
    assert desk.messages() == ["Message from ann of your team:\nHello."]
    desk.call(bob, "send_message", to="ann", text="Hi.")
    assert desk.messages(ann)[-1].endswith("Hi.")
    assert "Hello." in desk.call(desk.lead, "read_inbox")
    for to in ("ann", "nobody"):
        with pytest.raises(Conflict, match=f"no {to} in your team"):
            desk.call(ann, "send_message", to=to, text="?")


def test_events_name_the_teammate_as_their_source(desk):
    ann = desk.spawn()
    desk.call(ann, "send_message", to="lead", text="Hello.")
    sources = set(desk.lead.events.values_list("source", flat=True))
    assert "teammate:ann" in sources


def test_lead_that_has_ended_its_turn_is_woken_by_a_report(desk):
    ann = desk.spawn()
    desk.end(desk.lead, "I wait.")
    assert desk.status() == "finished"
    desk.end(ann, "Found it.")
    assert desk.status() == "queued"
    desk.claim()
    assert desk.status() == "running"
    assert Trigger.objects.filter(conversation=desk.lead, kind="teammate", turn=2).count() == 1


def test_report_of_a_teammate_leaves_a_paused_lead_paused_and_waits_for_it(desk):
    ann = desk.spawn()
    desk.end(desk.lead, "", TurnOutcome("paused", "by_person"))
    desk.end(ann, "Found it.")
    assert desk.status() == "paused"
    services.resume(desk.lead, by=desk.team.ada)
    desk.claim()
    assert Trigger.objects.filter(conversation=desk.lead, kind="teammate", turn=2).count() == 1


def test_team_may_not_answer_one_another_for_ever(desk, monkeypatch):
    monkeypatch.setattr(messages, "MAX_MESSAGES", 3)
    ann = desk.spawn()
    for n in range(3):
        desk.call(
            (desk.lead, ann)[n % 2], "send_message", to=("ann", "lead")[n % 2], text="Thanks!"
        )
    with pytest.raises(messages.TooManyMessages, match="until a person writes"):
        desk.call(ann, "send_message", to="lead", text="Thanks!")
    services.send(desk.lead, text="Go on.", by=desk.team.ada)
    desk.call(ann, "send_message", to="lead", text="Thanks!")


def test_agents_that_call_one_another_through_a_team_are_counted(desk):
    Trigger.objects.filter(conversation=desk.lead).update(hops=2)
    ann = desk.spawn()
    assert set(ann.conversation.triggers.values_list("hops", flat=True)) == {2}


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("spawn_teammate", {"name": "Ann", "role": "coder", "work": "Do it."}),
        ("spawn_teammate", {"name": "lead", "role": "coder", "work": "Do it."}),
        ("spawn_teammate", {"name": "all", "role": "coder", "work": "Do it."}),
        ("spawn_teammate", {"name": "a" * 31, "role": "coder", "work": "Do it."}),
        ("spawn_teammate", {"name": "ann\n", "role": " ", "work": "Do it."}),
        ("spawn_teammate", {"name": "ann", "role": "x" * 501, "work": "Do it."}),
        ("spawn_teammate", {"name": "ann", "role": "coder", "work": ""}),
        ("spawn_teammate", {"name": "ann", "role": "coder", "work": "x" * 8001}),
        ("spawn_teammate", {"name": "ann", "role": "a\0b", "work": "Do it."}),
        ("spawn_teammate", {"name": "ann", "role": "coder", "work": "a\ud800"}),
        ("send_message", {"to": "ann", "text": " "}),
        ("send_message", {"to": "ann", "text": "x" * 8001}),
        ("send_message", {"to": "../ann", "text": "Hello."}),
        ("add_team_tasks", {"tasks": []}),
        ("add_team_tasks", {"tasks": ["HAR-1"] * 51}),
        ("claim_task", {"task": "x" * 31}),
        ("submit_plan", {"plan": "\0"}),
        ("review_plan", {"name": "ann", "approve": "maybe"}),
        ("answer_shutdown", {"agree": "yes"}),
    ],
)
def test_bad_arguments_are_refused_before_anything_runs(tool, arguments):
    from tests.conversations.team_desk import TOOLS

    with pytest.raises(ValidationError):
        TOOLS[tool].Arguments.model_validate(arguments)


def test_agent_without_the_right_leads_no_team():
    desk = TeamDesk()
    Member.objects.filter(agent=desk.team.world.agent).update(role=desk.team.world.role("viewer"))
    with pytest.raises(NotAllowed):
        desk.spawn()


# --- tasks ----------------------------------------------------------------------------------------


def test_idle_teammate_claims_the_next_task_of_the_plan(desk):
    ann = desk.idle()
    desk.end(desk.lead, "Go.")
    desk.claim()  # woken by the report
    (login, logout) = desk.plan("Login", "Logout")
    desk.settle()
    login.refresh_from_db()
    assert desk.claims() == {"Login": "ann"}
    assert (login.status.category, list(login.assignees.all())) == ("in_progress", [desk.team.rosa])
    assert f"You have claimed {login.key}: Login" in desk.messages(ann)[-1]
    assert [each["state"] for each in desk.told(events.BoardChanged)[-1].tasks] == [
        "claimed",
        "open",
    ]
    desk.claim()
    before = len(desk.messages())
    desk.end(ann, "Login is done.")
    assert desk.claims() == {"Login": "ann", "Logout": "ann"}
    assert desk.messages()[-1].endswith(f"{login.key} is still open.")
    assert len(desk.messages()) == before + 1


def test_lead_sleeps_until_a_teammate_has_no_task_left(desk):
    ann = desk.spawn()
    desk.plan("Login", "Logout")
    desk.end(desk.lead, "Go.")
    for status in ("finished", "finished", "queued"):
        desk.end(ann)
        desk.claim() if status == "finished" else None
        assert desk.status() == status
    assert len(desk.messages()) == 3


def test_task_waits_for_the_open_tasks_that_block_it(desk):
    first, second = desk.team.add_task("First"), desk.team.add_task("Second")
    tasks.change(second, by=desk.team.ada, blocked_by=[first], priority="urgent")
    desk.idle("ann")
    desk.idle("bob")
    desk.call(desk.lead, "add_team_tasks", tasks=[first.key, second.key])
    desk.settle()
    assert desk.claims() == {"First": "ann"}
    done = desk.team.world.project.statuses.filter(category="done").first()
    tasks.change(first, by=desk.team.ada, status=done)
    desk.settle()
    assert desk.claims() == {"First": "ann", "Second": "bob"}


def test_task_whose_blocker_is_deleted_is_free(desk):
    first, second = desk.team.add_task("First"), desk.team.add_task("Second")
    tasks.change(second, by=desk.team.ada, blocked_by=[first])
    desk.call(desk.lead, "add_team_tasks", tasks=[second.key])
    desk.idle()
    assert desk.claims() == {}
    tasks.delete(first, by=desk.team.ada)
    desk.settle()
    assert desk.claims() == {"Second": "ann"}


def test_team_takes_no_task_of_others(desk):
    theirs, soon = desk.team.add_task("Theirs"), desk.team.add_task("Soon")
    tasks.assign(theirs, to=desk.team.ada, by=desk.team.ada)
    with pytest.raises(Conflict, match="assigned to @ada"):
        desk.call(desk.lead, "add_team_tasks", tasks=[theirs.key])
    desk.call(desk.lead, "add_team_tasks", tasks=[soon.key])
    tasks.assign(soon, to=desk.team.ada, by=desk.team.ada)  # meanwhile
    ann = desk.idle()
    assert desk.claims() == {}
    desk.call(desk.lead, "send_message", to="ann", text="Take it.")
    desk.claim()
    with pytest.raises(Conflict, match="assigned to"):
        desk.call(ann, "claim_task", task=soon.key)


def test_plan_of_a_team_is_bounded(desk, monkeypatch):
    from paca.conversations.services.teams import board

    monkeypatch.setattr(board, "MAX_TASKS", 1)
    with pytest.raises(Conflict, match="at most 1"):
        desk.plan("One", "Two")
    assert not TeamTask.objects.exists()


def test_teammate_claims_an_unassigned_task_by_itself_and_one_at_a_time(desk):
    ann, bob = desk.spawn("ann"), desk.spawn("bob")
    task, other = desk.team.add_task("Login"), desk.team.add_task("Logout")
    assert "You have claimed" in desk.call(ann, "claim_task", task=task.key)
    with pytest.raises(Conflict, match="have HAR.* already"):
        desk.call(ann, "claim_task", task=other.key)
    with pytest.raises(Conflict, match="claimed already"):
        desk.call(bob, "claim_task", task=task.key)


def test_database_refuses_a_second_claim_of_a_task(desk):
    ann = desk.spawn("ann")
    task = desk.team.add_task("Login")
    desk.call(ann, "claim_task", task=task.key)
    desk.begin()
    bob = desk.spawn("bob")
    with pytest.raises(IntegrityError), transaction.atomic():
        TeamTask.objects.create(lead=desk.lead, task=task, teammate=bob, claimed_at=timezone.now())


def test_row_that_was_read_before_another_claim_claims_nothing(desk):
    from paca.conversations.services.teams import board

    ann, bob = desk.idle("ann"), desk.spawn("bob")
    desk.plan("Login")
    row = TeamTask.objects.select_related("task__project", "task__status").get()
    desk.settle()
    assert desk.claims() == {"Login": "ann"}
    with pytest.raises(Conflict, match="Somebody else"):
        board._claim(row, bob, member=desk.team.rosa, now=timezone.now())
    assert desk.claims() == {"Login": ann.name}


def test_agent_that_may_not_change_tasks_claims_none(desk):
    ann = desk.idle()
    desk.plan("Login")
    Member.objects.filter(agent=desk.team.world.agent).update(role=desk.team.world.role("viewer"))
    desk.settle()
    assert desk.claims() == {}
    assert desk.status(ann) == "finished"


def test_task_of_a_teammate_that_fails_is_given_back_to_the_lead(desk):
    ann = desk.idle()
    desk.plan("Login")
    desk.settle()
    desk.claim()
    desk.end(ann, "", FAILED)
    assert desk.state() == "ended/failed"
    assert desk.told(events.BoardChanged)[-1].tasks[0]["state"] == "closed"
    assert "has failed" in desk.messages()[-1]
    desk.idle("bob")
    assert desk.claims() == {
        "Login": "ann"
    }  # nobody takes what may fail again, until the lead adds it
    key = TeamTask.objects.get().task.key
    desk.call(desk.lead, "add_team_tasks", tasks=[key])
    desk.settle()
    assert desk.claims() == {"Login": "bob"}


# --- idle, ends and restarts ----------------------------------------------------------------------


def test_teammate_ends_after_a_minute_without_work(desk):
    ann = desk.idle()
    desk.settle(after=58)
    assert desk.state() == "idle"
    desk.settle(after=4)
    assert desk.state() == "ended/idle"
    assert desk.told(events.TeammateChanged)[-1].why == "idle"
    assert len(desk.messages()) == 1  # only the report of its turn
    with pytest.raises(Conflict, match="no ann"):
        desk.call(desk.lead, "send_message", to="ann", text="Are you there?")
    assert desk.status(ann) == "finished"


def test_team_of_a_paused_lead_rests(desk):
    desk.spawn()
    desk.plan("Login")
    desk.end(desk.lead, "", TurnOutcome("paused", "by_person"))
    desk.end(desk.mate("ann"))
    desk.settle(after=600)
    assert (desk.state(), desk.claims()) == ("idle", {})


def test_idle_teammate_holds_no_lease_and_no_place(desk):
    ann = desk.idle()
    assert (ann.conversation.lease_owner, ann.conversation.status) == ("", "finished")
    active = Conversation.objects.active_of(desk.team.world.agent)
    assert list(active) == [desk.lead]


def test_nothing_due_costs_one_query(desk, django_assert_num_queries):
    desk.idle()
    with django_assert_num_queries(1):
        settling.settle_due(now=timezone.now())


def test_worker_that_dies_before_the_commit_has_settled_nothing(desk, monkeypatch):
    class Killed(BaseException):
        pass

    ann = desk.spawn()
    desk.plan("Login")

    def die(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(messages, "deliver", die)
        with pytest.raises(Killed), transaction.atomic():
            desk.end(ann, "Done.")
    desk.leases[ann.conversation_id] = desk.leases.get(ann.conversation_id) or _lease(ann)
    assert (desk.claims(), desk.state()) == ({}, "working")
    desk.end(ann, "Done.")
    assert desk.claims() == {"Login": "ann"}
    assert len(desk.messages()) == 1


def _lease(mate: Teammate) -> Any:
    from paca.conversations.store import Lease

    row = Conversation.objects.get(pk=mate.conversation_id)
    return Lease(row.pk, row.lease_owner, row.lease_epoch)


def test_stop_of_the_lead_ends_the_whole_team(desk):
    ann = desk.spawn("ann")
    desk.idle("bob")
    desk.call(desk.lead, "spawn_teammate", name="cid", role="coder", work="Do it.")
    cid = desk.mate("cid")
    services.stop(desk.lead, by=desk.team.ada)
    assert Trigger.objects.filter(conversation=ann.conversation, control="stop").exists()
    assert desk.status(cid) == "stopped"
    desk.end(ann, "", TurnOutcome("stopped", "by_person"))
    before = len(desk.messages())
    desk.end(desk.lead, "", TurnOutcome("stopped", "by_person"))
    assert {desk.state(name) for name in ("ann", "bob", "cid")} == {"ended/stopped"}
    assert len(desk.messages()) == before
    assert desk.status() == "stopped"


def test_stop_of_a_lead_that_has_ended_its_turn_ends_the_team_and_wakes_nobody(desk):
    ann = desk.spawn("ann")
    desk.end(desk.lead, "I wait.")
    services.stop(desk.lead, by=desk.team.ada)
    desk.end(ann, "", TurnOutcome("stopped", "by_person"))
    assert desk.state() == "ended/stopped"
    assert desk.status() == "finished"


def test_stop_of_one_teammate_is_told_to_the_lead_and_leaves_the_others(desk):
    ann, bob = desk.idle("ann"), desk.spawn("bob")
    services.stop(ann.conversation, by=desk.team.ada)
    desk.settle()
    assert (desk.state("ann"), desk.state("bob")) == ("ended/stopped", "working")
    assert desk.messages()[-1] == "ann was stopped."
    assert desk.status(bob) == "running"


def test_interrupt_of_the_lead_leaves_its_team_at_work(desk):
    ann = desk.spawn()
    services.send(desk.lead, text="Wait.", by=desk.team.ada, on_busy="interrupt")
    assert not Trigger.objects.filter(conversation=ann.conversation, control="stop").exists()
    assert desk.state() == "working"


def test_deleted_lead_keeps_nothing_of_its_team(desk):
    from paca.conversations import deletion

    desk.idle()
    desk.end(desk.lead)
    desk.end(desk.lead)  # the turn that reads the report
    deletion.delete(desk.lead, by=desk.team.ada)
    assert not Teammate.objects.exists()


def test_what_teammates_use_counts_for_the_budget_of_the_lead(desk):
    from paca.engine.limits import TurnProgress

    ann = desk.spawn()
    ModelCall.objects.create(
        id=uuid4(),
        project=desk.team.world.project,
        agent=desk.team.world.agent,
        conversation=ann.conversation,
        purpose="turn",
        turn=1,
        attempt=1,
        model="m",
        status="done",
        epoch=1,
        started_at=timezone.now(),
        input_tokens=900,
        output_tokens=100,
        cost_usd=0.5,
    )
    desk.end(ann)
    progress = TurnProgress()
    for event in desk.told(events.TeammateChanged):
        progress = progress.advance(event)
    assert (progress.tokens, progress.cost_usd) == (1000, 0.5)
    desk.settle(after=61)
    assert desk.told(events.TeammateChanged)[-1].usage == {"tokens": 0, "cost_usd": 0.0}


def test_sandbox_of_a_team_is_in_use_while_a_teammate_works(desk):
    from datetime import timedelta

    from paca.conversations import sandbox_lifecycle, sandbox_queries
    from paca.conversations.models import Sandbox
    from paca.conversations.sandbox_queries import SandboxRecord
    from paca.sandbox.base import IdlePolicy
    from paca.worker.sandboxes import sweeper

    def seen() -> tuple[bool, int]:
        return desk.lead.pk in sandbox_queries.needed_conversations(policy), len(
            sandbox_queries.living()
        )

    policy = IdlePolicy(60, 60)
    sandbox_lifecycle.start(desk.lead.pk, backend="bubblewrap", boot_id="b1", at=timezone.now())
    Sandbox.objects.update(last_used_at=timezone.now() - timedelta(hours=1))
    ann = desk.spawn()
    desk.end(desk.lead, "I wait.")
    assert seen() == (True, 0)
    record = SandboxRecord(desk.lead.pk, "bubblewrap", "b1", "")
    assert not sweeper.record_ended(record)
    desk.end(ann)
    desk.claim()
    desk.end(desk.lead)
    assert seen() == (False, 1)
    assert sweeper.record_ended(record)


# --- protocols ------------------------------------------------------------------------------------


def test_teammate_that_does_not_agree_to_end_goes_on_and_says_why(desk):
    ann = desk.spawn()
    desk.call(desk.lead, "shut_down_teammate", name="ann", reason="We are done.")
    assert "We are done." in desk.messages(ann)[-1]
    desk.call(ann, "answer_shutdown", agree=False, reason="One test is red.")
    assert desk.messages()[-1] == "ann goes on. It says: One test is red."
    desk.claim()
    desk.end(ann)
    assert desk.state() in ("idle", "working")
    with pytest.raises(protocols.RequestResolved):
        desk.call(ann, "answer_shutdown", agree=True)
    assert [each.decision for each in desk.told(events.ProtocolResolved)] == ["rejected"]


def test_teammate_that_does_not_answer_in_time_is_stopped(desk, settings):
    ann = desk.spawn()
    desk.call(desk.lead, "shut_down_teammate", name="ann")
    with pytest.raises(Conflict, match="asked already"):
        desk.call(desk.lead, "shut_down_teammate", name="ann")
    desk.settle(after=settings.TEAM_ANSWER_SECONDS - 5)
    assert desk.request().kind == "shutdown"
    desk.settle(after=10)
    assert [each.decision for each in desk.told(events.ProtocolResolved)] == ["expired"]
    assert Trigger.objects.filter(conversation=ann.conversation, control="stop").exists()
    desk.end(ann, "", TurnOutcome("stopped", "shutdown"))
    assert desk.state().startswith("ended/")


def test_answer_after_the_deadline_does_not_count(desk):
    ann = desk.spawn()
    desk.call(desk.lead, "shut_down_teammate", name="ann")
    from datetime import timedelta

    from paca.conversations.models import TeamRequest

    TeamRequest.objects.update(deadline=timezone.now() - timedelta(seconds=1))
    with pytest.raises(protocols.RequestResolved):
        desk.call(ann, "answer_shutdown", agree=False)


def test_teammate_works_only_after_its_plan_was_approved(desk):
    ann = desk.spawn(plan_first=True)
    assert ann.conversation.reads_only
    assert "only after the lead has approved" in desk.messages(ann)[0]
    desk.plan("Login")
    desk.call(ann, "submit_plan", plan="1. Look. 2. Fix.")
    with pytest.raises(Conflict, match="asked already"):
        desk.call(ann, "submit_plan", plan="1. Look. 2. Fix.")
    assert "1. Look. 2. Fix." in desk.messages()[-1]
    desk.end(ann, "I wait.")
    desk.settle(after=120)
    assert (desk.state(), desk.claims()) == ("idle", {})
    desk.call(desk.lead, "review_plan", name="ann", approve=False, feedback="Test it too.")
    desk.settle()
    assert "rejected. The lead says: Test it too." in desk.messages(ann)[-1]
    desk.claim()
    desk.call(ann, "submit_plan", plan="1. Look. 2. Fix. 3. Test.")
    desk.end(ann)
    desk.call(desk.lead, "review_plan", name="ann", approve=True)
    desk.settle()
    assert "is approved" in desk.messages(ann)[-1]
    assert not desk.mate("ann").conversation.reads_only
    with pytest.raises(protocols.RequestResolved):
        desk.call(desk.lead, "review_plan", name="ann", approve=False)
    desk.claim()
    desk.end(ann)
    assert desk.claims() == {"Login": "ann"}
    decisions = [each.decision for each in desk.told(events.ProtocolResolved)]
    assert decisions == ["rejected", "approved"]


def test_teammate_without_an_approved_plan_claims_nothing(desk):
    ann = desk.spawn(plan_first=True)
    desk.plan("Login")
    desk.end(ann, "I have no plan.")
    assert desk.claims() == {}


def test_approval_of_a_plan_gives_no_more_than_the_lead_has(desk):
    ann = desk.spawn(plan_first=True)
    desk.call(ann, "submit_plan", plan="1. Look. 2. Fix.")
    Conversation.objects.filter(pk=desk.lead.pk).update(trigger_type="check_in")
    desk.call(desk.lead, "review_plan", name="ann", approve=True)
    assert desk.mate("ann").conversation.reads_only


def test_plan_that_nobody_reviews_in_time_ends_the_teammate(desk, settings):
    ann = desk.spawn(plan_first=True)
    desk.call(ann, "submit_plan", plan="1. Look. 2. Fix.")
    desk.end(ann, "I wait.")
    desk.settle(after=settings.TEAM_ANSWER_SECONDS + 1)
    assert desk.state() == "ended/unreviewed"
    assert "nobody reviewed its plan in time" in desk.messages()[-1]


def test_request_of_a_teammate_that_is_stopped_is_resolved(desk):
    ann = desk.spawn()
    desk.call(ann, "submit_plan", plan="1. Look.")
    services.stop(ann.conversation, by=desk.team.ada)
    desk.end(ann, "", TurnOutcome("stopped", "by_person"))
    assert [each.decision for each in desk.told(events.ProtocolResolved)] == ["ended"]


def test_list_shows_teammates_with_what_they_said(desk):
    ann = desk.spawn("ann", role="tester")
    desk.idle("bob")
    desk.end(ann, "All green.")
    desk.settle(after=61)
    desk.spawn("cid")
    url = f"/projects/{desk.team.world.project.pk}/conversations/{desk.lead.pk}/helpers/"
    shown = {each["team"]["name"]: each for each in desk.team.api.get(url).data["results"]}
    assert {name: each["team"]["state"] for name, each in shown.items()} == {
        "ann": "ended",
        "bob": "ended",
        "cid": "working",
    }
    assert shown["ann"]["team"]["said"] == "All green."
    assert (shown["ann"]["team"]["role"], shown["ann"]["team"]["end_reason"]) == ("tester", "idle")
    assert shown["cid"]["status"] == "running"


# --- tools ----------------------------------------------------------------------------------------


def test_team_tools_are_off_unless_they_are_switched_on():
    from paca.agents.toolbox import make_toolbox, tool_names
    from paca.engine.teams.tools import NAMES

    assert not NAMES.intersection(tool_names())
    lead, mate = make_toolbox(team_role="lead"), make_toolbox(team_role="teammate", is_helper=True)
    assert lead.has("spawn_teammate")
    assert not lead.has("submit_plan")
    assert mate.has("submit_plan")
    assert not mate.has("spawn_teammate")
    assert not mate.has("delegate")
    small = make_toolbox(team_role="teammate", is_helper=True, read_only=True)
    assert small.has("submit_plan")
    assert not small.has("claim_task")


def test_flag_of_the_conversation_switches_teams():
    desk = TeamDesk(teams=False)
    from paca.worker import assembly

    def role(conversation: Conversation) -> str:
        rows = assembly.read_rows(conversation.pk)
        assert rows is not None
        return assembly._team_role(rows.conversation, rows.agent)

    assert role(desk.lead) == ""
    services.set_flags(desk.lead, teams=True, by=desk.team.ada)
    assert role(desk.lead) == "lead"
    assert Conversation.objects.get(pk=desk.lead.pk).leads_team
    ann = desk.spawn()
    assert role(ann.conversation) == "teammate"
    Conversation.objects.filter(pk=ann.conversation_id).update(trigger_type="helper", teams=True)
    assert role(ann.conversation) == ""
    services.set_flags(desk.lead, teams=False, by=desk.team.ada)
    assert role(desk.lead) == ""


# --- races ----------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
def test_calls_that_race_for_the_last_place_fill_it_once():
    desk = TeamDesk()
    for n in range(4):
        desk.idle(f"mate{n}")
    start, results = threading.Barrier(3), []

    def work(name: str) -> None:
        start.wait(timeout=60)
        try:
            desk.call(desk.lead, "spawn_teammate", name=name, role="coder", work="Do it.")
            results.append("spawned")
        except Conflict:
            results.append("full")
        except DatabaseError:
            results.append("busy")
        finally:
            connections.close_all()

    workers = [threading.Thread(target=work, args=(f"late{n}",)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
    assert results.count("spawned") == 1
    assert members.Teammate.objects.live().filter(lead=desk.lead).count() == 5
