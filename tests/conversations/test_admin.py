"""The admin of conversations: every row can be read, no log can be changed, Stop works."""

import re
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from paca import events
from paca.accounts.models import User
from paca.agents import services as agents
from paca.agents.models import Agent
from paca.conversations import store
from paca.conversations.models import Conversation, Event, ModelCall, ToolCall, Trigger, Worker
from paca.engine.turn import ModelCallStarted
from paca.worker.claim import MAX_LOST_WORKERS, claim
from tests.conversations.chat import CALL, Chat, bash_call

pytestmark = pytest.mark.django_db

XSS = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b]8;;javascript:alert(3)\x07x\x1b]8;;\x07"
KINDS = ["conversation", "event", "trigger", "modelcall", "toolcall", "worker"]
MODELS: list[Any] = [Conversation, Event, Trigger, ModelCall, ToolCall, Worker]
PAGES = list(zip(KINDS, MODELS, strict=True))


@pytest.fixture
def chat() -> Chat:
    return Chat()


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="a long password 7"))
    return client


def admin_url(kind: str, rest: Any = "") -> str:
    return f"/admin/conversations/{kind}/{rest}"


def change_url(kind: str, pk: Any) -> str:
    return admin_url(kind, f"{pk}/change/")


def text(answer: HttpResponse) -> str:
    assert answer.status_code == 200
    return answer.content.decode()


def conversation_with_rows(chat: Chat, words: str = "Hello") -> str:
    """A conversation with a row in each table, and ``words`` in every free text."""
    started = chat.start(words)["conversation"]
    Worker.objects.create(
        id="test",
        host=words,
        pid=7,
        process_started="1",
        concurrency=3,
        heartbeat_at=timezone.now(),
    )
    call, returned = bash_call(words, words)
    chat.start_turn(
        started,
        ModelCallStarted(call_id=CALL, model="m"),
        events.UsageRecorded(call_id=CALL, model="m", input=1234, output=5, cost_usd=0.25),
        call,
        events.ToolStarted(call_id=CALL),
        returned,
        events.MessageSpoken(text=words),
    )
    Trigger.objects.update(last_error=words, by=words)
    return str(started)


def test_admin_pages_open_and_have_nothing_to_change(chat, admin):
    conversation_with_rows(chat)
    for kind, model in PAGES:
        assert_read_only(admin, kind, model)


def assert_read_only(admin: Client, kind: str, model: Any) -> None:
    page = text(admin.get(admin_url(kind)))
    assert "Add " not in page
    row = model.objects.first()
    page = text(admin.get(change_url(kind, row.pk)))
    assert 'name="_save"' not in page
    assert admin.post(change_url(kind, row.pk), {"title": "x"}).status_code == 403
    assert admin.post(admin_url(kind, f"{row.pk}/delete/")).status_code == 403
    assert admin.get(admin_url(kind, "add/")).status_code == 403
    page = text(admin.get(admin_url(kind)))
    assert "delete_selected" not in page


def test_conversation_page_shows_status_agent_and_cost(chat, admin):
    started = conversation_with_rows(chat)
    page = text(admin.get(admin_url("conversation")))
    for shown in ("Hello", "Rosa (@rosa)", "running", "$0.2500", "1,234 / 5"):
        assert shown in page
    assert "$0.2500" in text(admin.get(change_url("conversation", started)))


def test_cost_that_is_unknown_is_not_shown_as_zero(chat, admin):
    started = chat.start()["conversation"]
    chat.start_turn(
        started,
        ModelCallStarted(call_id=CALL, model="m"),
        events.UsageRecorded(call_id=CALL, model="m", input=1, cost_usd=None),
    )
    for kind in ("conversation", "modelcall"):
        page = text(admin.get(admin_url(kind)))
        assert "unknown" in page
        assert "$0" not in page


def test_conversation_list_can_be_filtered_and_searched(chat, admin):
    sam = agents.create(
        chat.world.project,
        name="Sam",
        handle="sam",
        model="demo/guide",
        role=chat.world.role("agent"),
        by=chat.world.owner,
    )
    stopped, waits = chat.start("Stopped")["conversation"], chat.start("Waits")["conversation"]
    chat.api.post(chat.url(stopped, "stop/"))
    gone = chat.start("Gone")["conversation"]
    chat.api.delete(chat.url(gone))
    chat.api.post(f"{chat.project_url}agents/{sam.pk}/chat-sessions/", {"text": "Of Sam"})
    for query, found in {
        "": {"Stopped", "Waits", "Of Sam"},
        "status__exact=queued": {"Waits", "Of Sam"},
        "status__exact=stopped": {"Stopped"},
        f"agent__id__exact={sam.pk}": {"Of Sam"},
        "q=wait": {"Waits"},
        "q=sam": {"Of Sam"},
        f"q={waits}": {"Waits"},
        f"q={gone}": set(),
    }.items():
        page = text(admin.get(admin_url("conversation", f"?{query}")))
        titles = ("Stopped", "Waits", "Of Sam", "Gone")
        assert {title for title in titles if f">{title}<" in page} == found, query


def test_log_entry_shows_its_time_and_links_to_the_whole_event(chat, admin):
    started = conversation_with_rows(chat)
    page = text(admin.get(change_url("conversation", started)))
    for row in Event.objects.filter(conversation=started):
        assert f">{row.at:%m-%d %H:%M:%S}<" in page
        assert f'href="{change_url("event", row.pk)}">{row.seq}<' in page


def test_log_is_shown_page_by_page(chat, admin):
    started = chat.start()["conversation"]
    row = chat.row(started)
    store.append(row.pk, *[events.MessageReceived(text=f"word-{n}-") for n in range(4, 121)])
    first = text(admin.get(change_url("conversation", started)))
    assert "word-50-" in first
    assert "word-51-" not in first
    third = text(admin.get(f"{change_url('conversation', started)}?events-page=3"))
    assert "word-120-" in third
    assert "word-50-" not in third


def test_log_of_any_length_costs_the_same_queries(chat, admin, django_assert_max_num_queries):
    started = chat.start()["conversation"]
    store.append(
        chat.row(started).pk,
        *[events.MessageReceived(text="x" * 70_000), *[events.MessageReceived(text="y")] * 60],
    )
    with django_assert_max_num_queries(18) as counted:
        admin.get(change_url("conversation", started))
    whole = re.compile(r'(?<!SUBSTR\()(?<!SUBSTRING\()(?<!LENGTH\()"conversations_event"."payload"')
    assert not any(whole.search(query["sql"]) for query in counted.captured_queries)


def test_event_page_shows_a_large_payload_whole(chat, admin):
    started = chat.start()["conversation"]
    store.append(chat.row(started).pk, events.MessageReceived(text="q" * 70_000 + "the end"))
    row = Event.objects.get(conversation=started, blob__isnull=False)
    assert "the end" in text(admin.get(change_url("event", row.pk)))
    assert "(large: open it)" in text(admin.get(change_url("conversation", started)))


def test_dead_triggers_are_found_with_their_error(chat, admin):
    started = conversation_with_rows(chat)
    chat.start("Another")
    Trigger.objects.filter(conversation=started).update(
        state="dead", attempts=5, last_error="The model's address does not answer."
    )
    page = text(admin.get(admin_url("trigger", "?state__exact=dead")))
    assert "The model&#x27;s address does not answer." in page
    assert "Another" not in page


def test_search_for_a_conversation_id_finds_its_rows(chat, admin):
    started = conversation_with_rows(chat, "Mine")
    for kind in ("event", "trigger", "modelcall", "toolcall"):
        assert ">Mine<" in text(admin.get(admin_url(kind, f"?q={started}"))), kind
        assert ">Mine<" not in text(admin.get(admin_url(kind, f"?q={chat.world.agent.pk}"))), kind
        assert ">Mine<" in text(admin.get(admin_url(kind, "?q=Mine"))), kind


def test_admin_lists_cost_the_same_queries_for_few_and_many_rows(chat, admin):
    def queries() -> dict[str, int]:
        return {kind: cost_of(admin, kind) for kind in KINDS}

    conversation_with_rows(chat)
    few, rows = queries(), [model.objects.count() for model in MODELS]
    started = chat.start("More")["conversation"]
    for number in range(5):
        chat.api.post(chat.url(started, "messages/"), {"text": f"More {number}"})
        add_copy(ModelCall, conversation_id=started)
        add_copy(ToolCall, conversation_id=started)
        add_copy(Worker, pk=f"worker-{number}")
    assert all(model.objects.count() > was for model, was in zip(MODELS, rows, strict=True))
    assert queries() == few


def cost_of(admin: Client, kind: str) -> int:
    with CaptureQueriesContext(connection) as counted:
        assert admin.get(admin_url(kind)).status_code == 200
    return len(counted)


def add_copy(model: Any, **facts: Any) -> None:
    """Add a copy of the first row."""
    row = model.objects.first()
    row.pk = uuid4()
    for name, value in facts.items():
        setattr(row, name, value)
    row.save(force_insert=True)


def test_stop_action_stops_in_the_name_of_the_administrator(chat, admin):
    waits, runs, done = (chat.start(word)["conversation"] for word in ("Waits", "Runs", "Done"))
    chat.api.post(chat.url(done, "stop/"))
    chat.api.post(chat.url(waits, "stop/"))
    chat.start_turn(runs)
    chat.api.post(chat.url(waits, "continue/"))
    body = {"action": "stop", "_selected_action": [waits, runs, done]}
    page = text(admin.post(admin_url("conversation"), body, follow=True))
    assert "2 conversations were asked to stop." in page
    assert chat.row(waits).status == "stopped"
    order = Trigger.objects.get(conversation=runs, control="stop")
    assert (order.state, order.by) == ("new", "root")
    newest = chat.api.get(chat.url(waits, "events/?limit=1")).json()["results"][0]
    assert newest["data"]["by"] == "root"


def park(conversation: str) -> None:
    for _ in range(MAX_LOST_WORKERS + 1):
        claim("w", lease_seconds=30, limit=1)
        Conversation.objects.filter(pk=conversation).update(
            lease_until=timezone.now() - timedelta(hours=1)
        )


def test_try_again_action_resumes_only_parked_conversations(chat, admin):
    parked, waits = (chat.start(word)["conversation"] for word in ("Parked", "Waits"))
    chat.api.post(chat.url(waits, "stop/"))
    park(parked)
    assert chat.row(parked).reason == "parked"
    body = {"action": "try_again", "_selected_action": [parked, waits]}
    assert "1 conversations were resumed." in text(
        admin.post(admin_url("conversation"), body, follow=True)
    )
    assert [chat.row(each).status for each in (parked, waits)] == ["queued", "stopped"]
    assert Trigger.objects.get(conversation=parked, kind="continue").by == "root"


def test_try_again_action_says_why_a_conversation_stays_parked(chat, admin):
    parked = chat.start("Parked")["conversation"]
    park(parked)
    Agent.objects.update(status="inactive")
    body = {"action": "try_again", "_selected_action": [parked]}
    page = text(admin.post(admin_url("conversation"), body, follow=True))
    assert "is inactive. Set it to active to give it work." in page
    assert "0 conversations were resumed." in page
    assert chat.row(parked).status == "paused"


def test_stop_action_needs_the_permission_to_change(chat):
    started = chat.start()["conversation"]
    watcher = User.objects.create_user("watcher", password="a long password 7", is_staff=True)
    watcher.user_permissions.set(Permission.objects.filter(codename="view_conversation"))
    client = Client()
    client.force_login(watcher)
    assert 'value="stop"' not in text(client.get(admin_url("conversation")))
    client.post(admin_url("conversation"), {"action": "stop", "_selected_action": [started]})
    assert chat.row(started).status == "queued"
    assert client.get(admin_url("trigger")).status_code == 403


def test_markup_in_names_of_people_models_and_tools_is_shown_as_text(chat, admin):
    chat.world.user.name = chat.world.agent.name = XSS
    chat.world.user.save()
    chat.world.agent.save()
    conversation_with_rows(chat, XSS)
    for kind, model in PAGES:
        pages = [text(admin.get(admin_url(kind)))]
        pages += [text(admin.get(change_url(kind, row.pk))) for row in model.objects.all()]
        for page in pages:
            assert "<script>alert" not in page
            assert "<img src=x" not in page
            assert 'href="javascript:' not in page
        assert any("&lt;script&gt;alert(1)" in page for page in pages), kind
