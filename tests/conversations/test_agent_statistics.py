"""Statistics of an agent: counts, percentiles, cost and tasks done; what is not known is null."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from paca.agents import services as agents
from paca.conversations.models import Conversation, ModelCall, Turn
from paca.projects.models import Activity, TaskStatus
from paca.projects.services import tasks
from paca.web import labels
from tests.conversations.chat import Chat

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOVEMBER = "from=2026-11-01&to=2026-11-30"
NOTHING = {
    "first_day": "2026-11-01",
    "last_day": "2026-11-30",
    **dict.fromkeys(("runs", "succeeded", "failed", "stopped", "running", "tasks_done"), 0),
    **dict.fromkeys(("success_rate", "median_seconds", "p95_seconds")),
    **{"cost_usd": 0.0, "priced_cost_usd": 0.0, "unpriced_calls": 0},
}


@pytest.fixture
def chat() -> Chat:
    return Chat()


def get(chat: Chat, query: str = NOVEMBER) -> dict[str, Any]:
    answer = chat.api.get(f"{chat.project_url}agents/{chat.world.agent.pk}/statistics/?{query}")
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def add_turns(chat: Chat, *seconds: float, status: str = "finished", at: datetime = NOON) -> None:
    for each in seconds:
        begun = Conversation.objects.create(
            project=chat.world.project,
            agent=chat.world.agent,
            trigger_type="chat_message",
            status="finished",
        )
        end = None if status == "running" else at + timedelta(seconds=each)
        facts = {"number": 1, "status": status, "started_at": at, "finished_at": end}
        Turn.objects.create(conversation=begun, **facts)


def add_call(chat: Chat, **facts: Any) -> None:
    agent = chat.world.agent
    given = {"model": "a/b", "status": "done", "started_at": NOON, **facts}
    ModelCall.objects.create(id=uuid4(), agent=agent, project_id=agent.project_id, **given)


def test_agent_that_has_done_nothing_has_no_rate_and_no_latency(chat: Chat) -> None:
    assert get(chat) == NOTHING
    add_turns(chat, 5, status="running")
    add_turns(chat, 5, status="stopped")
    shown = get(chat)
    assert (shown["runs"], shown["running"], shown["stopped"]) == (2, 1, 1)
    assert (shown["success_rate"], shown["median_seconds"], shown["p95_seconds"]) == (None,) * 3


def test_turns_are_counted_by_their_end_and_the_rate_is_of_those_that_ended_by_themselves(
    chat: Chat,
) -> None:
    add_turns(chat, 1, 2, 3)
    add_turns(chat, 9, status="failed")
    add_turns(chat, 9, status="stopped")
    add_turns(chat, 9, status="paused")
    shown = get(chat)
    assert (shown["runs"], shown["succeeded"], shown["failed"], shown["stopped"]) == (6, 3, 1, 2)
    assert shown["success_rate"] == 0.75


@pytest.mark.parametrize(
    ("seconds", "median", "p95"),
    [
        ((7.5,), 7.5, 7.5),
        ((1, 9), 5, 9),
        ((9, 1, 2), 2, 9),
        (tuple(range(1, 21)), 10.5, 19),
        (tuple(range(100, 0, -1)), 50.5, 95),
    ],
)
def test_median_and_95th_percentile_are_of_the_finished_turns(
    seconds: tuple[float, ...], median: float, p95: float, chat: Chat
) -> None:
    add_turns(chat, *seconds)
    add_turns(chat, 10_000, status="failed")
    shown = get(chat)
    assert (shown["median_seconds"], shown["p95_seconds"]) == (median, p95)


def test_unknown_cost_is_null_and_the_known_part_is_told(chat: Chat) -> None:
    add_call(chat, cost_usd=0.25)
    assert get(chat)["cost_usd"] == 0.25
    add_call(chat, cost_usd=None)
    shown = get(chat)
    assert (shown["cost_usd"], shown["priced_cost_usd"], shown["unpriced_calls"]) == (None, 0.25, 1)


def test_task_counts_in_the_period_in_which_it_became_done(chat: Chat) -> None:
    world = chat.world
    done = TaskStatus.objects.get(project=world.project, category="done")
    todo = TaskStatus.objects.filter(project=world.project, category="todo").first()
    for title, assignee in (("Hers", world.agent.member), ("Mine", world.owner)):
        task = tasks.create(world.project, title=title, assignees=[assignee], by=world.owner)
        tasks.change(task, title=f'{title} "field": "status"', by=world.owner)
        tasks.change(task, status=done, by=world.owner)
    assert get(chat, "")["tasks_done"] == 1
    assert Activity.objects.filter(kind="task.updated").exists()
    assert get(chat, "from=2020-01-01&to=2020-01-31")["tasks_done"] == 0
    hers = world.agent.member.assigned_tasks.get()
    tasks.change(hers, status=todo, by=world.owner)
    assert get(chat, "")["tasks_done"] == 0


def test_only_turns_and_calls_of_the_agent_in_the_period_count(chat: Chat) -> None:
    other = agents.create(
        chat.world.project,
        name="Bo",
        handle="bo",
        model="demo/guide",
        role=chat.world.role("agent"),
        by=chat.world.owner,
    )
    add_turns(chat, 3, at=NOON - timedelta(days=60))
    add_call(chat, cost_usd=1, started_at=NOON - timedelta(days=60))
    add_turns(chat, 3)
    Conversation.objects.update(agent=other)
    add_turns(chat, 3)
    Conversation.objects.filter(agent=chat.world.agent).update(deleted_at=NOON)
    assert get(chat) == NOTHING


def test_statistics_take_the_same_number_of_queries_for_1_and_for_30_turns(chat: Chat) -> None:
    counts = []
    for number in (1, 29):
        add_turns(chat, *range(number))
        with CaptureQueriesContext(connection) as seen:
            get(chat)
        counts.append(len(seen))
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("from=yesterday", "from"),
        ("from=2026-02-01&to=2026-01-01", "from"),
        ("from=2020-01-01&to=2026-01-01", "from"),
        ("to=0001-01-01", "to"),
    ],
)
def test_bad_period_is_refused(query: str, field: str, chat: Chat) -> None:
    answer = chat.api.get(f"{chat.project_url}agents/{chat.world.agent.pk}/statistics/?{query}")
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])


def test_page_of_the_agent_says_unknown_and_shows_figures(chat: Chat) -> None:
    client = Client()
    client.force_login(chat.world.user)
    page = f"{chat.project_url}agents/{chat.world.agent.pk}/"
    text = client.get(page).content.decode()
    assert text.count('<dd class="v">Unknown</dd>') == 2
    add_turns(chat, 190, at=datetime.now(UTC) - timedelta(days=10))
    assert "3 min 10 s" in client.get(page).content.decode()
    assert "3 min 10 s" not in client.get(f"{page}?days=7").content.decode()


def test_duration_is_told_in_its_two_largest_units() -> None:
    told = [labels.duration(each) for each in (None, 0, 59.94, 61, 3600, 90_061)]
    assert told == ["Unknown", "0.0 s", "59.9 s", "1 min 1 s", "1 h 0 min", "25 h 1 min"]
