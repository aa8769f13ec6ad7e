"""Check-ins: slots are taken once, runs report, and a slot that does not run says why."""

from __future__ import annotations

import threading
from datetime import time, timedelta
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from django.db import DatabaseError, IntegrityError, connections, transaction
from django.utils import timezone

from paca import events
from paca.accounts.models import AuditEntry
from paca.agents import services as agents
from paca.agents.models import Agent
from paca.common.errors import Invalid, NotFound
from paca.conversations import services as conversations
from paca.conversations.models import CheckIn, CheckInRun, Conversation, ModelCall, Trigger
from paca.conversations.services import check_in_runs, check_ins
from paca.engine.turn import TurnOutcome
from paca.projects.models import Comment, Doc
from paca.projects.services import docs, projects, tasks
from paca.worker import checkins, claim
from tests.conversations.check_in_desk import CheckInDesk
from tests.conversations.team import store_events

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk() -> CheckInDesk:
    return CheckInDesk()


# --- a slot that is due ---------------------------------------------------------------------------


def test_due_slot_starts_a_conversation_of_its_own_and_plans_the_next(desk):
    slot = desk.next_at
    assert check_in_runs.take_due(slot - timedelta(seconds=1)) == slot
    assert desk.conversations == []
    assert desk.come() == slot + timedelta(seconds=1)
    (started,) = desk.conversations
    assert (started.status, started.triggered_by, started.title) == (
        "queued",
        None,
        "Look at the board",
    )
    assert desk.next_at == slot + timedelta(hours=1)
    assert [(run.slot_at, run.conversation) for run in desk.runs] == [(slot, started)]
    (message,) = (
        each.text for each in store_events(started) if isinstance(each, events.MessageReceived)
    )
    assert 'check-in "Look at the board"' in message
    assert f"{slot:%H:%M} (UTC)" in message
    assert "read-only tools" in message
    assert message.endswith("What is stuck?")
    assert Trigger.objects.get(conversation=started).kind == "check_in"


def test_nothing_due_costs_one_query(desk, django_assert_num_queries):
    slot = desk.next_at
    with django_assert_num_queries(1):
        assert check_in_runs.take_due(slot - timedelta(seconds=1)) == slot


def test_worker_sleeps_until_the_next_slot_but_not_past_a_change():
    now = timezone.now()
    assert checkins.seconds_until(now + timedelta(seconds=7), now) == 7
    assert checkins.seconds_until(now + timedelta(hours=7), now) == checkins.MAX_WAIT_SECONDS
    assert checkins.seconds_until(now - timedelta(hours=7), now) == checkins.MIN_WAIT_SECONDS
    assert checkins.seconds_until(None, now) == checkins.MAX_WAIT_SECONDS


def test_same_slot_is_not_taken_again(desk):
    now = desk.next_at + timedelta(seconds=1)
    assert check_in_runs.take(desk.check_in.pk, now) is not None
    assert check_in_runs.take(desk.check_in.pk, now) is None
    assert len(desk.conversations) == 1


def test_row_that_was_read_before_another_worker_took_the_slot_takes_nothing(desk, monkeypatch):
    """The other worker commits between the read and the update, as without the agent's lock."""
    now, due_slot = desk.next_at + timedelta(seconds=1), check_in_runs.check_in_slots.due_slot
    moved = now + timedelta(days=3)

    def taken_meanwhile(*args: Any) -> Any:
        monkeypatch.setattr(check_in_runs.check_in_slots, "due_slot", due_slot)
        assert check_in_runs.take(desk.check_in.pk, now) is not None
        CheckIn.objects.update(next_at=moved)  # and a person changes the times
        return due_slot(*args)

    monkeypatch.setattr(check_in_runs.check_in_slots, "due_slot", taken_meanwhile)
    assert check_in_runs.take(desk.check_in.pk, now) is None
    assert (len(desk.conversations), desk.next_at) == (1, moved)


def test_database_refuses_a_second_entry_of_a_slot(desk):
    desk.come()
    (run,) = desk.runs
    with pytest.raises(IntegrityError), transaction.atomic():
        CheckInRun.objects.create(check_in=desk.check_in, slot_at=run.slot_at, outcome="started")


@pytest.mark.django_db(transaction=True)
def test_workers_that_race_for_slots_start_one_run_each(desk):
    """Four workers in threads of their own take the same slots at once."""
    others = [
        check_ins.create(
            desk.agent, name=f"No. {n}", prompt="Look.", every_minutes=60, by=desk.team.ada
        )
        for n in range(4)
    ]
    now = timezone.now() + timedelta(minutes=61)
    start, failures = threading.Barrier(4), []

    def work() -> None:
        start.wait(timeout=60)
        try:
            check_in_runs.take_due(now)
        except DatabaseError as error:
            failures.append(error)
        finally:
            connections.close_all()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
    assert failures == []
    check_in_runs.take_due(now)  # what a worker left because the database was busy
    assert [each.runs.count() for each in (desk.check_in, *others)] == [1] * 5
    assert len(desk.conversations) == 5


@pytest.mark.django_db(transaction=True)
def test_worker_that_dies_before_the_commit_has_taken_nothing(desk, monkeypatch):
    """And one that dies after it leaves a queued conversation, which the next worker claims."""
    slot = desk.next_at

    class Killed(BaseException):
        pass

    def die(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(check_in_runs, "add_message", die)
        with pytest.raises(Killed):
            desk.come()
    assert (desk.next_at, desk.runs, desk.conversations) == (slot, [], [])
    desk.come()
    (claimed,) = claim.claim("another", lease_seconds=60, limit=5)
    assert [claimed.lease.conversation_id] == [each.pk for each in desk.conversations]
    assert len(desk.runs) == 1


# --- slots that do not run ------------------------------------------------------------------------


def test_missed_slots_become_one_run_and_one_entry(desk):
    slot = desk.next_at
    check_in_runs.take_due(slot + timedelta(hours=5, minutes=20))
    assert desk.outcomes == [("missed", 5), ("ran", 1)]
    missed, ran = desk.runs
    assert (missed.slot_at, ran.slot_at) == (
        slot + timedelta(hours=4),
        slot + timedelta(hours=5),
    )
    assert desk.next_at == slot + timedelta(hours=6)
    assert len(desk.conversations) == 1


def test_slot_is_skipped_while_the_former_run_is_not_finished(desk):
    for _ in range(3):
        desk.come()
    assert desk.outcomes == [("ran", 1), ("busy", 2)]
    desk.team.run_turn("All is well.")
    desk.come()
    assert desk.outcomes == [("ran", 1), ("busy", 2), ("ran", 1)]


@pytest.mark.parametrize("status", ["paused", "inactive"])
def test_slot_of_an_agent_that_takes_no_work_is_skipped(desk, status):
    agents.configure(desk.agent, by=desk.team.ada, status=status)
    desk.come()
    desk.come()
    assert desk.outcomes == [(f"agent_{status}", 2)]
    assert desk.conversations == []


def test_slot_is_skipped_when_the_budget_is_used_up(desk):
    agents.configure(desk.agent, by=desk.team.ada, limit_day_tokens=1000)
    desk.come()
    assert desk.outcomes == [("ran", 1)]
    lease = desk.team.start_turn()
    ModelCall.objects.create(
        id=uuid4(),
        conversation_id=lease.conversation_id,
        agent=desk.agent,
        project=desk.team.world.project,
        model="demo/guide",
        started_at=timezone.now(),
        input_tokens=1200,
    )
    Conversation.objects.filter(pk=lease.conversation_id).update(status="finished")
    desk.come()
    assert desk.outcomes == [("ran", 1), ("budget_reached", 1)]


def test_late_slot_outside_of_the_active_hours_does_not_run():
    desk = CheckInDesk(every_minutes=60, active_from=time(8), active_to=time(12))
    slot = desk.next_at
    evening = slot.replace(hour=20)
    check_in_runs.take_due(evening)
    assert [reason for reason, _ in desk.outcomes][-1] == "outside_hours"
    assert desk.conversations == []
    assert desk.next_at == (slot + timedelta(days=1)).replace(hour=8, minute=0, second=0)


def test_slot_at_the_end_of_the_active_hours_runs_though_the_worker_is_a_moment_late():
    desk = CheckInDesk(daily_at=["11:59"], active_from=time(8), active_to=time(12))
    desk.come(late=timedelta(minutes=2))
    assert desk.outcomes == [("ran", 1)]


def test_slot_is_skipped_when_its_task_is_deleted():
    desk = CheckInDesk()
    desk.change(task=desk.team.task)
    tasks.delete(desk.team.task, by=desk.team.ada)
    desk.come()
    assert desk.outcomes == [("report_deleted", 1)]


def test_slot_that_cannot_be_started_says_so_and_does_not_hold_up_others(desk, monkeypatch):
    other = check_ins.create(
        desk.agent, name="Other", prompt="Look.", every_minutes=61, by=desk.team.ada
    )
    text = check_in_runs.trigger_texts.check_in

    def fail(row: CheckIn, **options: Any) -> str:
        if row.pk == desk.check_in.pk:
            raise ValueError
        return text(row, **options)

    monkeypatch.setattr(check_in_runs.trigger_texts, "check_in", fail)
    check_in_runs.take_due(desk.next_at + timedelta(minutes=2))
    assert desk.outcomes == [("failed", 1)]
    assert other.runs.get().outcome == "started"


def test_check_in_that_can_be_neither_started_nor_skipped_does_not_stay_in_front(desk):
    slot = desk.next_at
    CheckIn.objects.filter(pk=desk.check_in.pk).update(time_zone="Gone/Zone")
    check_in_runs.take_due(slot)
    assert (desk.next_at, desk.runs) == (slot + check_in_runs.GRACE, [])


def test_slot_that_a_change_plans_again_does_not_run_again(desk):
    """A worker whose clock is ahead has taken it before the change."""
    slot = desk.next_at
    desk.come()
    desk.team.run_turn("All is well.")
    CheckIn.objects.filter(pk=desk.check_in.pk).update(next_at=slot)
    assert check_in_runs.take(desk.check_in.pk, slot) is None
    assert (desk.outcomes, desk.next_at) == ([("ran", 1)], slot + timedelta(hours=1))
    CheckIn.objects.filter(pk=desk.check_in.pk).update(next_at=slot)
    check_in_runs.take_due(slot + timedelta(minutes=61))  # missed by the clock of this worker
    assert desk.outcomes == [("ran", 1), ("ran", 1)]


def test_history_keeps_its_newest_entries(desk, monkeypatch):
    monkeypatch.setattr(check_in_runs, "KEPT_RUNS", 3)
    for _ in range(5):
        desk.come()
        desk.team.run_turn("All is well.")
    assert len(desk.runs) == 3
    assert desk.runs[-1].slot_at == desk.next_at - timedelta(hours=1)
    assert len(desk.conversations) == 5


def test_retired_agent_and_deleted_project_have_no_slots(desk):
    now = desk.next_at + timedelta(seconds=1)
    agents.retire(desk.agent, by=desk.team.ada)
    assert check_in_runs.take_due(now) is None
    assert check_in_runs.take(desk.check_in.pk, now) is None


def test_run_reads_only_unless_its_check_in_may_act(desk):
    Agent.objects.filter(pk=desk.agent.pk).update(plan_mode=True)
    desk.come()
    desk.team.run_turn("All is well.")
    desk.change(auto_act=True)
    desk.come()
    first, second = desk.conversations
    assert (first.reads_only, second.reads_only) == (True, False)
    assert (bool(first.plan_mode), second.plan_mode) == (False, True)
    first.read_only = None  # as a worker of another version may leave it
    assert first.reads_only


# --- reports --------------------------------------------------------------------------------------


def test_answer_becomes_a_comment_on_the_task_once():
    desk = CheckInDesk()
    desk.change(task=desk.team.task)
    desk.come()
    desk.team.run_turn("Two tasks are stuck.")
    assert desk.team.said == [("Rosa", "Two tasks are stuck.")]
    (started,) = desk.conversations
    conversations.send(started, text="Which?", by=desk.team.ada)
    desk.team.run_turn("The first two.")
    assert len(desk.team.said) == 1  # the answer to a person stays in the conversation


def test_answer_is_appended_to_the_doc_as_a_new_version():
    desk = CheckInDesk()
    doc = desk.team.add_doc(text="The log.")
    desk.change(doc=doc)
    for answer in ("All is well.", "Nothing new."):
        desk.come()
        desk.team.run_turn(answer)
    text = Doc.objects.get(pk=doc.pk).text
    assert text.startswith("The log.\n\n## Look at the board, 20")
    assert text.index("All is well.") < text.index("Nothing new.")
    assert doc.versions.count() == 2
    assert Comment.objects.count() == 0


def test_report_keeps_what_people_wrote_meanwhile():
    desk = CheckInDesk()
    doc = docs.create(desk.team.world.project, title="Log", text="Old.", by=desk.team.ada)
    desk.change(doc=doc)
    desk.come()
    docs.change(doc, text="New.", by=desk.team.ada)
    desk.team.run_turn("All is well.")
    assert Doc.objects.get(pk=doc.pk).text.startswith("New.\n\n## ")


def test_report_that_the_role_does_not_allow_is_withheld_and_said():
    desk = CheckInDesk()
    doc = desk.team.add_doc(text="The log.")
    desk.change(doc=doc)
    viewer = desk.team.world.role("viewer")
    agents.configure(desk.agent, by=desk.team.ada, role=viewer)
    desk.come()
    desk.team.run_turn("All is well.")
    assert Doc.objects.get(pk=doc.pk).text == "The log."
    assert "agent.comment.withheld" in list(doc.activities.values_list("kind", flat=True))


def test_failed_run_says_so_on_the_task():
    desk = CheckInDesk()
    desk.change(task=desk.team.task)
    desk.come()
    desk.team.run_turn("", outcome=TurnOutcome("failed", "model_error", "No answer."))
    ((_, text),) = desk.team.said
    assert "has failed (model error)" in text


def test_answer_of_a_check_in_without_a_report_stays_in_the_conversation(desk):
    desk.come()
    desk.team.run_turn("All is well.")
    assert Comment.objects.count() == 0
    assert desk.conversations[0].status == "finished"


def test_message_names_three_open_tasks_of_the_agent():
    desk = CheckInDesk(with_tasks=True)
    for n, priority in enumerate((0, 3, 2, 4)):
        task = desk.team.add_task(f"Task {n}", priority=priority)
        tasks.assign(task, to=desk.team.rosa, by=desk.team.ada)
    desk.come()
    text = next(
        each.text
        for each in store_events(desk.conversations[0])
        if isinstance(each, events.MessageReceived)
    )
    assert [text.index(f"Task {n}") for n in (3, 1, 2)] == sorted(
        text.index(f"Task {n}") for n in (3, 1, 2)
    )
    assert "Task 0" not in text


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"every_minutes": 4}, "every_minutes"),
        ({"every_minutes": 10_081}, "every_minutes"),
        ({"every_minutes": None}, "every_minutes"),
        ({"daily_at": ["09:00"]}, "every_minutes"),
        ({"every_minutes": None, "daily_at": ["9:00"]}, "daily_at"),
        ({"every_minutes": None, "daily_at": ["09:00", "09:00"]}, "daily_at"),
        ({"every_minutes": None, "daily_at": ["24:00"]}, "daily_at"),
        ({"every_minutes": None, "daily_at": [f"{n % 24:02}:{n // 24:02}" for n in range(25)]}, "daily_at"),
        (
            {"every_minutes": None, "daily_at": ["12:00"], "active_from": time(8), "active_to": time(12)},
            "daily_at",
        ),
        ({"weekdays": []}, "weekdays"),
        ({"weekdays": [1, 1]}, "weekdays"),
        ({"weekdays": [True]}, "weekdays"),
        ({"weekdays": [8]}, "weekdays"),
        ({"active_from": time(8)}, "active_to"),
        ({"active_from": time(8), "active_to": time(8)}, "active_to"),
        ({"time_zone": "Europe/Bonn"}, "time_zone"),
        ({"time_zone": "../etc/passwd"}, "time_zone"),
        ({"name": " "}, "name"),
        ({"prompt": " "}, "prompt"),
        ({"prompt": "x" * 20_001}, "prompt"),
    ],
)  # fmt: skip
def test_setting_that_is_not_valid_is_refused_with_its_field(desk, settings, field):
    with pytest.raises(Invalid) as refused:
        desk.change(**settings)
    assert list(refused.value.fields) == [field]


def test_daily_hour_before_midnight_fits_active_hours_until_midnight():
    desk = CheckInDesk(daily_at=["23:30"], active_from=time(20), active_to=time(0))
    assert f"{desk.next_at:%H:%M}" == "23:30"


def test_report_goes_to_no_other_project(desk):
    other = projects.create(desk.team.world.project.workspace, "Other", by=desk.team.world.user)
    me = other.members.get(user=desk.team.world.user)
    with pytest.raises(Invalid):
        desk.change(task=tasks.create(other, title="Foreign", by=me))


def test_switched_off_check_in_has_no_slot_and_counts_from_now_when_it_is_on_again(desk):
    desk.change(enabled=False)
    assert CheckIn.objects.get().next_at is None
    assert check_in_runs.take_due(timezone.now() + timedelta(days=9)) is None
    desk.change(enabled=True)
    assert timedelta(minutes=59) < desk.next_at - timezone.now() <= timedelta(hours=1)


def test_change_of_the_prompt_keeps_the_slot_and_of_the_interval_moves_it(desk):
    slot = desk.next_at
    desk.change(prompt="Something else.")
    assert desk.next_at == slot
    desk.change(every_minutes=5)
    assert desk.next_at < slot


def test_time_zone_of_the_project_moves_the_check_ins_without_their_own(desk):
    def add(name: str, **settings: Any) -> CheckIn:
        return check_ins.create(
            desk.agent, name=name, prompt="Look.", daily_at=["09:00"], by=desk.team.ada, **settings
        )

    of_project, own = add("Project"), add("Own", time_zone="Asia/Tokyo")
    projects.change(desk.team.world.project, by=desk.team.ada, time_zone="Asia/Kathmandu")
    for row, zone in ((of_project, "Asia/Kathmandu"), (own, "Asia/Tokyo")):
        row = CheckIn.objects.get(pk=row.pk)
        assert f"{row.next_at.astimezone(ZoneInfo(zone)):%H:%M}" == "09:00"
        assert row.zone_name == zone


def test_time_zone_of_the_server_counts_where_none_is_named(settings):
    settings.DEFAULT_TIME_ZONE = "Asia/Kathmandu"
    desk = CheckInDesk(daily_at=["09:00"])
    assert f"{desk.next_at:%H:%M}" == "03:15"


def test_agent_has_a_bounded_number_of_check_ins(desk, monkeypatch):
    monkeypatch.setattr(check_ins, "MAX_CHECK_INS", 1)
    with pytest.raises(check_ins.TooManyCheckIns):
        check_ins.create(
            desk.agent, name="Other", prompt="Look.", every_minutes=60, by=desk.team.ada
        )


def test_audit_tells_who_made_changed_and_deleted_a_check_in(desk):
    desk.change(auto_act=True)
    check_ins.delete(CheckIn.objects.get(), by=desk.team.ada)
    found = AuditEntry.objects.filter(action__startswith="check_in.").order_by("created_at")
    assert [(each.action, each.actor_name) for each in found] == [
        (action, desk.team.ada.name)
        for action in ("check_in.created", "check_in.changed", "check_in.deleted")
    ]
    assert found[1].facts["fields"] == ["auto_act"]


# --- run now --------------------------------------------------------------------------------------


def test_run_by_hand_keeps_the_next_slot_and_needs_no_active_hour(desk):
    desk.change(enabled=False)
    run = check_ins.run_now(CheckIn.objects.get(), by=desk.team.ada)
    assert (run.slot_at, run.started_by) == (None, desk.team.ada.name)
    assert desk.conversations[0].triggered_by == desk.team.ada
    with pytest.raises(check_ins.CheckInBusy):
        check_ins.run_now(CheckIn.objects.get(), by=desk.team.ada)


def test_run_by_hand_obeys_what_was_changed_since_its_row_was_read(desk):
    desk.change(auto_act=True)
    seen = CheckIn.objects.select_related("agent__project").get()
    desk.change(auto_act=False)
    assert check_ins.run_now(seen, by=desk.team.ada).conversation.reads_only
    check_ins.delete(CheckIn.objects.get(), by=desk.team.ada)
    with pytest.raises(NotFound):
        check_ins.run_now(seen, by=desk.team.ada)


def test_run_by_hand_of_an_inactive_agent_is_refused(desk):
    agents.configure(desk.agent, by=desk.team.ada, status="inactive")
    with pytest.raises(conversations.AgentUnavailable):
        check_ins.run_now(CheckIn.objects.get(), by=desk.team.ada)
