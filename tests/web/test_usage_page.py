"""The page of usage: what it shows of which period, and the geometry of its chart."""

import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from paca.agents.services import agents
from paca.conversations import usage
from paca.conversations.models import ModelCall
from paca.projects.services import projects
from paca.web import usage_charts
from tests.conversations.test_usage import add_agent, add_call
from tests.support.world import World
from tests.web.test_pages import HOSTILE, body, page

pytestmark = pytest.mark.django_db


def call_on(harbor: World, days_ago: int = 0, **facts: Any) -> ModelCall:
    day = usage.today() - timedelta(days=days_ago)
    agent = facts.pop("agent", harbor.agent)
    return add_call(agent, started_at=datetime.combine(day, time(12), UTC), **facts)


def values(text: str) -> list[str]:
    return re.findall(r'<data value="([\d.]+)"', text)


def row_of(text: str, key: object) -> str:
    found = re.search(rf'<tr data-key="{re.escape(str(key))}">.*?</tr>', text, re.S)
    assert found, key
    return found[0]


def test_page_shows_the_period_of_the_address(ada: Client, harbor: World) -> None:
    for days_ago in (0, 20, 21):
        call_on(harbor, days_ago, cost_usd=0.5)
    shown = body(ada, page(harbor, "usage/"))
    assert 'data-total-calls><data value="1"' in shown
    first = usage.today() - timedelta(days=20)
    shown = body(ada, page(harbor, f"usage/?from={first}&to={usage.today()}"))
    assert 'data-total-calls><data value="2"' in shown
    assert 'data-total-cost><data value="1.0000000000">$1.00' in shown
    assert "usage.csv?from=" + str(first) in shown
    assert (
        len(re.findall(r'<tr data-key="\d{4}-', shown)) == 21
    )  # each day, also those without a call
    assert shown.count("<rect class=") == 2


@pytest.mark.parametrize(
    "query", ["from=soon", "to=1-1-1", "from=2026-11-02&to=2026-11-01", "from=%00", "to=9999-12-31"]
)
def test_page_says_which_period_is_none_and_shows_the_usual_one(ada, harbor, query):
    call_on(harbor)
    shown = body(ada, page(harbor, f"usage/?{query}"))
    assert "This is no period." in shown
    assert 'data-total-calls><data value="1"' in shown


def test_page_flags_calls_without_a_price_and_never_shows_them_as_zero(ada, harbor) -> None:
    other = add_agent(harbor, "Juno")
    call_on(harbor, cost_usd=0.5)
    call_on(harbor, cost_usd=None)
    call_on(harbor, agent=other, model="vllm/any", cost_usd=None)
    shown = body(ada, page(harbor, "usage/"))
    assert "2 of 3 calls have no price." in shown
    assert "vllm/any (1)" in shown
    assert "Not priced" in row_of(shown, other.pk)
    assert "$0.00" not in row_of(shown, other.pk)
    assert "1 not priced" in row_of(shown, harbor.agent.pk)


def test_page_without_a_call_says_what_will_be_there(ada: Client, harbor: World) -> None:
    shown = body(ada, page(harbor, "usage/"))
    assert "No model calls in this period" in shown
    assert '<svg class="chart"' not in shown


def test_chart_shows_tokens_where_nothing_has_a_price(ada: Client, harbor: World) -> None:
    call_on(harbor, cost_usd=0.0, input_tokens=20_000)
    shown = body(ada, page(harbor, "usage/"))
    assert "Tokens per day" in shown
    assert "Rosa: 20.0 k" in shown
    assert "price above zero" in body(ada, page(harbor, "usage/?measure=cost"))


def test_page_escapes_names_of_agents_and_models(ada: Client, harbor: World) -> None:
    call_on(harbor, agent=add_agent(harbor, HOSTILE), model=f"a/{HOSTILE}", cost_usd=None)
    shown = body(ada, page(harbor, "usage/"))
    assert "<img src=x" not in shown
    assert "<script>alert" not in shown
    assert "style=" not in re.sub(r"<link[^>]*>", "", shown)


def test_page_needs_as_many_queries_for_30_agents_as_for_3(ada: Client, harbor: World) -> None:
    counts = []
    for size in (3, 30):
        for number in range(size):
            call_on(harbor, agent=add_agent(harbor, f"A {size} {number}"), model=f"a/{number}")
        with CaptureQueriesContext(connection) as captured:
            body(ada, page(harbor, "usage/"))
        counts.append(len(captured))
    assert counts[0] == counts[1]


# --- the chart ------------------------------------------------------------------------------------

DAYS = [date(2026, 11, 27) + timedelta(days=number) for number in range(8)]


def draw(*amounts: tuple[int, object, float], names: dict[object, str]) -> usage_charts.Chart:
    return usage_charts.chart(DAYS, {(DAYS[day], key): n for day, key, n in amounts}, names)


def test_bars_are_as_high_as_their_amounts_and_stand_on_one_another() -> None:
    chart = draw((0, "a", 3.0), (0, "b", 1.0), (1, "a", 2.0), names={"a": "A", "b": "B"})
    first, second, third = chart.parts
    assert float(first.height) + 1 == pytest.approx(3 * (float(second.height) + 1), abs=0.2)
    assert float(second.y) + float(second.height) + 1 == pytest.approx(float(first.y), abs=0.2)
    assert float(third.height) < float(first.height)
    assert [tick.amount for tick in chart.ticks] == [0, 1, 2, 3, 4]
    assert [label.text for label in chart.labels][:5] == ["Nov 27", "28", "29", "30", "Dec 1"]


def test_agents_of_a_chart_have_different_colours_and_the_smallest_are_one() -> None:
    names: dict[object, str] = {uuid4(): f"Agent {number}" for number in range(9)}
    amounts = [(0, key, 9.0 - number) for number, key in enumerate(names)]
    chart = draw(*amounts, names=names)
    assert [each.name for each in chart.series][-1] == "4 others"
    assert len({each.tone for each in chart.series}) == 6
    assert chart.parts[-1].amount == 4 + 3 + 2 + 1


@pytest.mark.parametrize("amount", [1e-9, 0.004, 1, 12, 99.9, 5e7])
def test_axis_ends_at_a_round_amount_above_the_highest_bar(amount: float) -> None:
    ticks = [tick.amount for tick in draw((2, "a", amount), names={"a": "A"}).ticks]
    assert ticks[0] == 0
    assert amount <= ticks[-1] * 1.000001
    assert ticks[-2] < amount
    assert 3 <= len(ticks) <= 6
    assert all(0 <= float(tick.y) <= 204 for tick in draw((2, "a", amount), names={"a": "A"}).ticks)


def test_chart_of_a_year_names_few_days() -> None:
    days = [date(2026, 1, 1) + timedelta(days=number) for number in range(366)]
    chart = usage_charts.chart(days, {(days[5], "a"): 1.0}, {"a": "A"})
    assert len(chart.labels) <= 14
    assert all(" " in label.text for label in chart.labels)


def test_page_shows_the_budgets_with_what_is_used_of_each(ada: Client, harbor: World) -> None:
    assert "Budgets" not in body(ada, page(harbor, "usage/"))
    projects.change(harbor.project, by=harbor.owner, limit_month_cost_usd=Decimal(10))
    agents.configure(harbor.agent, by=harbor.owner, limit_day_tokens=1000, name="<b>Ro</b>")
    call_on(harbor, cost_usd=8.5, input_tokens=1500)
    call_on(harbor, cost_usd=None, input_tokens=0)
    shown = body(ada, page(harbor, "usage/"))
    assert "<b>Ro</b>" not in shown
    assert "$8.50 of $10.00" in shown
    assert "1 call without a known price counts in tokens only." in shown
    assert 'aria-valuenow="85"' in shown
    assert 'aria-valuenow="100" aria-valuetext="150 % used"' in shown
    for place in (f"agents/{harbor.agent.pk}/settings/", "settings/"):
        assert 'role="meter"' in body(ada, page(harbor, place))
