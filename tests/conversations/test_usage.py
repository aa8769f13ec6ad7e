"""Usage reports: they equal the sum of rows, count every call, and never take unknown for zero."""

import csv
import io
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from paca.agents import services as agents
from paca.agents.models import Agent
from paca.conversations import deletion, usage
from paca.conversations.models import Conversation, ModelCall, ModelCallStatus
from paca.conversations.services import model_calls
from paca.conversations.usage import Figures, Period
from paca.conversations.usage_csv import to_csv
from paca.engine.llm.base import Usage
from paca.projects.services import members, projects
from tests.conversations.chat import Chat, error_of
from tests.support.api import Api
from tests.support.world import World, make_world
from tests.worker.test_turn_totals import model_call

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAYS = "from=2026-11-01&to=2026-11-30"
NOVEMBER = Period(date(2026, 11, 1), date(2026, 11, 30))


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


def add_call(agent: Agent, **facts: Any) -> ModelCall:
    given = {"model": "a/b", "status": "done", "started_at": NOON, "input_tokens": 10, **facts}
    return ModelCall.objects.create(id=uuid4(), agent=agent, project_id=agent.project_id, **given)


def add_agent(world: World, name: str, **facts: Any) -> Agent:
    handle, role = f"a{uuid4().hex[:12]}", world.role("agent")
    facts = {"model": "demo/guide", "by": world.owner, **facts}
    return agents.create(world.project, name=name, handle=handle, role=role, **facts)


def get(api: Api, world: World, group: str, rest: str = DAYS) -> dict[str, Any]:
    answer = api.get(f"/projects/{world.project.pk}/usage/?{rest}&group={group}")
    assert answer.status_code == 200, answer.data
    return dict(answer.data)


def read_csv(api: Api, address: str) -> list[dict[str, str]]:
    answer = api.get(address)
    assert answer.status_code == 200
    assert answer["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert answer["Content-Disposition"].startswith("attachment")
    text = answer.content.decode()
    assert text.startswith("key,name,calls,")
    assert text.splitlines(keepends=True)[0].endswith("\r\n")
    assert text.endswith("\r\n")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def sum_of_rows(calls: Iterable[ModelCall]) -> dict[str, Any]:
    rows = list(calls)
    priced = round(sum(row.cost_usd or 0 for row in rows), 10)
    unpriced = sum(row.cost_usd is None for row in rows)
    return {
        "calls": len(rows),
        "input": sum(row.input_tokens or 0 for row in rows),
        "output": sum(row.output_tokens or 0 for row in rows),
        "cache_read": sum(row.cache_read_tokens or 0 for row in rows),
        "cache_write": sum(row.cache_write_tokens or 0 for row in rows),
        "cost_usd": None if unpriced else priced,
        "priced_cost_usd": priced,
        "unpriced_calls": unpriced,
    }


# --- figures --------------------------------------------------------------------------------------


def test_report_has_the_sums_of_each_group_and_their_total(world: World, api: Api) -> None:
    bo = add_agent(world, "Bo")
    add_call(world.agent, cost_usd=0.1, output_tokens=5, cache_read_tokens=3, cache_write_tokens=2)
    add_call(world.agent, cost_usd=0.2, model="c/d", started_at=NOON + timedelta(days=1))
    add_call(bo, cost_usd=0.7)
    add_call(bo, cost_usd=None, input_tokens=None, status="failed")
    by_agent = get(api, world, "agent")
    assert by_agent["total"] == sum_of_rows(ModelCall.objects.all())
    assert [(row["name"], row["cost_usd"], row["calls"]) for row in by_agent["results"]] == [
        ("Bo", None, 2),
        ("Rosa", 0.3, 2),
    ]
    assert by_agent["results"][0]["priced_cost_usd"] == 0.7
    assert by_agent["results"][0]["key"] == str(bo.pk)
    by_day = get(api, world, "day")
    assert [(row["key"], row["calls"]) for row in by_day["results"]] == [
        ("2026-11-20", 3),
        ("2026-11-21", 1),
    ]
    by_model = get(api, world, "model")["results"]
    assert [(row["key"], row["cost_usd"]) for row in by_model] == [("a/b", None), ("c/d", 0.2)]
    (project,) = get(api, world, "project")["results"]
    assert (project["key"], project["name"]) == (str(world.project.pk), "Harbor")
    assert {key: project[key] for key in by_agent["total"]} == by_agent["total"]
    assert by_day["total"] == get(api, world, "purpose")["total"] == by_agent["total"]


def test_report_counts_calls_that_have_ended_in_any_way_and_none_that_runs(world: World) -> None:
    for status in ModelCallStatus.values:
        add_call(world.agent, status=status)
    total = usage.report([world.project.pk], NOVEMBER, "day").total
    assert total.calls == len(ModelCallStatus.values) - 1
    assert total.unpriced_calls == total.calls


def test_report_has_whole_days_in_utc(world: World) -> None:
    midnight = datetime(2026, 11, 20, tzinfo=UTC)
    for moment in (midnight, midnight + timedelta(days=1, microseconds=-1)):
        add_call(world.agent, started_at=moment)
    for moment in (midnight - timedelta(microseconds=1), midnight + timedelta(days=1)):
        add_call(world.agent, started_at=moment)
    day = date(2026, 11, 20)
    (row,) = usage.report([world.project.pk], Period(day, day), "day").rows
    assert (row.key, row.figures.calls) == ("2026-11-20", 2)


def test_sums_of_many_small_costs_are_exact_in_every_group(world: World, api: Api) -> None:
    for number in range(1, 60):
        started = NOON + timedelta(days=number % 7)
        add_call(world.agent, cost_usd=round(number * 1.25e-7, 10), started_at=started)
    exact = round(59 * 60 / 2 * 1.25e-7, 10)
    for group in ("day", "agent", "model"):
        report = get(api, world, group)
        assert report["total"]["cost_usd"] == exact
        assert round(sum(row["cost_usd"] for row in report["results"]), 10) == exact


def test_period_without_dates_is_the_last_14_days(world: World, api: Api) -> None:
    today = usage.today()
    for days in (0, 13, 14):
        moment = datetime(today.year, today.month, today.day, tzinfo=UTC) - timedelta(days=days)
        add_call(world.agent, started_at=moment)
    assert get(api, world, "day", "")["total"]["calls"] == 2
    assert get(api, world, "day", f"from={today}")["total"]["calls"] == 1


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("from=yesterday", "from"),
        ("to=2026-13-01", "to"),
        ("from=2026-11-02&to=2026-11-01", "from"),
        ("from=2025-11-01&to=2026-11-02", "from"),
        ("from=0001-01-01", "from"),
        ("to=0001-01-05", "to"),
        ("to=9999-12-31", "to"),
        ("from=9999-12-31", "from"),
        ("from=2026-11-01%00", "from"),
        ("group=hour", "group"),
        ("group=status", "group"),
        ("group=", "group"),
    ],
)
@pytest.mark.parametrize("address", ["usage/", "usage.csv"])
def test_bad_periods_and_groups_are_refused_by_name(world, api, query, field, address):
    status, code, fields = error_of(api.get(f"/projects/{world.project.pk}/{address}?{query}"))
    assert (status, code, [*fields]) == (400, "invalid", [field])
    assert api.get(f"/{address}?{query}").status_code == 400


# --- who sees what --------------------------------------------------------------------------------


def test_usage_of_other_projects_is_not_counted(world: World, api: Api) -> None:
    other = make_world("Quay")
    add_call(other.agent, cost_usd=5.0)
    add_call(world.agent, cost_usd=1.0)
    assert get(api, world, "agent")["total"]["cost_usd"] == 1.0
    assert api.get(f"/usage/?{DAYS}").data["total"]["cost_usd"] == 1.0
    assert api.get(f"/projects/{other.project.pk}/usage/").status_code == 404


def test_usage_of_all_projects_has_those_whose_role_allows_it(world: World, api: Api) -> None:
    second = projects.create(world.project.workspace, "Second", by=world.user)
    third = make_world("Third")
    third.project.workspace.members.create(user=world.user)
    blind = third.role("viewer")
    blind.permissions = ["projects:read"]
    blind.save()
    members.add_person(third.project, user=world.user, role=blind, by=third.owner)
    mine = Agent.objects.create(project=second, name="Two", handle="two", model="a/b")
    for agent, cost in ((world.agent, 1.0), (mine, 2.0), (third.agent, 4.0)):
        add_call(agent, cost_usd=cost)
    found = api.get(f"/usage/?{DAYS}").data
    assert [(row["name"], row["cost_usd"]) for row in found["results"]] == [
        ("Second", 2.0),
        ("Harbor", 1.0),
    ]
    assert [row["name"] for row in read_csv(api, f"/usage.csv?{DAYS}")] == ["Second", "Harbor"]
    assert api.get(f"/projects/{third.project.pk}/usage/").status_code == 403
    scoped = Api.by_token(world.user, "usage:read")
    assert scoped.get(f"/usage/?{DAYS}").data["total"]["calls"] == 2
    second.deleted_at = NOON
    second.save()
    assert api.get(f"/usage/?{DAYS}").data["total"]["calls"] == 1


def test_report_needs_as_many_queries_for_30_agents_and_models_as_for_3(world, api):
    def count(group: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            get(api, world, group)
        return len(captured)

    for size in (3, 30):
        for number in range(size):
            add_call(add_agent(world, f"A {size} {number}"), model=f"a/{size}-{number}")
        now = [count(group) for group in ("day", "agent", "model", "project", "purpose")]
        if size == 3:
            few = now
    assert now == few


# --- files ----------------------------------------------------------------------------------------


def test_csv_has_the_rows_of_the_report(world: World, api: Api) -> None:
    add_call(world.agent, cost_usd=1.25e-7, output_tokens=4)
    add_call(add_agent(world, 'Bo, "the second"\nline'), cost_usd=None)
    rows = read_csv(api, f"/projects/{world.project.pk}/usage.csv?{DAYS}&group=agent")
    report = get(api, world, "agent")["results"]
    assert [row["name"] for row in rows] == ["Rosa", 'Bo, "the second"\nline']
    assert [row["cost_usd"] for row in rows] == ["0.000000125", ""]
    for row, shown in zip(rows, report, strict=True):
        for name in ("calls", "input", "output", "cache_read", "cache_write", "unpriced_calls"):
            assert int(row[name]) == shown[name]
        assert float(row["priced_cost_usd"]) == shown["priced_cost_usd"]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", " =", "＝"])
def test_csv_has_no_text_that_a_spreadsheet_would_run(world, api, start):
    add_call(add_agent(world, "Bo"), model=f"{start}cmd|' /C calc'!A0/x")
    add_call(add_agent(world, f'{start}HYPERLINK("http://x")'), model="a/b")
    address = f"/projects/{world.project.pk}/usage.csv?{DAYS}"
    by_model, by_agent = (read_csv(api, f"{address}&group={name}") for name in ("model", "agent"))
    assert any(row["key"].startswith(f"'{start[0]}") for row in by_model)
    assert any("HYPERLINK" in row["name"] for row in by_agent)
    for text in (row[name] for row in (*by_model, *by_agent) for name in ("key", "name")):
        assert not text.strip(" ").startswith(("=", "+", "-", "@", "\t", "＝"))


@pytest.mark.parametrize("separator", [";", "\t", "\n", "\r\n", "; "])
def test_csv_has_no_formula_where_a_spreadsheet_splits_lines_elsewhere(separator):
    figures = Figures(calls=1)
    row = usage.ReportRow("a/b", f"Bo{separator}=HYPERLINK(1){separator}Co", figures)
    text = to_csv(usage.Report((row,), figures)).decode()
    _, line = csv.reader(io.StringIO(text, newline=""))
    assert "'" in line[1].partition("=")[0]
    assert line[1].replace("'", "") == row.name
    assert "Co" in line[1].split(separator)


# --- rows -----------------------------------------------------------------------------------------


def test_deleted_conversation_keeps_its_cost_in_the_usage(world: World) -> None:
    chat = Chat("Mill")
    started = chat.start()["conversation"]
    chat.run_turn(started, *model_call(input=7, cost_usd=0.5))
    period = Period.of(None, None)

    def total() -> Figures:
        return usage.report([chat.world.project.pk], period, "agent").total

    before = total()
    assert (before.calls, before.cost_usd) == (1, 0.5)
    deletion.delete(chat.row(started), by=chat.world.owner)
    assert total() == before
    ModelCall.objects.update(conversation=None)  # as when the row itself goes
    assert total() == before


def test_row_of_a_turn_names_its_purpose_project_and_agent() -> None:
    chat = Chat("Mill")
    started = chat.start()["conversation"]
    lease = chat.start_turn(started)
    entries = model_call(input=7, cost_usd=0.5)
    chat.finish_turn(lease, *entries)
    row = ModelCall.objects.get()
    assert (row.project, row.agent) == (chat.world.project, chat.world.agent)
    assert (row.purpose, row.turn, row.conversation_id) == ("turn", 1, chat.row(started).pk)


def test_call_outside_a_conversation_has_a_row_with_its_cost(world: World) -> None:
    agent = add_agent(
        world, "Claude", model="anthropic/claude-opus-5-5", llm_api_key="sk-test-1234"
    )
    for call_id, spent in ((uuid4(), Usage(input=1000)), (uuid4(), Usage(estimated=True))):
        model_calls.begin(call_id, agent=agent, purpose="connection_test")
        model_calls.end(call_id, agent=agent, usage=spent, failed=spent.estimated)
    unmade = uuid4()
    model_calls.begin(unmade, agent=agent, purpose="connection_test")
    model_calls.end(unmade, agent=agent, usage=None, failed=True)
    found = ModelCall.objects.order_by("started_at").values_list(
        "status", "purpose", "input_tokens", "cost_usd", "conversation", "turn"
    )
    assert list(found) == [
        ("done", "connection_test", 1000, 0.004, None, None),
        ("failed", "connection_test", None, None, None, None),
    ]


def test_call_whose_process_has_died_is_marked_as_abandoned(world: World) -> None:
    fresh, lost = uuid4(), uuid4()
    for call_id in (fresh, lost):
        model_calls.begin(call_id, agent=world.agent, purpose="connection_test")
    long_ago = ModelCall.objects.get(pk=lost).started_at - model_calls.LOST_AFTER
    ModelCall.objects.filter(pk=lost).update(started_at=long_ago)
    conversation = Conversation.objects.create(
        project=world.project, agent=world.agent, trigger_type="chat_message"
    )
    in_turn = add_call(
        world.agent, status="started", started_at=long_ago, conversation=conversation
    )
    assert model_calls.mark_lost_as_abandoned() == 1
    statuses = dict(ModelCall.objects.values_list("pk", "status"))
    assert statuses == {lost: "abandoned", fresh: "started", in_turn.pk: "started"}
    # The process was only slow: what it stores too late changes nothing.
    model_calls.end(lost, agent=world.agent, usage=Usage(input=5), failed=False)
    assert ModelCall.objects.get(pk=lost).status == "abandoned"
