"""MCP servers of agents: the API and the services behind it."""

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from paca.accounts.models import AuditEntry
from paca.agents import mcp_reading
from paca.agents import services as agents
from paca.agents.models import McpGrant, McpServer, McpTool
from paca.agents.services import mcp_servers, mcp_tools
from paca.common import secret_removal
from paca.common.secret_removal import SecretScope
from paca.conversations import known_secrets
from paca.engine.mcp.settings import OfferedTool, ServerOffer, ServerState
from paca.projects import signals
from paca.projects.services import projects
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db
GIT = {"name": "git", "transport": "stdio", "command": "git-mcp", "args": ["--read-only"]}
LINEAR = {"name": "linear", "transport": "http", "url": "https://mcp.linear.app/mcp"}
KEY = "lin_api_0123456789"


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


def path(world: World, *parts: Any) -> str:
    ends = "".join(f"{part}/" for part in parts)
    return f"/projects/{world.project.pk}/agents/{world.agent.pk}/mcp-servers/{ends}"


def tool(name: str = "log", description: str = "Show the log.", **facts: Any) -> OfferedTool:
    return OfferedTool(name, description, {"type": "object", "properties": {}}, **facts)


def report(server: McpServer, *tools: OfferedTool) -> Any:
    offer = ServerOffer(tools, resources=True)
    return mcp_tools.report(server.agent_id, server.pk, state=ServerState.AVAILABLE, offer=offer)


def test_server_is_shown_as_it_was_written_without_its_secrets(world: World, api: Api) -> None:
    given = {**GIT, "env": {"TOKEN": KEY, "DEBUG": "1"}}
    shown = api.post(path(world), given).json()
    assert shown == api.get(path(world, shown["id"])).json()
    assert {name: shown[name] for name in (*GIT, "env", "headers", "auth", "url")} == {
        **GIT,
        "env": {"TOKEN": "***", "DEBUG": "***"},
        "headers": {},
        "auth": "none",
        "url": "",
    }
    assert shown["health"] == {"state": "unknown", "error": "", "checked_at": None}
    assert KEY not in str(McpServer.objects.values())
    [settings] = mcp_reading.settings_of(world.agent.pk)
    assert (settings.command, dict(settings.env)) == ("git-mcp", {"TOKEN": KEY, "DEBUG": "1"})


def test_stars_sent_back_keep_the_stored_secret_and_a_name_left_out_deletes_it(
    world: World, api: Api
) -> None:
    made = api.post(path(world), {**GIT, "env": {"TOKEN": KEY, "DEBUG": "1"}}).json()
    body = {"env": {"TOKEN": "***", "MORE": "yes"}}
    changed = api.patch(path(world, made["id"]), body).json()
    assert changed["env"] == {"MORE": "***", "TOKEN": "***"}
    [settings] = mcp_reading.settings_of(world.agent.pk)
    assert dict(settings.env) == {"TOKEN": KEY, "MORE": "yes"}
    unknown = api.patch(path(world, made["id"]), {"env": {"OTHER": "***"}})
    assert unknown.json()["fields"] == {"env": ["OTHER: no value is stored; write it."]}


def test_change_by_somebody_else_is_noticed_and_a_report_of_health_is_none(
    world: World, api: Api
) -> None:
    made = api.post(path(world), GIT).json()
    report(McpServer.objects.get(), tool())
    when = made["updated_at"]
    first = api.patch(path(world, made["id"]), {"enabled": False}, If_Match=when)
    assert first.json()["enabled"] is False
    stale = api.patch(path(world, made["id"]), {"enabled": True}, If_Match=when)
    assert (stale.status_code, stale.json()["present"]["enabled"]) == (412, False)


def test_headers_are_typed_again_when_the_server_moves_to_another_host(
    world: World, api: Api
) -> None:
    made = api.post(path(world), {**LINEAR, "headers": {"Authorization": f"Bearer {KEY}"}}).json()
    moved = {"url": "https://evil.example/mcp"}
    for headers in ({}, {"headers": {"Authorization": "***"}}):
        answer = api.patch(path(world, made["id"]), {**moved, **headers})
        assert "mcp.linear.app and is not sent elsewhere" in answer.json()["fields"]["headers"][0]
    assert [each.url for each in mcp_reading.settings_of(world.agent.pk)] == [LINEAR["url"]]
    same_host = api.patch(path(world, made["id"]), {"url": "https://mcp.linear.app/other"})
    assert same_host.status_code == 200
    dropped = api.patch(path(world, made["id"]), {**moved, "headers": {}})
    assert (dropped.status_code, dropped.json()["headers"]) == (200, {})


@pytest.mark.parametrize("moved", [{"command": "curl"}, {"args": ["https://evil.example"]}])
def test_variables_are_typed_again_for_another_command_line(
    world: World, api: Api, moved: dict[str, Any]
) -> None:
    made = api.post(path(world), {**GIT, "env": {"TOKEN": KEY}}).json()
    for env in ({}, {"env": {"TOKEN": "***"}}):
        answer = api.patch(path(world, made["id"]), {**moved, **env})
        assert "given for the former command line" in answer.json()["fields"]["env"][0]
    assert [each.command for each in mcp_reading.settings_of(world.agent.pk)] == [GIT["command"]]
    assert api.patch(path(world, made["id"]), {**moved, "env": {"TOKEN": KEY}}).status_code == 200


def test_secret_of_a_client_is_typed_again_when_the_server_moves_to_another_host(
    world: World, api: Api
) -> None:
    client = {"auth": "oauth", "oauth_client_id": "paca", "oauth_client_secret": KEY}
    made = api.post(path(world), {**LINEAR, **client}).json()
    assert made["has_oauth_client_secret"] is True
    answer = api.patch(path(world, made["id"]), {"url": "https://evil.example/mcp"})
    assert "not sent elsewhere" in answer.json()["fields"]["oauth_client_secret"][0]


def test_sign_in_is_not_chosen_beside_a_stored_header_that_it_sets_itself(
    world: World, api: Api
) -> None:
    made = api.post(path(world), {**LINEAR, "headers": {"Authorization": f"Bearer {KEY}"}}).json()
    answer = api.patch(path(world, made["id"]), {"auth": "oauth"})
    assert "the sign-in sets it" in answer.json()["fields"]["headers"][0]
    both = {"auth": "oauth", "headers": {}}
    assert api.patch(path(world, made["id"]), both).json()["auth"] == "oauth"


def test_other_transport_takes_the_settings_of_the_former_one_away(world: World, api: Api) -> None:
    made = api.post(path(world), {**GIT, "env": {"TOKEN": KEY}}).json()
    body = {"transport": "sse", "url": LINEAR["url"]}
    changed = api.patch(path(world, made["id"]), body).json()
    assert (changed["command"], changed["args"], changed["env"]) == ("", [], {})
    back = api.patch(path(world, made["id"]), {"transport": "stdio", "command": "x"}).json()
    assert (back["url"], back["headers"], back["auth"]) == ("", {}, "none")


@pytest.mark.parametrize("change", [{"command": "evil"}, {"args": ["evil"]}])
def test_another_command_line_forgets_what_was_accepted(
    world: World, change: dict[str, Any]
) -> None:
    server = mcp_servers.create(world.agent, by=world.owner, **GIT)
    report(server, tool())
    mcp_servers.change(server, by=world.owner, call_seconds=5)
    assert McpTool.objects.count() == 1
    mcp_servers.change(server, by=world.owner, **change)
    assert McpTool.objects.count() == 0


def test_private_addresses_are_allowed_by_the_project_first(world: World, api: Api) -> None:
    body = {**LINEAR, "url": "http://10.0.0.7/mcp", "private_addresses": True}
    refused = api.post(path(world), body)
    assert "allows no MCP servers in private" in refused.json()["fields"]["private_addresses"][0]
    project = f"/projects/{world.project.pk}/"
    assert api.patch(project, {"private_mcp_servers": True}).json()["private_mcp_servers"] is True
    assert api.post(path(world), body).status_code == 201
    [settings] = mcp_reading.settings_of(world.agent.pk)
    assert settings.private_allowed
    # Switched off later it counts at once, and blocks no other change of the server.
    projects.change(world.project, by=world.owner, private_mcp_servers=False)
    [settings] = mcp_reading.settings_of(world.agent.pk)
    assert not settings.private_allowed
    server = McpServer.objects.get()
    assert api.patch(path(world, server.pk), {"call_seconds": 9}).status_code == 200


def test_server_of_another_project_is_not_found(world: World, api: Api) -> None:
    other = make_world("Quarry")
    server = mcp_servers.create(other.agent, by=other.owner, **GIT)
    for parts in ((server.pk,), (server.pk, "tools")):
        assert api.get(path(world, *parts)).status_code == 404
        foreign = path(other, *parts).replace(str(other.project.pk), str(world.project.pk))
        assert api.get(foreign).status_code == 404


def test_changes_are_in_the_audit_trail_without_secrets_and_pages_hear_of_them(
    world: World, api: Api
) -> None:
    heard = []
    signals.project_changed.connect(on_change := lambda **facts: heard.append(facts["noun"]))
    try:
        made = api.post(path(world), {**GIT, "env": {"TOKEN": KEY}}).json()
        api.patch(path(world, made["id"]), {"env": {"TOKEN": "another-0123456"}})
        api.patch(path(world, made["id"]), {"env": {"TOKEN": "***"}})  # changes nothing
        api.delete(path(world, made["id"]))
    finally:
        signals.project_changed.disconnect(on_change)
    rows = AuditEntry.objects.filter(object_type="agents.mcpserver").order_by("created_at")
    assert [(row.action, row.facts.get("fields")) for row in rows] == [
        ("mcp_server.created", None),
        ("mcp_server.changed", ["env"]),
        ("mcp_server.deleted", None),
    ]
    assert KEY not in str(list(rows.values()))
    assert heard == ["agent"] * 3


def test_retired_agent_keeps_no_secret_of_a_server(world: World) -> None:
    mcp_servers.create(world.agent, by=world.owner, **GIT, env={"TOKEN": KEY})
    agents.retire(world.agent, by=world.owner)
    assert not McpServer.objects.exists()


def test_secrets_of_servers_are_known_to_what_masks_traces(world: World) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    server = mcp_servers.create(world.agent, by=world.owner, **LINEAR, headers=headers)
    mcp_servers.create(world.agent, by=world.owner, **GIT, env={"TOKEN": "git-0123456789"})
    mcp_servers.change(
        server, by=world.owner, auth="oauth", headers={}, oauth_client_id="a",
        oauth_client_secret="client-secret-1",
    )  # fmt: skip
    make_grant(server, access="access-token-1", refresh="refresh-token-1", secret="grant-secret-1")
    known = known_secrets.of_agent(world.agent.pk)
    wanted = {"git-0123456789", "client-secret-1", "access-token-1", "refresh-token-1"}
    assert {*wanted, "grant-secret-1"} <= known
    mcp_servers.change(server, by=world.owner, auth="none", oauth_client_id="", headers=headers)
    assert {KEY, f"Bearer {KEY}"} <= known_secrets.of_agent(world.agent.pk)
    assert not McpGrant.objects.exists()


def test_plain_settings_of_servers_are_not_masked(world: World) -> None:
    plain = {
        "ROOT": "/workspace/docs", "NODE_ENV": "production", "REGION": "eu-west-1", "HOST": "https://api.example",
        "SERVER_MODE": "read only", "ADDRESS": "127.0.0.1",
    }  # fmt: skip
    secret = {"GH_PAT": "ghp_0123456789abcdef", "DB": "postgres://a:b-secret@db/x", "API_KEY": "production", "PASS": "/workspace"}  # fmt: skip
    mcp_servers.create(world.agent, by=world.owner, **GIT, env={**plain, **secret})
    known = known_secrets.of_agent(world.agent.pk)
    assert known >= set(secret.values())
    assert not known & {
        "/workspace/docs",
        "eu-west-1",
        "https://api.example",
        "read only",
        "127.0.0.1",
    }


def test_password_that_is_the_name_of_the_database_is_not_masked() -> None:
    given = {"USER": "harbor-user", "NAME": "paca", "HOST": "db"}
    for password, known in (("a-real-password", True), ("harbor-user", False), ("postgres", False)):
        assert bool(known_secrets._of_database({**given, "PASSWORD": password})) == known


def test_secrets_of_rooms_are_known_to_what_masks_traces(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(scope: SecretScope) -> list[str]:
        return [f"secret-of-{scope.project_id}", f"secret-of-{scope.agent_id}"]

    monkeypatch.setitem(secret_removal._sources, "a room", read)
    of_project = f"secret-of-{world.agent.project_id}"
    assert {of_project, f"secret-of-{world.agent.pk}"} <= known_secrets.of_agent(world.agent.pk)
    known = known_secrets.of_project(world.agent.project_id)
    assert {of_project, f"secret-of-{world.agent.pk}", "secret-of-None"} <= known


def make_grant(
    server: McpServer, *, access: str = "", refresh: str = "", secret: str = "", **facts: Any
) -> McpGrant:
    """A stored sign-in with these tokens."""
    from django.utils import timezone

    from paca.agents.encryption import encrypt

    return McpGrant.objects.create(
        server=server,
        issuer="https://auth.example",
        token_endpoint="https://auth.example/token",
        resource=server.url,
        client_id="paca",
        token_auth="none",
        encrypted_client_secret=encrypt(secret) if secret else "",
        encrypted_access_token=encrypt(access) if access else "",
        encrypted_refresh_token=encrypt(refresh) if refresh else "",
        granted_at=timezone.now(),
        **facts,
    )


def test_server_whose_secrets_cannot_be_read_is_left_out_and_says_so(
    world: World, settings: Any
) -> None:
    from cryptography.fernet import Fernet

    mcp_servers.create(world.agent, by=world.owner, **GIT, env={"TOKEN": KEY})
    mcp_servers.create(world.agent, by=world.owner, **LINEAR)
    settings.ENCRYPTION_KEY = [Fernet.generate_key().decode()]
    assert [each.name for each in mcp_reading.settings_of(world.agent.pk)] == ["linear"]
    server = McpServer.objects.get(name="git")
    assert (server.health_state, "ENCRYPTION_KEY" in server.health_error) == ("unavailable", True)


def test_server_that_is_switched_off_is_not_given_to_a_run(world: World) -> None:
    mcp_servers.create(world.agent, by=world.owner, **GIT, enabled=False)
    assert mcp_reading.settings_of(world.agent.pk) == ()


def test_agent_has_at_most_twenty_servers(world: World, api: Api) -> None:
    for number in range(20):
        mcp_servers.create(world.agent, by=world.owner, **{**GIT, "name": f"git-{number}"})
    answer = api.post(path(world), GIT)
    assert (answer.status_code, answer.json()["code"]) == (409, "too_many_mcp_servers")


@pytest.mark.parametrize(
    "facts",
    [
        {"transport": "stdio", "command": ""},
        {"transport": "stdio", "command": "a", "url": "https://a.example"},
        {"transport": "http", "url": ""},
        {"transport": "stdio", "command": "a", "auth": "oauth"},
    ],
)
def test_database_refuses_a_server_that_cannot_be_reached(
    world: World, facts: dict[str, str]
) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        McpServer.objects.create(agent=world.agent, name="a", **facts)


def test_list_takes_as_many_queries_for_30_servers_as_for_3(
    world: World, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_servers, "MAX_SERVERS", 40)

    def grow(first: int, last: int) -> None:
        for number in range(first, last):
            name = {**LINEAR, "name": f"a-{number}", "auth": "oauth"}
            server = mcp_servers.create(world.agent, by=world.owner, **name)
            report(server, tool("one"), tool("two"))
            make_grant(server)

    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert len(api.get(path(world) + "?page_size=100").json()["results"]) in (3, 30)
        return len(queries)

    grow(0, 3)
    few = count()
    grow(3, 30)
    assert count() == few
