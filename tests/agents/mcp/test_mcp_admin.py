"""The admin pages of MCP servers."""

from typing import Any

import pytest
from django.test import Client

from paca.accounts.models import AuditEntry, User
from paca.agents import mcp_reading
from paca.agents.models import McpServer
from tests.agents.mcp.test_mcp_servers import GIT, KEY, report, tool
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db
LIST = "/admin/agents/mcpserver/"
EMPTY_TOOLS = {f"tools-{name}": "0" for name in ("TOTAL_FORMS", "INITIAL_FORMS")}
FORM = {**GIT, "args": "--read-only", "auth": "none", "start_seconds": "30", "call_seconds": "60"}


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def admin() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="a long password 7"))
    return client


def send(admin: Client, page: str, **data: Any) -> int:
    answer = admin.post(page, {**FORM, **EMPTY_TOOLS, "enabled": "on", **data})
    if answer.status_code == 200:
        assert not answer.context["adminform"].form.errors
    return answer.status_code


def test_admin_writes_changes_and_deletes_a_server_through_the_services(
    world: World, admin: Client
) -> None:
    given = {"agent": world.agent.pk, "env": f"TOKEN={KEY}\nDEBUG=1"}
    assert send(admin, f"{LIST}add/", **given) == 302
    server = McpServer.objects.get()
    assert (server.args, server.env_names) == (["--read-only"], ["DEBUG", "TOKEN"])
    report(server, tool("log", "<script>alert(1)</script>"))
    page = admin.get(f"{LIST}{server.pk}/change/").content.decode()
    assert "TOKEN=***" in page
    assert KEY not in page
    assert "<script>alert(1)" not in page
    assert send(admin, f"{LIST}{server.pk}/change/", env="TOKEN=***", call_seconds="9") == 302
    [settings] = mcp_reading.settings_of(world.agent.pk)
    assert (dict(settings.env), settings.call_seconds) == ({"TOKEN": KEY}, 9)
    admin.post(f"{LIST}{server.pk}/delete/", {"post": "yes"})
    assert not McpServer.objects.exists()
    entries = AuditEntry.objects.filter(action__startswith="mcp_server.").order_by("created_at")
    assert [(entry.action, entry.actor_name) for entry in entries] == [
        ("mcp_server.created", "root"),
        ("mcp_server.changed", "root"),
        ("mcp_server.deleted", "root"),
    ]


def test_admin_shows_the_errors_of_the_service(world: World, admin: Client) -> None:
    data = {**FORM, **EMPTY_TOOLS, "agent": world.agent.pk, "env": "A B=c"}
    answer = admin.post(f"{LIST}add/", data, follow=True)
    assert "letters, digits and _" in answer.content.decode()
    assert not McpServer.objects.exists()
