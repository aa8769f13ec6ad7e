"""The first page of the admin: the state of every part, model costs and parked conversations."""

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from paca.accounts.models import User
from paca.conversations import services
from paca.conversations.models import Conversation, Worker
from paca.worker.claim import MAX_LOST_WORKERS, claim
from tests.support.world import make_world

pytestmark = pytest.mark.django_db

PARTS = {"Database", "Bus", "Workers", "Queue", "Sandbox", "Data", "Storage"}


def a_worker(**facts: object) -> None:
    known = {"host": "h", "pid": 1, "process_started": "1", "concurrency": 4}
    Worker.objects.create(id="w", heartbeat_at=timezone.now(), **known, **facts)


def parts(client: Client) -> dict[str, str]:
    page = client.get("/admin/").content.decode()
    return dict(re.findall(r'data-part="(\w+)" data-state="(\w+)"', page))


def test_dashboard_shows_each_part_with_its_state(admin_client):
    a_worker(sandbox="docker")
    assert parts(admin_client) == dict.fromkeys(PARTS, "ok") | {"Data": parts(admin_client)["Data"]}


def test_dashboard_shows_why_a_part_does_not_work_and_the_next_step(admin_client):
    assert parts(admin_client)["Workers"] in ("todo", "broken")
    a_worker(sandbox="docker", sandbox_fault="No Docker daemon answers. Start it.")
    assert parts(admin_client)["Sandbox"] == "broken"
    page = admin_client.get("/admin/").content.decode()
    assert "No Docker daemon answers. Start it.<" in page


def test_dashboard_lists_parked_conversations_with_links(admin_client):
    made = make_world()
    sent = services.start_chat(made.agent, text="Dig <b>deep</b>", by=made.owner)
    assert "Parked" not in admin_client.get("/admin/").content.decode()
    for _ in range(MAX_LOST_WORKERS + 1):
        claim("w", lease_seconds=30, limit=1)
        Conversation.objects.filter(pk=sent.conversation_id).update(
            lease_until=timezone.now() - timedelta(hours=1)
        )
    page = admin_client.get("/admin/").content.decode()
    assert f"/admin/conversations/conversation/{sent.conversation_id}/change/" in page
    assert "Dig &lt;b&gt;deep" in page
    listed = admin_client.get("/admin/conversations/conversation/?reason=parked")
    assert listed.status_code == 200
    assert str(sent.conversation_id) in listed.content.decode()


def test_dashboard_is_empty_for_staff_without_permission_to_see_conversations():
    clerk = User.objects.create_user("clerk", password="a long password 7", is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(codename="view_user"))
    client = Client()
    client.force_login(clerk)
    assert parts(client) == {}
    assert client.get("/admin/").status_code == 200


UNKNOWN = {"unpriced_calls": 3}
TOLD = {"input_tokens": 1000, "cache_read_tokens": 90_000, "output_tokens": 55}
SPENDING = [
    (UNKNOWN, "unknown", "Tokens: unknown"),
    (UNKNOWN | TOLD, "unknown", "Tokens: 91,000 in (90,000 cached), 55 out"),
    (UNKNOWN | TOLD | {"cost_usd": 0.5}, "$0.50 and 3 calls of unknown cost", "55 out"),
    (TOLD | {"cost_usd": 0.5}, "$0.50<", "55 out"),
]


@pytest.mark.parametrize(("used", "cost", "tokens"), SPENDING)
def test_dashboard_says_what_is_unknown_of_the_costs_and_counts_cached_tokens(
    admin_client, used, cost, tokens
):
    made = make_world()
    sent = services.start_chat(made.agent, text="Hello", by=made.owner)
    Conversation.objects.filter(pk=sent.conversation_id).update(**used)
    page = admin_client.get("/admin/").content.decode()
    assert f'text-2xl">{cost}' in page
    assert tokens in page
    assert "$0.00" not in page
