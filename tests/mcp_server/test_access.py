"""What each caller may do by MCP: the same as by the REST API, with the same errors."""

from datetime import timedelta

import pytest
from django.utils import timezone

from paca.accounts.models import ApiToken
from paca.accounts.services import tokens
from paca.projects import permissions
from paca.projects.models import Comment, Doc, Member, Task
from tests.security import two_projects
from tests.security.two_projects import ProjectObjects
from tests.support.mcp_caller import McpCaller

pytestmark = pytest.mark.django_db(transaction=True)

# Each tool with arguments for a project. "A token of" stands in the head of each column: the owner of another
# project, a viewer, a member, and the owner with a token limited to agents:read.
#                       stranger           viewer               member  scoped
NOT_THERE, FORBIDDEN, NO_SCOPE, DONE = "not_found", "permission_denied", "out_of_scope", ""
READ = (NOT_THERE, DONE, DONE, NO_SCOPE)
WRITE = (NOT_THERE, FORBIDDEN, DONE, NO_SCOPE)
TOOLS = {
    "list_projects": (DONE, DONE, DONE, NO_SCOPE),
    "list_requests": (DONE, DONE, DONE, NO_SCOPE),
    "get_project": READ,
    "search": READ,
    "list_agents": (NOT_THERE, DONE, DONE, DONE),
    "list_tasks": READ,
    "get_task": READ,
    "create_task": WRITE,
    "update_task": WRITE,
    "add_comment": WRITE,
    "list_docs": READ,
    "get_doc": READ,
    "write_doc": WRITE,
    "start_agent": WRITE,
    "wait_for_agent": READ,
    "send_message": WRITE,
    "list_conversations": READ,
    "get_conversation": READ,
    "stop_agent": WRITE,
}


def arguments_of(name: str, target: ProjectObjects, **others: object) -> dict[str, object]:
    ids = {**target.ids, **others}
    project, conversation = {"project": ids["project"]}, {"conversation": ids["conversation_id"]}
    task, doc = {"task": ids["number"]}, {"doc": ids["doc_id"]}
    more: dict[str, dict[str, object]] = {
        "search": {"words": "secret"},
        "get_task": task,
        "create_task": {"title": "New"},
        "update_task": {**task, "title": "Changed"},
        "add_comment": {**task, "text": "Hello"},
        "get_doc": doc,
        "write_doc": {**doc, "title": "Changed"},
        "start_agent": {"agent": ids["agent_id"], "instruction": "Hello"},
        "wait_for_agent": {**conversation, "wait_seconds": 0},
        "get_conversation": conversation,
        "send_message": {**conversation, "text": "Hello"},
        "stop_agent": conversation,
    }
    return {} if name in {"list_projects", "list_requests"} else {**project, **more.get(name, {})}


def test_each_tool_is_allowed_as_the_table_says(server):
    a, b = two_projects.make_project("owner"), two_projects.make_project("stranger")
    callers = [
        token_of(b.owner),
        token_of(member_of(a, permissions.VIEWER)),
        token_of(member_of(a, permissions.MEMBER)),
        token_of(a.owner, "agents:read"),
    ]
    wrong = []
    for name, expected in TOOLS.items():
        for token, code in zip(callers, expected, strict=True):
            given, _ = McpCaller(server.port, token).result(name, **arguments_of(name, a))
            found = given.get("code", "") if isinstance(given, dict) else ""
            if found != code:
                wrong.append(f"{name}: {found or 'done'}, the table says {code or 'done'}: {given}")
    assert not wrong, "\n".join(wrong)


def test_ids_of_another_project_are_not_there(server):
    a, b = two_projects.make_project("owner"), two_projects.make_project("stranger")
    caller = McpCaller(server.port, token_of(a.owner))
    before = (Task.objects.count(), Doc.objects.count(), Comment.objects.count())
    of_other = {
        "doc_id": ("get_doc", "write_doc"),
        "agent_id": ("start_agent",),
        "conversation_id": ("wait_for_agent", "get_conversation", "send_message", "stop_agent"),
    }
    for name_of_id, names in of_other.items():
        for name in names:
            given = arguments_of(name, a, **{name_of_id: b.ids[name_of_id]})
            assert caller.error(name, **given)["code"] == "not_found", name
    project, status = a.ids["project"], b.project.statuses.first().pk
    for extra in ({"assignee_ids": [str(b.ids["member_id"])]}, {"status_id": str(status)}):
        error = caller.error("create_task", project=project, title="New", **extra)
        assert error["code"] in {"not_found", "invalid"}
    assert (Task.objects.count(), Doc.objects.count(), Comment.objects.count()) == before


@pytest.mark.parametrize("path", ["/mcp/", "/mcp"])
def test_door_is_closed_without_a_valid_token(server, caller, world, path):
    other = McpCaller(server.port, path=path)
    expired = tokens.create(world.user, name="old", scopes=[], by=world.user)
    ApiToken.objects.filter(pk=expired[0].pk).update(expiry=timezone.now() - timedelta(days=1))
    revoked = tokens.create(world.user, name="gone", scopes=[], by=world.user)
    tokens.revoke(revoked[0], by=world.user)
    for token in ("", "paca_nonsense", "\xe9", expired[1], revoked[1], caller.token[:-1]):
        other.token = token
        status, answer = other.ask("tools/list")
        assert (status, answer["code"] in {"not_authenticated", "authentication_failed"}) == (
            401,
            True,
        ), token
        assert other.headers["WWW-Authenticate"].startswith("Bearer")
        assert other.headers["X-Request-ID"] == answer["request_id"]


def test_cookie_of_a_signed_in_person_opens_nothing(server, world, client):
    client.force_login(world.user)
    (cookie,) = [f"{name}={morsel.value}" for name, morsel in client.cookies.items()]
    assert McpCaller(server.port).ask("tools/list", Cookie=cookie)[0] == 401


def test_revoked_token_ends_a_wait(caller, world, monkeypatch):
    from paca.mcp_server import waiting

    started = caller.tool(
        "start_agent", project=world.project.pk, agent=world.agent.pk, instruction="Hello"
    )
    look = waiting._look_again

    async def revoke_first(*given):
        await ApiToken.objects.all().adelete()
        return await look(*given)

    monkeypatch.setattr(waiting, "_look_again", revoke_first)
    error = caller.error(
        "wait_for_agent",
        project=world.project.pk,
        conversation=started["conversation"]["id"],
    )
    assert error["code"] == "authentication_failed"


def test_member_who_is_removed_is_refused_with_the_next_call(caller, world):
    assert caller.tool("list_tasks", project=world.project.pk)["results"] == []
    Member.objects.filter(pk=world.owner.pk).update(deleted_at=timezone.now())
    assert caller.error("list_tasks", project=world.project.pk)["code"] == "not_found"


def test_requests_of_a_token_are_limited_with_those_of_the_api(caller, world, settings):
    from paca.common.api.throttling import RequestsPerMinute

    before = RequestsPerMinute.THROTTLE_RATES["api"]
    RequestsPerMinute.THROTTLE_RATES["api"] = "5/min"
    try:
        assert caller.tool("list_projects")  # the door, and the address behind it
        assert caller.tool("list_projects")
        error = caller.error("list_projects")
        assert error["code"] == "throttled"
        assert error["retry_after_seconds"] >= 1
        status, answer = caller.ask("tools/list")
        assert (status, answer["code"]) == (429, "throttled")
        assert int(caller.headers["Retry-After"]) >= 1
    finally:
        RequestsPerMinute.THROTTLE_RATES["api"] = before


def test_secrets_of_a_call_are_in_no_log(caller, world, caplog):
    with caplog.at_level("DEBUG"):
        caller.error("get_task", project=world.project.pk, task=99)
        caller.token += "x"
        caller.ask("tools/list")
    assert caller.token[:-1] not in caplog.text


def token_of(user, *scopes: str) -> str:
    return tokens.create(user, name="editor", scopes=list(scopes), by=user)[1]


def member_of(target: ProjectObjects, role: str):
    return two_projects._member(target.project, role)
