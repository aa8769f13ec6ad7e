"""Wrong requests to the MCP server are refused with a reason, whatever is wrong with them."""

import json
import logging
from typing import Any

import pytest

from tests.support.mcp_caller import NEW, OLD, McpCaller

pytestmark = pytest.mark.django_db(transaction=True)

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


def line(**changes: Any) -> str:
    return json.dumps({**CALL, **changes})


# The body, other headers, and the statuses by the old and the new revision.
BODIES: dict[str, tuple[str | bytes, dict[str, str | None], int, int]] = {
    "nothing": ("", {}, 400, 400),
    "no JSON": ("{", {}, 400, 400),
    "no UTF-8": (b'{"jsonrpc": "\xff"}', {}, 400, 400),
    "a number": ("7", {}, 400, 400),
    "null": ("null", {}, 400, 400),
    "a batch": (f"[{line()}]", {}, 400, 400),
    "an empty batch": ("[]", {}, 400, 400),
    "no version": (json.dumps({"id": 1, "method": "ping"}), {}, 400, 400),
    "another version": (line(jsonrpc="1.0"), {}, 400, 400),
    # By the old revisions the SDK takes these for notifications, of which it knows none that does something.
    "an id that is an object": (line(id={}), {}, 202, 400),
    "an id that is a list": (line(id=[1]), {}, 202, 400),
    "an id that is null": (line(id=None), {}, 202, 400),
    "a method that is a number": (line(method=5), {}, 400, 400),
    "params that are text": (line(params="all"), {}, 400, 400),
    "a deep list": ("[" * 100_000 + "]" * 100_000, {}, 400, 400),
    "too large": ('"' + "x" * (5 * 1024 * 1024 // 2) + '"', {}, 413, 413),
    "a form": ("a=b", {"Content_Type": "application/x-www-form-urlencoded"}, 400, 400),
    "no content type": (line(), {"Content_Type": None}, 400, 400),
    "plain text": (line(), {"Content_Type": "text/plain"}, 400, 400),
    "only text accepted": (line(), {"Accept": "text/plain"}, 406, 406),
    "another revision": (line(), {"MCP_Protocol_Version": "1999-01-01"}, 400, 400),
    "a page of another site": (line(), {"Origin": "https://evil.example"}, 403, 403),
    "a file as the origin": (line(), {"Origin": "null"}, 403, 403),
    "an empty origin": (line(), {"Origin": ""}, 403, 403),
    "another host": (line(), {"Host": "evil.example"}, 400, 400),
    "a rebound host": (
        line(),
        {"Host": "evil.example", "Origin": "http://evil.example"},
        403,
        403,
    ),
}


@pytest.mark.parametrize("version", [OLD, NEW])
def test_wrong_request_is_refused(caller: McpCaller, caplog, version):
    caller.version = version
    wrong = []
    for name, (body, headers, old, new) in BODIES.items():
        expected = old if version == OLD else new
        status, answer = caller.send(body, **headers)
        if status != expected or "Traceback" in str(answer):
            wrong.append(f"{name}: {status} {str(answer)[:200]}, the table says {expected}")
    assert not wrong, "\n".join(wrong)
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []
    assert caller.tool("list_projects")  # the server still works


def test_other_methods_are_refused(caller: McpCaller):
    for method in ("GET", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD"):
        status, _ = caller.send("", method, Accept="text/event-stream")
        assert (method, status) == (method, 405)
        assert caller.headers["Allow"] == "POST"


@pytest.mark.parametrize("version", [OLD, NEW])
def test_unknown_methods_and_tools_are_errors_of_the_protocol(caller: McpCaller, version):
    caller.version = version
    assert caller.ask("nonsense/now")[1]["error"]["code"] == -32601
    assert caller.ask("resources/list")[1]["error"]["code"] == -32601
    for params in ({"name": "drop_tables"}, {"name": "x" * 5000}):
        answer = caller.ask("tools/call", params)[1]
        assert answer["error"]["code"] == -32602
        assert len(answer["error"]["message"]) < 200
    if version == OLD:
        assert caller.ask("tools/call", {})[1]["error"]["code"] == -32602
        bad = {"name": "list_projects", "arguments": "all"}
        assert caller.ask("tools/call", bad)[1]["error"]["code"] == -32602


P = "00000000-0000-0000-0000-000000000000"
ARGUMENTS: list[tuple[str, dict[str, Any], str]] = [
    ("list_projects", {"nonsense": 1}, "nonsense"),
    ("get_project", {}, "project"),
    ("get_project", {"project": "../../tokens"}, "project"),
    ("get_project", {"project": 7}, "project"),
    ("get_task", {"project": P}, "task"),
    ("get_task", {"project": P, "task": 0}, "task"),
    ("get_task", {"project": P, "task": -1}, "task"),
    ("get_task", {"project": P, "task": 2**31}, "task"),
    ("get_task", {"project": P, "task": "1/comments"}, "task"),
    ("get_task", {"project": P, "task": "HARB-"}, "task"),
    ("get_task", {"project": P, "task": 1.5}, "task"),
    ("list_tasks", {"project": P, "limit": 51}, "limit"),
    ("list_tasks", {"project": P, "limit": 0}, "limit"),
    ("list_tasks", {"project": P, "category": "lost"}, "category"),
    ("create_task", {"project": P, "title": ""}, "title"),
    ("create_task", {"project": P, "title": "x" * 201}, "title"),
    ("create_task", {"project": P, "title": "a\0b"}, "title"),
    ("create_task", {"project": P, "title": "a", "assignee_ids": "me"}, "assignee_ids"),
    ("create_task", {"project": P, "title": "a", "idempotency_key": "k" * 256}, "idempotency_key"),
    ("add_comment", {"project": P, "task": 1, "text": ""}, "text"),
    ("get_doc", {"project": P, "doc": P, "offset": -1}, "offset"),
    ("get_doc", {"project": P, "doc": P, "limit": 10**6}, "limit"),
    ("get_task", {"project": P, "task": 1, "comments": 21}, "comments"),
    ("get_task", {"project": P, "task": 1, "offset": -1}, "offset"),
    ("write_doc", {"project": P}, "arguments"),
    ("write_doc", {"project": P, "doc": P, "title": "a", "idempotency_key": "k"}, "arguments"),
    ("update_task", {"project": P, "task": 1, "if_updated_at": "*"}, "if_updated_at"),
    ("write_doc", {"project": P, "doc": P, "text": "a", "if_updated_at": "*"}, "if_updated_at"),
    ("start_agent", {"project": P, "agent": P}, "arguments"),
    ("start_agent", {"project": P, "agent": P, "instruction": " \n"}, "arguments"),
    (
        "start_agent",
        {"project": P, "agent": P, "instruction": "a", "wait_seconds": 51},
        "wait_seconds",
    ),
    ("wait_for_agent", {"project": P, "conversation": P, "wait_seconds": -1}, "wait_seconds"),
    ("wait_for_agent", {"project": P, "conversation": P, "wait_seconds": "NaN"}, "wait_seconds"),
    ("get_conversation", {"project": P, "conversation": P, "after": 2**63}, "after"),
    ("send_message", {"project": P, "conversation": P, "text": "a", "on_busy": "now"}, "on_busy"),
]


def test_wrong_arguments_are_named(caller: McpCaller):
    wrong = []
    for name, arguments, field in ARGUMENTS:
        given, is_error = caller.result(name, **arguments)
        if not is_error or given["code"] != "invalid" or field not in given["fields"]:
            wrong.append(f"{name} {str(arguments)[:100]}: {given}")
    assert not wrong, "\n".join(wrong)


def test_words_of_the_api_come_through_with_their_fields(caller: McpCaller, world):
    project = world.project.pk
    bad = caller.error("create_task", project=project, title="a", due_date="tomorrow")
    assert "due_date" in bad["fields"]
    assert caller.error("list_tasks", project=project, cursor="nonsense")["code"] == "invalid"
    assert caller.error("create_task", project=project, title="a", idempotency_key="a\nb")[
        "detail"
    ].startswith("An Idempotency-Key")
    assert caller.error("get_task", project=project, task=5)["code"] == "not_found"


def test_keys_and_conditions_cannot_add_headers(caller: McpCaller, world):
    given = {"project": world.project.pk, "title": "a"}
    for bad in ("a\r\nX-Other: b", "a\r\nAuthorization: Bearer other", "\u2028"):
        assert caller.error("create_task", **given, idempotency_key=bad)["code"] == "invalid"
    assert caller.error("update_task", **given, task=1, if_updated_at="a\r\nb: c")["code"]


def test_broken_tool_says_nothing_of_itself(caller: McpCaller, monkeypatch, caplog):
    from paca.mcp_server.tools.all_tools import TOOLS

    async def broken(*_: object) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr(TOOLS["list_projects"], "act", broken)
    for version in (OLD, NEW):
        caller.version = version
        error = caller.error("list_projects")
        assert error["code"] == "internal_error"
        assert "swordfish" not in str(error)
    assert "an MCP tool broke" in caplog.text


def test_half_a_character_is_refused(caller: McpCaller, world):
    given = {"project": str(world.project.pk), "title": "a\ud800b"}
    status, answer = caller.ask("tools/call", {"name": "create_task", "arguments": given})
    assert (status, answer["error"]["code"]) == (400, -32700)
    caller.version = NEW
    assert "title" in caller.error("create_task", **given)["fields"]


def test_call_that_is_sent_as_a_notification_does_nothing(caller: McpCaller, world):
    given = {"project": str(world.project.pk), "title": "a"}
    body = {**CALL, "method": "tools/call", "params": {"name": "create_task", "arguments": given}}
    for odd in ({**body, "id": None}, {k: v for k, v in body.items() if k != "id"}):
        for caller.version in (OLD, NEW):
            caller.send(json.dumps(odd))
    assert caller.tool("list_tasks", project=world.project.pk)["results"] == []
