"""Assignments and mentions give work to agents: one conversation of an agent on a task or doc."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from paca.agents import services as agents
from paca.conversations import deletion
from paca.conversations.models import Conversation, PendingTrigger, Trigger, TriggerType
from paca.conversations.services import assignments, delivery
from paca.projects.models import Activity, Notification
from paca.projects.services import comments, tasks
from tests.conversations.team import Team

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    return Team()


def make_due() -> None:
    PendingTrigger.objects.update(due_at=timezone.now() - timedelta(seconds=1))


def test_assignment_gives_the_agent_the_task_in_a_conversation(team):
    team.assign()
    started = team.conversation()
    assert (started.status, started.trigger_type) == ("queued", TriggerType.TASK_ASSIGNED)
    assert (started.task, started.triggered_by) == (team.task, team.ada)
    assert started.title == f"{team.task.key} Fix the login"
    (message,) = team.messages()
    assert message.startswith(f"ada-harbor assigned {team.task.key} to you.")
    assert "# HARB-1: Fix the login\n\nIt fails with umlauts." in message
    entry = Activity.objects.get(kind="agent.session.started")
    assert (entry.task, entry.actor, entry.conversation_id) == (team.task, team.rosa, started.pk)
    assert not Notification.objects.exists()
    assert not PendingTrigger.objects.exists()


def test_assignment_and_mention_by_the_api_start_the_agent(
    team, django_capture_on_commit_callbacks
):
    url = f"/projects/{team.world.project.pk}/tasks/{team.task.number}/"
    for method, path, body in (
        ("patch", url, {"assignee_ids": [str(team.rosa.pk)]}),
        ("post", f"{url}comments/", {"text": "@rosa, and quickly."}),
    ):
        with django_capture_on_commit_callbacks(execute=True):
            assert team.api.ask(method, path, body).status_code in (200, 201)
    first, second = team.messages()
    assert first.startswith("ada-harbor assigned HARB-1 to you.")
    assert "@rosa, and quickly." in second


def test_message_that_paca_wrote_cannot_be_changed_or_taken_back(team):
    team.assign()
    url = f"/projects/{team.world.project.pk}/conversations/{team.conversation().pk}/messages/1/"
    for answer in (team.api.patch(url, {"text": "No"}), team.api.delete(url)):
        assert (answer.status_code, answer.data["code"]) == (403, "permission_denied")
        assert "Paca has written this message" in answer.data["detail"]


def test_assignment_of_a_person_starts_nothing(team):
    tasks.assign(team.task, to=team.ada, by=team.ada)
    assert not PendingTrigger.objects.exists()


def test_agent_that_takes_a_task_itself_is_not_started_again(team):
    tasks.assign(team.task, to=team.rosa, by=team.rosa)
    assert not PendingTrigger.objects.exists()


def test_assignment_that_is_taken_back_at_once_starts_nothing(team):
    tasks.assign(team.task, to=team.rosa, by=team.ada)
    tasks.change(team.task, by=team.ada, assignees=[])
    team.deliver()
    assert not Conversation.objects.exists()
    assert not PendingTrigger.objects.exists()


def test_mention_continues_the_conversation_of_the_assignment(team):
    team.assign()
    team.run_turn("Fixed.")
    team.comment("@rosa and the password?")
    assert team.conversation().status == "queued"
    assert len(team.messages()) == 2
    assert "@rosa and the password?" in team.messages()[1]
    # The agent knows the task from the first message.
    assert "It fails with umlauts." not in team.messages()[1]
    assert team.timeline.count("agent.session.started") == 2


def test_mention_in_a_running_conversation_is_read_by_its_turn(team):
    team.assign()
    team.start_turn()
    team.comment("@rosa look at the password too")
    assert team.conversation().status == "running"
    assert Trigger.objects.filter(state="new", kind=TriggerType.COMMENT_MENTION).count() == 1
    assert team.timeline.count("agent.session.started") == 1


def test_mention_in_a_doc_comment_starts_a_conversation_about_the_doc(team):
    doc = team.add_doc()
    comment = team.comment("@rosa is this right?", on=doc)
    started = team.conversation()
    assert (started.doc, started.comment, started.task) == (doc, comment, None)
    assert started.trigger_type == TriggerType.COMMENT_MENTION
    assert 'in a comment on the doc "Notes"' in team.messages()[0]
    assert "All of it." in team.messages()[0]
    assert Activity.objects.get(kind="agent.session.started").doc == doc


def test_mention_in_an_answer_quotes_the_comment_that_it_answers(team):
    first = team.comment("The log says\nSyntaxError.")
    team.comment("@rosa see above", parent=first)
    assert "The comment that it answers:\n\n> The log says\n> SyntaxError." in team.messages()[0]


def test_agent_that_mentions_itself_is_not_started(team):
    team.comment("I am @rosa", by=team.rosa)
    assert not Conversation.objects.exists()


def test_mention_of_a_comment_that_is_deleted_at_once_starts_nothing(team):
    comment = comments.add(team.task, text="@rosa go", by=team.ada)
    comments.delete(comment, by=team.ada)
    team.deliver()
    assert not Conversation.objects.exists()


def test_mention_that_is_edited_away_before_its_delivery_starts_nothing(team):
    comment = comments.add(team.task, text="@rosa go", by=team.ada)
    comments.edit(comment, text="Never mind.", by=team.ada)
    team.deliver()
    assert not Conversation.objects.exists()
    assert not PendingTrigger.objects.exists()


def test_mention_that_comes_back_by_an_edit_starts_the_agent_once(team):
    comment = comments.add(team.task, text="@rosa go", by=team.ada)
    comments.edit(comment, text="Never mind.", by=team.ada)
    team.deliver()
    for text in ("After all, @rosa.", "Well.", "@rosa, please."):
        comments.edit(comment, text=text, by=team.ada)
        team.deliver()
    (message,) = team.messages()
    assert "After all, @rosa." in message


def test_mention_that_was_only_reworded_before_its_delivery_starts_the_agent_once(team):
    comment = comments.add(team.task, text="@rosa go", by=team.ada)
    comments.edit(comment, text="@rosa, please go", by=team.ada)
    team.deliver()
    (message,) = team.messages()
    assert "@rosa, please go" in message


def test_mention_that_is_reworded_while_its_delivery_waits_for_the_agent_has_the_new_words(
    team, monkeypatch
):
    comment = comments.add(team.task, text="@rosa delete it", by=team.ada)
    lock = assignments.lock_agent

    def lock_after_an_edit(agent):
        comments.edit(comment, text="@rosa delete nothing", by=team.ada)
        lock(agent)

    monkeypatch.setattr(assignments, "lock_agent", lock_after_an_edit)
    team.deliver()
    (message,) = team.messages()
    assert "@rosa delete nothing" in message


def test_trigger_that_its_process_left_is_delivered_by_a_worker(team):
    tasks.assign(team.task, to=team.rosa, by=team.ada)
    assert delivery.deliver_due() == 0
    make_due()
    assert delivery.deliver_due() == 1
    assert team.conversation().status == "queued"
    assert delivery.deliver_due() == 0


def test_trigger_that_cannot_be_delivered_is_tried_again_later(team, monkeypatch):
    from paca.common.disk_space import DiskFull

    def full(_: object) -> None:
        raise DiskFull

    tasks.assign(team.task, to=team.rosa, by=team.ada)
    with monkeypatch.context() as patched:
        patched.setattr("paca.common.disk_space.require_space", full)
        make_due()
        delivery.deliver_due()
    waiting = PendingTrigger.objects.get()
    assert waiting.attempts == 1
    assert "DiskFull" in waiting.last_error
    assert waiting.due_at > timezone.now()
    team.deliver()
    assert team.conversation().status == "queued"


@pytest.mark.django_db(transaction=True)
def test_fault_of_a_delivery_leaves_the_assignment_and_the_trigger(team, monkeypatch, caplog):
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(delivery, "_deliver", broken)
    tasks.assign(team.task, to=team.rosa, by=team.ada)
    assert team.task.assignees.get() == team.rosa
    assert PendingTrigger.objects.count() == 1
    assert "ZeroDivisionError" in caplog.text or "on_commit" in caplog.text


def test_trigger_whose_delivery_is_at_fault_does_not_hold_up_the_others(team, monkeypatch):
    bo = team.hire("Bo")
    for agent in (team.rosa, bo):
        tasks.assign(team.task, to=agent, by=team.ada)
    first = PendingTrigger.objects.first()
    assert first is not None
    delivered = delivery._deliver

    def at_fault(pending_id: UUID) -> None:
        if pending_id == first.pk:
            raise ZeroDivisionError
        delivered(pending_id)

    monkeypatch.setattr(delivery, "_deliver", at_fault)
    make_due()
    delivery.deliver_due()
    assert PendingTrigger.objects.get() == first
    assert Conversation.objects.count() == 1


def test_deleted_conversation_is_not_continued(team):
    team.assign()
    team.run_turn()
    deletion.delete(team.conversation(), by=team.ada)
    team.comment("@rosa once more")
    assert Conversation.objects.filter(deleted_at=None).count() == 1


def test_two_agents_on_one_task_have_a_conversation_each(team):
    bo = team.hire("Bo")
    team.comment("@rosa and @bo, share this")
    assert team.conversation() != team.conversation(bo)


# --- agents that do not start -----------------------------------------------------------------------


def test_inactive_agent_says_so_once_in_the_thread(team):
    agents.configure(team.world.agent, by=team.ada, status="inactive")
    question = team.comment("@rosa please")
    team.comment("@rosa hello?")
    (refusal,) = team.task.comments.filter(author=team.rosa)
    assert "I am inactive" in refusal.text
    assert "Set me to active" in refusal.text
    assert refusal.parent == question
    assert not Conversation.objects.exists()


def test_inactive_agent_that_may_not_comment_is_refused_on_the_timeline(team):
    agents.configure(
        team.world.agent, by=team.ada, status="inactive", role=team.world.role("viewer")
    )
    team.comment("@rosa please")
    assert [author for author, _ in team.said] == ["ada-harbor"]
    assert team.timeline[-1] == "agent.comment.withheld"


def test_paused_agent_queues_and_the_api_says_why_it_waits(team):
    agents.configure(team.world.agent, by=team.ada, status="paused")
    team.assign()
    listed = team.api.get(f"/projects/{team.world.project.pk}/conversations/").data["results"]
    assert [(one["status"], one["waits_for"]) for one in listed] == [("queued", "agent_paused")]


def test_agent_at_its_limit_queues_and_the_api_says_why_it_waits(team):
    agents.configure(team.world.agent, by=team.ada, limit_concurrent=1)
    team.assign()
    team.start_turn()
    other = team.add_task("Another one")
    team.comment("@rosa this too", on=other)
    shown = team.api.get(f"/projects/{team.world.project.pk}/conversations/?task={other.number}")
    (waiting,) = shown.data["results"]
    assert (waiting["status"], waiting["waits_for"]) == ("queued", "agent_busy")


def test_retired_agent_is_not_started(team):
    tasks.assign(team.task, to=team.rosa, by=team.ada)
    agents.retire(team.world.agent, by=team.ada)
    team.deliver()
    assert not Conversation.objects.exists()
    assert not PendingTrigger.objects.exists()


# --- agents that call agents ------------------------------------------------------------------------


def test_agents_call_one_another_three_times_in_a_row(team, settings):
    bo = team.hire("Bo")
    team.comment("@rosa begin")
    for called in (bo, team.rosa, bo, team.rosa):
        team.run_turn(f"Over to @{called.handle}.")
    assert sorted(Trigger.objects.values_list("hops", flat=True)) == [0, 1, 2, 3]
    assert "agents may call one another 3 times in a row" in team.said[-1][1]
    assert not Conversation.objects.filter(status="queued").exists()


def test_act_of_a_person_lets_agents_call_one_another_again(team):
    bo = team.hire("Bo")
    team.comment("@rosa begin")
    for called in (bo, team.rosa, bo, team.rosa):
        team.run_turn(f"Over to @{called.handle}.")
    team.comment("@rosa go on")
    team.run_turn("Over to @bo.")
    assert team.conversation(bo).status == "queued"
    assert Trigger.objects.order_by("-created_at").first().hops == 1


def test_assignment_by_an_agent_counts_from_the_turn_in_which_it_acts(team):
    bo = team.hire("Bo")
    team.assign()
    lease = team.start_turn()
    by = team.rosa
    by.acting_in = lease.conversation_id
    team.assign(bo, by=by)
    assert Trigger.objects.get(conversation__agent=bo.agent).hops == 1
    assert team.messages(bo)[0].startswith("Rosa assigned HARB-1 to you.")


def test_assignment_by_an_agent_outside_a_known_turn_counts_from_its_deepest_one(team):
    bo = team.hire("Bo")
    team.assign()
    team.start_turn()
    Trigger.objects.update(hops=2)
    team.assign(bo, by=team.rosa)
    assert Trigger.objects.get(conversation__agent=bo.agent).hops == 3


def test_agents_call_one_another_on_a_task_so_often_in_an_hour(team, settings):
    settings.AGENT_CALLS_PER_HOUR = 2
    bo = team.hire("Bo")
    for number in range(3):
        team.comment(f"@bo number {number}", by=team.rosa)
    assert Trigger.objects.filter(conversation__agent=bo.agent).count() == 2
    assert "2 times here within an hour" in team.said[-1][1]
    Trigger.objects.update(created_at=timezone.now() - timedelta(hours=2))
    team.comment("@bo again", by=team.rosa)
    assert Trigger.objects.filter(conversation__agent=bo.agent).count() == 3


def test_agents_that_make_a_task_for_each_call_are_limited_in_the_project(team, settings):
    settings.AGENT_CALLS_IN_PROJECT_PER_HOUR = 2
    bo = team.hire("Bo")
    for number in range(3):
        team.task = team.add_task(f"Task {number}")
        team.assign(bo, by=team.rosa)
    assert Trigger.objects.filter(conversation__agent=bo.agent).count() == 2
    assert "2 times in this project within an hour" in team.said[-1][1]
    team.comment("@bo go on")
    assert Trigger.objects.filter(conversation__agent=bo.agent).count() == 3


def test_agents_cannot_call_agents_if_the_setting_forbids_it(team, settings):
    settings.AGENT_MAX_HOPS = 0
    bo = team.hire("Bo")
    team.comment("@bo help", by=team.rosa)
    assert not Conversation.objects.filter(agent=bo.agent).exists()
    team.comment("@bo help")
    assert Conversation.objects.filter(agent=bo.agent).count() == 1


# --- many at once -----------------------------------------------------------------------------------


def assign_many(team: Team, count: int) -> None:
    """Assign this many tasks to the agent with one request."""
    numbers = [team.add_task(f"Task {number}").number for number in range(count)]
    body = {"numbers": numbers, "changes": {"add_assignee_ids": [str(team.rosa.pk)]}}
    url = f"/projects/{team.world.project.pk}/tasks/bulk/"
    assert team.api.patch(url, body).status_code == 200


@pytest.mark.django_db(transaction=True)
def test_request_that_assigns_many_tasks_leaves_most_deliveries_to_a_worker(team):
    count = delivery.MAX_AT_ONCE + 5
    assign_many(team, count)
    assert Conversation.objects.count() == delivery.MAX_AT_ONCE
    assert PendingTrigger.objects.count() == 5
    assert delivery.deliver_due() == 5
    assert delivery.deliver_due() == 0
    assert Conversation.objects.count() == Trigger.objects.count() == count


def test_many_assignments_of_a_process_that_dies_are_delivered_once(team, monkeypatch):
    """The callbacks after the commit do not run in a test's transaction, as after the death of a process."""
    monkeypatch.setattr(delivery, "BATCH", 6)
    count = delivery.MAX_AT_ONCE + 5
    assign_many(team, count)
    assert PendingTrigger.objects.count() == count
    make_due()
    assert [delivery.deliver_due() for _ in range(4)] == [6, 6, 3, 0]
    assert Conversation.objects.count() == Trigger.objects.count() == count


def test_agent_whose_triggers_wait_does_not_hold_up_another_one(team):
    bo = team.hire("Bo")
    assign_many(team, delivery.MAX_AT_ONCE)
    tasks.assign(team.task, to=bo, by=team.ada)
    assert PendingTrigger.objects.get(agent=bo.agent).due_at > timezone.now()
