"""Shared budgets: what is used of an agent's day and a project's month, and calls that reserve of them."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from paca import events
from paca.agents.services import agents
from paca.common.errors import Invalid
from paca.conversations import budget_report, budgets, store, usage
from paca.conversations.budgets import Owner
from paca.conversations.models import Conversation, Event, ModelCall
from paca.engine.budgets import Amounts, Budget, BudgetScope
from paca.engine.limits import TurnLimitReached
from paca.engine.turn import ModelCallStarted
from paca.projects.models import Project
from paca.projects.services import projects
from tests.conversations.chat import Chat
from tests.conversations.leased_conversation import leased
from tests.conversations.test_api_repeats import at_once
from tests.conversations.test_usage import add_agent, add_call
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db

TODAY = date(2026, 11, 20)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = BudgetScope.AGENT_DAY
MONTH = BudgetScope.PROJECT_MONTH


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def on_the_20th(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "today", lambda: TODAY)


def used(world: World, scope: BudgetScope) -> Amounts:
    owner = Owner(world.agent.pk, world.project.pk)
    [found] = budgets.with_used([Budget(scope, tokens=10**9)], owner)
    return found.used


def conversation_of(world: World) -> Conversation:
    facts = {"project": world.project, "agent": world.agent, "trigger_type": "chat_message"}
    return Conversation.objects.create(**facts)


def call(budget: Budget, tokens: int = 0, dollars: float = 0.0) -> ModelCallStarted:
    return ModelCallStarted(
        call_id=str(uuid4()), model="m", at_most=Amounts(tokens, dollars), budgets=(budget,)
    )


def end(entry: ModelCallStarted, **facts: Any) -> events.UsageRecorded:
    return events.UsageRecorded(call_id=entry.call_id, model="m", **facts)


# --- what is used ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("on_the_20th")
def test_day_of_an_agent_has_its_calls_since_midnight_and_what_running_ones_hold(world):
    add_call(world.agent, input_tokens=10, output_tokens=5, cache_read_tokens=3, cost_usd=0.5)
    add_call(world.agent, status="started", held_tokens=900, held_usd=0.25, input_tokens=0)
    add_call(world.agent, input_tokens=None, cost_usd=None, held_tokens=40, status="failed")
    add_call(world.agent, input_tokens=100, started_at=NOON - timedelta(hours=13))
    add_call(add_agent(world, "Bo"), input_tokens=1000)
    assert used(world, DAY) == Amounts(958, 0.75)
    assert used(world, MONTH) == Amounts(958 + 1100, 0.75)


@pytest.mark.usefixtures("on_the_20th")
def test_month_of_a_project_is_the_sum_of_its_days_and_sums_a_closed_day_once(world):
    for days in (0, 1, 2, 5, 19, 20):  # the last one is of October
        add_call(world.agent, input_tokens=100, started_at=NOON - timedelta(days=days))
    running = NOON - timedelta(days=9)
    add_call(world.agent, status="started", held_tokens=7, input_tokens=0, started_at=running)
    assert used(world, MONTH).tokens == 507
    ModelCall.objects.filter(status="started").update(status="done", held_tokens=0, input_tokens=3)
    assert used(world, MONTH).tokens == 503
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert used(world, MONTH).tokens == 503
    assert len(queries) == 1  # today and yesterday


def test_no_budget_asks_nothing_of_the_database(world, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert budgets.with_used([Budget(DAY), Budget(MONTH)], Owner(uuid4(), uuid4())) == ()


# --- reservations -----------------------------------------------------------------------------------


def test_running_call_holds_what_it_may_take_until_it_ends(world):
    """So a second call cannot take the same, in whatever conversation it is."""
    budget = Budget(DAY, tokens=1000, cost_usd=1.0)
    first, second = conversation_of(world), conversation_of(world)
    store.append(first.pk, started := call(budget, 600, 0.6), lease=leased(first))
    lease = leased(second)
    noticed = events.GuardNoticed(guard="x", note="y")
    with pytest.raises(TurnLimitReached) as refused, transaction.atomic():
        store.append(second.pk, noticed, call(budget, 500, 0.1), lease=lease)
    assert (refused.value.limit.reason, refused.value.limit.budget) == ("token_budget", "agent_day")
    assert refused.value.limit.used == 600
    assert ModelCall.objects.count() == 1
    assert not Event.objects.filter(
        conversation=second
    ).exists()  # nothing of the transaction was stored
    store.append(first.pk, end(started, input=80, output=20, cost_usd=0.1))
    assert used(world, DAY) == Amounts(100, 0.1)
    store.append(second.pk, call(budget, 500, 0.1), lease=lease)


def test_dollars_are_reserved_like_tokens(world):
    budget = Budget(MONTH, cost_usd=1.0)
    chat = conversation_of(world)
    lease = leased(chat)
    store.append(chat.pk, call(budget, 5, 0.75), lease=lease)
    with pytest.raises(TurnLimitReached) as refused, transaction.atomic():
        store.append(chat.pk, call(budget, 5, 0.5), lease=lease)
    assert refused.value.limit.reason == "cost_budget"
    assert refused.value.limit.budget == "project_month"


def test_call_of_a_worker_that_died_goes_on_holding(world):
    """The provider may have billed it."""
    chat = conversation_of(world)
    store.append(chat.pk, call(Budget(DAY, tokens=1000), 600), lease=leased(chat))
    ModelCall.objects.update(status="abandoned")
    assert used(world, DAY).tokens == 600


def test_attempt_without_a_count_of_tokens_is_counted_by_its_estimate(world):
    chat = conversation_of(world)
    lease = leased(chat)
    budget = Budget(DAY, tokens=1000)
    store.append(chat.pk, cut := call(budget, 900), lease=lease)
    untold = dict.fromkeys(("input", "output", "cache_read", "cache_write", "cost_usd"))
    store.append(
        chat.pk, end(cut, outcome="failed", estimated_tokens=70, estimated_usd=0.1, **untold)
    )
    assert used(world, DAY) == Amounts(70, 0.1)


def test_request_that_was_never_answered_goes_on_holding_what_it_may_have_taken(world):
    """The provider may have billed it, and tells nothing. One that was refused is known to have taken nothing."""
    chat = conversation_of(world)
    lease = leased(chat)
    budget = Budget(DAY, tokens=1000, cost_usd=1.0)
    store.append(chat.pk, silent := call(budget, 300, 0.25), lease=lease)
    untold = dict.fromkeys(("input", "output", "cache_read", "cache_write", "cost_usd"))
    store.append(chat.pk, end(silent, outcome="cancelled", **untold))
    assert used(world, DAY) == Amounts(300, 0.25)
    store.append(chat.pk, refused := call(budget, 300, 0.25), lease=lease)
    store.append(chat.pk, end(refused, outcome="failed", cost_usd=0.0))
    assert used(world, DAY) == Amounts(300, 0.25)


@pytest.mark.django_db(transaction=True)
def test_two_calls_at_the_same_moment_cannot_both_take_the_last_of_a_budget():
    world = make_world()
    budget = Budget(DAY, tokens=1000)
    leases = [leased(conversation_of(world)) for _ in range(2)]

    def start(number: int) -> Any:
        lease = leases[number]
        try:
            return store.append(lease.conversation_id, call(budget, 600), lease=lease)
        except TurnLimitReached as reached:
            return reached

    refused = [each for each in at_once(start) if isinstance(each, TurnLimitReached)]
    assert len(refused) == 1
    assert ModelCall.objects.count() == 1


# --- people, API -------------------------------------------------------------------------------------


def test_people_who_can_raise_a_budget_are_those_whose_role_allows_it():
    chat = Chat()
    chat.add_member("mei", "manager")
    chat.add_member("bob", "member")
    for scope in BudgetScope:
        names = budgets.who_can_raise(chat.world.project, scope)
        assert len(names) == 2
        assert "bob" not in names


@pytest.mark.usefixtures("on_the_20th")
def test_budgets_of_a_project_are_listed_with_what_is_used(world):
    api = Api(world.user)
    address = f"/projects/{world.project.pk}/"
    assert api.get(f"{address}budgets/").data == {"results": []}
    answer = api.patch(address, {"limits": {"month_cost_usd": "20.00"}})
    assert answer.data["limits"] == {"month_tokens": None, "month_cost_usd": 20.0}
    limits = {"limits": {"day_tokens": 5000, "turn_cost_usd": 0.5}}
    answer = api.patch(f"{address}agents/{world.agent.pk}/", limits)
    assert answer.data["limits"]["day_tokens"] == 5000
    add_call(world.agent, input_tokens=1000, cost_usd=5.0)
    add_call(world.agent, input_tokens=1500, cost_usd=None)
    month, day = api.get(f"{address}budgets/").data["results"]
    assert month["scope"] == "project_month"
    assert (month["cost_usd"], month["used_cost_usd"], month["unpriced_calls"]) == (20.0, 5.0, 1)
    assert month["resets_at"].startswith("2026-12-01T00:00:00")
    assert (day["name"], day["tokens"], day["used_tokens"]) == ("Rosa", 5000, 2500)
    assert day["resets_at"].startswith("2026-11-21T00:00:00")
    world.project.refresh_from_db()
    assert [row.used_percent for row in budget_report.of_project(world.project)] == [25, 50]


def test_list_of_budgets_takes_as_many_queries_for_many_agents(world, django_assert_num_queries):
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            budget_report.of_project(Project.objects.get(pk=world.project.pk))
        return len(found)

    counts = []
    for number in range(6):
        add_call(add_agent(world, f"A{number}", limit_day_tokens=1000))
        counts.append(queries())
    assert counts[0] == counts[-1]


@pytest.mark.parametrize(
    "limits",
    [
        {"month_tokens": 999},
        {"month_tokens": "many"},
        {"month_tokens": 10**16},
        {"month_cost_usd": 0},
        {"month_cost_usd": -1},
        {"month_cost_usd": "NaN"},
        {"month_cost_usd": 1.234},
        {"month_cost_usd": 10**9},
        {"year_tokens": 1000},
        [],
        "no limits",
    ],
)
def test_bad_budget_of_a_project_is_refused_with_its_field(limits, world):
    answer = Api(world.user).patch(f"/projects/{world.project.pk}/", {"limits": limits})
    assert (answer.status_code, answer.data["code"]) == (400, "invalid")
    assert "limits" in str(answer.data["fields"])


@pytest.mark.parametrize(
    "limits",
    [{"day_tokens": 1}, {"day_cost_usd": 0}, {"turn_tokens": -5}, {"turn_cost_usd": "x"}],
)
def test_bad_budget_of_an_agent_is_refused(limits, world):
    address = f"/projects/{world.project.pk}/agents/{world.agent.pk}/"
    assert Api(world.user).patch(address, {"limits": limits}).status_code == 400


def test_budget_is_changed_by_its_service_and_recorded(world):
    projects.change(world.project, by=world.owner, limit_month_tokens=5000)
    with pytest.raises(Invalid):
        agents.configure(world.agent, by=world.owner, limit_day_tokens=1)
