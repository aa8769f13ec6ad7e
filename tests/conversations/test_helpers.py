"""Helpers without a worker: how they begin, what reaches them, and how their ends come back."""

from uuid import uuid4

import pytest

from paca import events
from paca.conversations import (
    budgets,
    deletion,
    event_log,
    helper_lists,
    sandbox_queries,
    search_index,
    selectors,
    services,
    store,
    transcript,
)
from paca.conversations.models import Conversation, ModelCall, Sandbox, SandboxState, Trigger
from paca.conversations.services import approvals, helpers
from paca.engine.approvals.decisions import Decisions
from paca.engine.budgets import Budget, BudgetScope
from paca.engine.turn import TurnOutcome
from paca.projects.models import SearchEntry
from paca.sandbox.base import IdlePolicy
from paca.worker import model_profiles, turn_limits
from tests.conversations.helping import Helping
from tests.support.frames import frames_of

pytestmark = pytest.mark.django_db

STOPPED = TurnOutcome("stopped", "by_person")
PAUSED = TurnOutcome("paused", "by_person")


def stops_of(helper) -> int:
    return Trigger.objects.filter(conversation=helper, control="stop").count()


def test_conversation_waits_without_a_lease_and_its_helpers_are_queued():
    helping = Helping()
    assert helping.status == "waiting/helpers"
    assert helping.row.lease_owner == ""
    assert [helper.status for helper in helping.helpers] == ["queued", "queued"]
    assert [helper.reads_only for helper in helping.helpers] == [False, True]
    assert sorted(helping.claim(), key=str) == sorted((h.pk for h in helping.helpers), key=str)


def test_conversation_goes_on_after_the_last_helper_and_each_end_is_told_once():
    helping = Helping()
    helping.claim()
    helping.finish(1, "Seen.")
    helpers.settle(helping.id)
    assert helping.status == "waiting/helpers"
    assert [each["summary"] for each in helping.data("subagent.finished")] == ["Seen."]
    helping.finish(0, "Written.")
    helpers.settle(helping.id)
    assert [each["index"] for each in helping.data("subagent.finished")] == [1, 0]
    assert helping.status == "running/"
    assert helping.claim() == [helping.id]
    assert helping.data("conversation.resumed")[-1]["waited_for"] == "helpers"


def test_helper_at_a_limit_has_ended_with_the_reason():
    helping = Helping((("code", "Write it"),))
    helping.claim()
    helping.finish(
        0, "Half.", TurnOutcome("paused", "step_limit", "It has used its limit of 5 steps.")
    )
    [end] = helping.data("subagent.finished")
    assert (end["status"], end["reason"]) == ("paused", "step_limit")
    assert "limit of 5 steps" in end["summary"]
    assert "Half." in end["summary"]
    assert helping.status == "running/"


def test_same_call_starts_its_helpers_once():
    helping = Helping()
    before = [helper.pk for helper in helping.helpers]
    helping.claim()
    for index in (0, 1):
        helping.finish(index)
    Conversation.objects.filter(pk=helping.id).update(lease_owner="w", lease_epoch=9)
    helping.lease = type(helping.lease)(helping.id, "w", 9)
    helping.wait()
    assert [helper.pk for helper in helping.helpers] == before


def test_stop_reaches_the_helpers_and_ends_the_wait():
    helping = Helping()
    helping.claim()
    helping.act("stop")
    assert [stops_of(helper) for helper in helping.helpers] == [1, 1]
    assert helping.status == "running/"
    assert helping.data("subagents.released")[0]["cause"] == "stop"


def test_stop_of_one_helper_leaves_the_others_at_work():
    helping = Helping()
    services.stop(helping.helpers[0], by=helping.chat.world.owner)
    helpers.settle_due()
    assert [helper.status for helper in helping.helpers] == ["stopped", "queued"]
    assert helping.status == "waiting/helpers"
    assert helping.data("subagent.finished")[0]["status"] == "stopped"


def test_interrupt_reaches_the_helpers_and_a_queued_message_does_not():
    helping = Helping()
    helping.claim()
    helping.act("messages", text="Also this")
    assert helping.status == "waiting/helpers"
    helping.act("messages", text="No, that", on_busy="interrupt")
    assert [stops_of(helper) for helper in helping.helpers] == [1, 1]
    assert helping.status == "running/"
    assert helping.data("subagents.released")[0]["cause"] == "message"


def test_stop_that_came_before_the_wait_starts_nothing():
    helping = Helping(before=("stop",))
    assert helping.helpers == []
    assert helping.status == "running/"


def test_pause_that_came_before_the_wait_starts_nothing():
    helping = Helping(before=("pause",))
    assert helping.paused_by == helping.chat.world.owner.name
    assert helping.helpers == []


def test_pause_pauses_the_helpers_and_they_go_on_with_their_conversation():
    helping = Helping()
    first = helping.helpers[0]
    Conversation.objects.filter(pk=helping.helpers[1].pk).update(lease_until="2999-01-01T00:00:00Z")
    assert helping.claim() == [first.pk]
    helping.act("pause")
    helping.obey(0, PAUSED)
    Conversation.objects.filter(parent=helping.id).update(lease_until=None)
    Conversation.objects.filter(pk=helping.id).update(lease_owner="w", lease_epoch=9)
    helping.lease = type(helping.lease)(helping.id, "w", 9)
    assert helping.wait() == helping.chat.world.owner.name
    store.append(helping.id, events.ConversationPaused(reason="by_person"), lease=helping.lease)
    assert helping.claim() == []  # the queued helper does not begin meanwhile
    assert helping.data("subagent.finished") == []
    Trigger.objects.filter(conversation=helping.id, control="pause").update(state="done")
    Conversation.objects.filter(pk=helping.id).update(status="queued")
    Conversation.objects.filter(pk=helping.id).update(
        status="running", lease_owner="w", lease_epoch=10
    )
    helping.lease = type(helping.lease)(helping.id, "w", 10)
    assert helping.wait() is None
    assert [helper.status for helper in helping.helpers] == ["queued", "queued"]


def test_helper_takes_no_messages_and_no_other_command_than_stop():
    helping = Helping()
    helper = helping.helpers[0]
    api, url = helping.chat.api, helping.chat.url
    for action, body in (
        ("messages", {"text": "Hi"}),
        ("pause", {}),
        ("resume", {}),
        ("continue", {}),
        ("fork", {"seq": 1}),
    ):
        answer = api.post(url(helper.pk, f"{action}/"), body)
        assert (answer.status_code, answer.data["code"]) == (409, "conversation_is_helper"), action
    assert api.delete(url(helper.pk)).status_code == 409
    assert api.post(url(helper.pk, "stop/"), {}).status_code == 202


def test_lists_and_search_leave_out_helpers():
    helping = Helping()
    helping.claim()
    helping.finish(0, "zebra")
    assert [each.pk for each in selectors.find(helping.chat.world.project)] == [helping.id]
    search_index.rebuild()
    keys = set(SearchEntry.objects.filter(kind="conversation").values_list("object_id", flat=True))
    assert keys == {helping.id}


def test_deletion_takes_the_helpers_with_it():
    helping = Helping()
    helping.act("stop")
    Conversation.objects.filter(pk=helping.id).update(status="running")
    store.append(helping.id, events.ConversationStopped())
    deletion.delete(helping.row, by=helping.chat.world.owner)
    assert all(helper.deleted_at and not helper.title for helper in helping.helpers)


def test_approvals_and_plan_mode_are_inherited():
    began = events.FlagsChanged(plan=True)
    helping = Helping(facts=(began,))
    assert [helper.reads_only for helper in helping.helpers] == [True, True]


def test_rest_that_is_approved_is_approved_for_helpers_until_it_is_revoked():

    approved = events.SubagentStarted(
        call_id="c", subagent_id="s", index=0, kind="code", task="t", rest_approved_by="Ada"
    )
    assert Decisions().advance(approved).rest_by == "Ada"
    helping = Helping()
    Conversation.objects.filter(pk=helping.id).update(rest_approved_by="Ada")
    approvals.revoke_rest(helping.row, by=helping.chat.world.owner)
    services.set_flags(helping.row, by=helping.chat.world.owner, plan=True)

    types = [frame["type"] for frame in frames_of(helping.helpers[0].pk)]
    assert "agent.approval.revoked" in types
    assert "agent.flags.changed" in types


def test_budget_of_a_family_counts_all_of_it():
    helping = Helping(allowance={"tokens": 1000, "cost_usd": None}, limit_tokens=5000)
    family = budgets.family_of(helping.helpers[0])
    limits = turn_limits.limits_of(helping.row.agent, helping.chat.world.project, family)
    assert limits.tokens is None
    assert [(each.scope, each.tokens) for each in limits.shared] == [(BudgetScope.FAMILY, 1000)]

    for helper in helping.helpers:
        ModelCall.objects.create(
            id=uuid4(),
            conversation=helper,
            project_id=helper.project_id,
            agent_id=helper.agent_id,
            turn=1,
            model="m",
            epoch=1,
            input_tokens=300,
            output_tokens=0,
            cache_read_tokens=0,
            cache_write_tokens=0,
            started_at="2026-01-01T00:00:00Z",
        )
    owner = budgets.Owner(helping.row.agent_id, helping.row.project_id, family)
    [used] = budgets.with_used([Budget(BudgetScope.FAMILY, 1000)], owner)
    assert used.used.tokens == 600


def test_sandbox_that_a_helper_starts_is_that_of_its_conversation():
    helping = Helping()
    helping.claim()
    first = helping.helpers[0]
    store.append(first.pk, events.SandboxStarted(backend="bubblewrap", boot_id="b1"))
    store.append(helping.helpers[1].pk, events.SandboxLost(cause="gone"))
    row = Sandbox.objects.get()
    assert (row.conversation_id, row.state) == (helping.id, SandboxState.RUNNING)


def test_helper_at_work_keeps_the_sandbox_of_a_conversation_that_is_paused():
    helping = Helping()
    helping.claim()
    first = helping.helpers[0]
    store.append(first.pk, events.SandboxStarted(backend="bubblewrap", boot_id="b1"))
    Sandbox.objects.update(last_used_at="2026-01-01T00:00:00Z")
    Conversation.objects.filter(pk=helping.id).update(status="paused", reason="by_person")
    policy = IdlePolicy(idle_seconds=60, paused_seconds=60)
    assert sandbox_queries.needed_conversations(policy) >= {helping.id}
    assert sandbox_queries.living() == []
    Conversation.objects.filter(parent=helping.id).update(status="paused", reason="by_person")
    assert helping.id not in sandbox_queries.needed_conversations(policy)
    assert [each.conversation_id for each in sandbox_queries.living()] == [helping.id]


def test_transcript_tells_how_each_helper_began_and_ended():
    helping = Helping()
    helping.claim()
    helping.finish(0, "Half.", TurnOutcome("paused", "step_limit", "It has used its limit."))
    text = "".join(transcript.markdown(helping.row, event_log.page_after(helping.id, 0, 100)))
    assert r"*Helper 1 (code) began: Write it*" in text
    assert r"*Helper 1 (code) paused (step limit)*" in text
    assert r"*Helper 2 (explore) began: Look at it*" in text


def test_helper_model_is_of_the_provider_of_the_agent():
    helping = Helping()
    agent = helping.row.agent
    agent.model = "anthropic/large"
    agent.parameters = {"helper_model": "anthropic/small"}
    assert model_profiles.helper_model(agent) == "anthropic/small"
    agent.parameters = {"helper_model": "openai/small"}
    assert model_profiles.helper_model(agent) == ""


def test_api_lists_helpers_in_a_constant_number_of_queries(django_assert_num_queries):
    helping = Helping(limit_helpers=8)
    answer = helping.chat.api.get(helping.chat.url(helping.id, "helpers/"))
    assert [(each["kind"], each["task"]) for each in answer.data["results"]] == [
        ("code", "Write it"),
        ("explore", "Look at it"),
    ]

    row = helping.row
    with django_assert_num_queries(2):
        helper_lists.newest(row)
    many = helping.request.__class__("other", helping.request.pieces * 15)
    helpers.start(helping.row, many, allowance=None, actor=None, hops=0)
    with django_assert_num_queries(2):
        assert len(helper_lists.newest(row)) == 32
