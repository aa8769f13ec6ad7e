"""Every route that takes input refuses wrong input with an error that names the field.

The routes of the table here are those without a row in the tables of wrong input of their apps.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction

from tests.projects import test_talk_bad_input, test_task_bad_input
from tests.security import access_routes, test_bad_input, two_projects
from tests.security.access_table import C, D, P, T, W
from tests.security.two_projects import TwoProjects

pytestmark = pytest.mark.django_db

ZERO = "00000000-0000-0000-0000-000000000000"
A = f"{P}agents/{{agent_id}}/"
M = f"{A}mcp-servers/"
S = f"{A}chat-sessions/"
REQUIRED, BLANK, NO_TEXT = "This field is required.", "may not be blank", "Write something."
UNKNOWN = ({"nonsense": 1}, "nonsense", "There is no such field.")
# Each row: the body, the field that the error names, and a part of its message.
TABLE: dict[str, list[tuple[Any, str, str]]] = {
    f"PATCH {A}skills/{{skill_id}}/": [UNKNOWN, ({"enabled": "maybe"}, "enabled", "valid boolean")],
    f"POST {A}skills/git/look/": [
        ({"url": "a", **UNKNOWN[0]}, *UNKNOWN[1:]),
        ({}, "url", REQUIRED),
        ({"url": "file:///etc"}, "url", "Write an address"),
        ({"url": "https://a.example/b/c", "ref": "--x"}, "ref", "no name of a branch"),
        ({"url": "https://a.example/b/c", "folder": "../x"}, "folder", "path of a folder"),
    ],
    f"POST {A}skills/git/import/": [
        (
            {"url": "a", "commit": "0" * 40, "folders": [""], **UNKNOWN[0]},
            *UNKNOWN[1:],
        ),
        ({}, "url", REQUIRED),
        ({"url": "a", "commit": "main", "folders": [""]}, "commit", "full id of the commit"),
        ({"url": "a", "commit": "0" * 40, "folders": []}, "folders", "at least 1"),
        ({"url": "a", "commit": "0" * 40, "folders": [""]}, "url", "Write an address"),
    ],
    f"POST {A}skills/{{skill_id}}/update/": [
        ({"commit": "0" * 40, **UNKNOWN[0]}, *UNKNOWN[1:]),
        ({}, "commit", REQUIRED),
        ({"commit": "main"}, "commit", "full id of the commit"),
    ],
    f"POST {A}skills/": [UNKNOWN, ({}, "content", REQUIRED), ({"template": ""}, "template", BLANK)],
    **{
        f"POST {base}memory/": [
            ({"text": "a", **UNKNOWN[0]}, *UNKNOWN[1:]),
            ({}, "text", REQUIRED),
            ({"text": ""}, "text", BLANK),
            ({"text": "x" * 501}, "text", "At most 500 characters"),
            ({"text": "a", "pinned": "maybe"}, "pinned", "valid boolean"),
        ]
        for base in (P, A)
    },
    **{
        f"PATCH {one}/": [
            UNKNOWN,
            ({"text": []}, "text", "Not a valid string."),
            ({"pinned": None}, "pinned", "may not be null"),
            ({"pinned": True}, "pinned", "Only what is in the memory"),
        ]
        for one in (f"{P}memory/{{memory_id}}", f"{A}memory/{{agent_memory_id}}")
    },
    **{
        f"POST {one}/decision/": [
            ({}, "decision", REQUIRED),
            ({"decision": "maybe"}, "decision", "not a valid choice"),
            ({"decision": "accept", **UNKNOWN[0]}, *UNKNOWN[1:]),
        ]
        for one in (f"{P}memory/{{memory_id}}", f"{A}memory/{{agent_memory_id}}")
    },
    f"POST {A}check-ins/": [
        ({"name": "a", "prompt": "b", **UNKNOWN[0]}, *UNKNOWN[1:]),
        ({}, "prompt", REQUIRED),
        ({"name": "a", "prompt": "b"}, "every_minutes", "either an interval or hours"),
    ],
    f"PATCH {A}check-ins/{{check_in_id}}/": [
        UNKNOWN,
        ({"every_minutes": 1}, "every_minutes", "greater than or equal to 5"),
        ({"daily_at": "09:00"}, "daily_at", "Expected a list"),
        ({"daily_at": ["nine"], "every_minutes": None}, "daily_at", "such as 09:30"),
        ({"weekdays": [0]}, "weekdays.0", "greater than or equal to 1"),
        ({"active_from": "25:00"}, "active_from", "wrong format"),
        ({"time_zone": "Mars/Base"}, "time_zone", "no such time zone"),
        ({"report_to": {}}, "report_to.doc", "either a task or a doc"),
        ({"report_to": {"task": "PACA-1"}}, "report_to.task", "valid integer"),
        ({"prompt": "a\0"}, "prompt", "Null characters"),
        ({"auto_act": "maybe"}, "auto_act", "valid boolean"),
    ],
    f"POST {A}check-ins/{{check_in_id}}/run/": [UNKNOWN, ([], "body", "Expected a dictionary")],
    # tests/agents/mcp has the long tables of these.
    f"POST {M}": [({}, "transport", REQUIRED), ({"name": "a", "transport": "x"}, "transport", "not a valid choice")],
    f"POST {M}import/": [({}, "mcpServers", "Paste an object"), ({"mcpServers": {}}, "mcpServers", "at least one server")],
    f"PATCH {M}{{server_id}}/": [UNKNOWN, ({"command": ""}, "command", "needs this")],
    f"POST {M}{{server_id}}/tools/": [
        ({"tools": [{"name": "log", "safe": True}], **UNKNOWN[0]}, *UNKNOWN[1:]),
        ({}, "tools", REQUIRED),
        ({"tools": []}, "tools", "may not be empty"),
        ({"tools": [{"name": "log"}]}, "tools.0.accept", "Say what is decided"),
        ({"tools": [{"name": "log", "accept": True}]}, "tools.0.hash", REQUIRED),
        ({"tools": [{"name": "no", "safe": False}]}, "tools.0.name", "no such tool"),
    ],
    # tests/repositories/test_api.py has the long tables of these.
    f"POST {P}git-connections/": [({}, "base_url", REQUIRED), ({"name": "a", "kind": "svn", "base_url": "https://a.example"}, "kind", "not a valid choice")],
    f"PATCH {P}git-connections/{{connection_id}}/": [UNKNOWN, ({"secret": 1.5, "auth": "x"}, "auth", "not a valid choice")],
    f"POST {P}repositories/": [({}, "url", REQUIRED), ({"url": "file:///etc"}, "url", "Write an address"), ({"url": "https://a.example/b/c", **UNKNOWN[0]}, *UNKNOWN[1:])],
    f"PATCH {P}repositories/{{repository_id}}/": [UNKNOWN, ({"reviews": "all"}, "reviews", "not a valid choice"), ({"reviewers": "ada"}, "reviewers", "Expected a list")],
    f"POST {P}repositories/{{repository_id}}/test/": [UNKNOWN, ([], "body", "Expected a dictionary")],
    f"POST {P}repositories/{{repository_id}}/webhook-secret/": [UNKNOWN],
    f"PUT {A}repositories/": [({}, "access", REQUIRED), ({"access": "chosen", "chosen": ["x"]}, "chosen.0", "valid UUID"), ({"access": "all", **UNKNOWN[0]}, *UNKNOWN[1:])],
    f"POST {P}personas/": [
        ({"name": "a", "text": "b", **UNKNOWN[0]}, *UNKNOWN[1:]),
        ({}, "text", REQUIRED),
        ({"name": "a", "text": ""}, "text", BLANK),
        ({"name": "a", "text": "b", "category": "x"}, "category", "not a valid choice"),
        ({"name": "a", "text": "x" * 20_001}, "text", "20000"),
        ({"template": "nobody"}, "template", "no such predefined"),
    ],
    f"PATCH {P}personas/{{persona_id}}/": [
        UNKNOWN,
        ({"template": "plain-writer"}, "template", "Only a new persona"),
        ({"name": " "}, "name", BLANK),
        ({"text": "a\0"}, "text", "Null characters"),
    ],
    f"POST {P}plugins/": [
        ({"name": "a", **UNKNOWN[0]}, *UNKNOWN[1:]),
        ({}, "name", REQUIRED),
        ({"name": "a", "skills": "none"}, "skills", "Expected a list"),
        ({"name": "a", "mcp_servers": [1]}, "mcp_servers", "object"),
        ({"name": "a", "settings": {"tools": []}}, "settings.tools", "only"),
    ],
    f"PATCH {P}plugins/{{plugin_id}}/": [
        UNKNOWN,
        ({"name": " "}, "name", BLANK),
        ({"skills": [1]}, "skills.0", "name, description and content"),
        ({"settings": {"approval": 1}}, "settings.approval", "one of"),
    ],
    f"POST {P}plugins/{{plugin_id}}/enable/": [UNKNOWN],
    f"POST {P}plugins/{{plugin_id}}/disable/": [
        UNKNOWN,
        ({"confirm": "perhaps"}, "confirm", "valid boolean"),
    ],
    f"PUT {P}agents/{{agent_id}}/plugins/": [
        ({"plugins": [], **UNKNOWN[0]}, *UNKNOWN[1:]),
        ({}, "plugins", REQUIRED),
        ({"plugins": "testing"}, "plugins", "Expected a list"),
    ],
    f"POST {P}agents/bulk/": [
        ({"agents": [{}], **UNKNOWN[0]}, *UNKNOWN[1:]),
        ({}, "agents", REQUIRED),
        ({"agents": []}, "agents", "at least 1"),
        ({"agents": ["Bo"]}, "agents.0", "Expected a dictionary"),
        ({"agents": [{"name": "Bo"}]}, "agents.0.handle", REQUIRED),
        ({"agents": [{"name": "B", "handle": "b", "model": "demo/guide", "role_id": ZERO, "nonsense": 1}]}, "agents.0.nonsense", UNKNOWN[2]),
        ({"defaults": [], "agents": [{}]}, "defaults", "Expected a dictionary"),
    ],
    f"POST {A}status/": [
        ({"status": "paused", **UNKNOWN[0]}, *UNKNOWN[1:]),
        ({}, "status", REQUIRED),
        ({"status": "asleep"}, "status", "not a valid choice"),
        ({"status": "paused", "at": "soon"}, "at", "such as 2026"),
        ({"status": "paused", "at": "2020-01-01T00:00:00Z"}, "at", "from now on"),
        ({"status": "paused", "at": "2027-01-01\0"}, "at", "Null characters"),
        ({"status": "paused", "time_zone": "UTC"}, "time_zone", "Only a change at a time"),
    ],
    f"POST {A}execute/": [
        ({}, "instruction", REQUIRED),
        ({"instruction": ""}, "instruction", NO_TEXT),
    ],
    f"POST {S}": [UNKNOWN, ({"text": "a", "flags": []}, "flags", "Expected a dictionary"), ({}, "text", REQUIRED), ({"message": ""}, "text", NO_TEXT)],
    f"POST {S}{{session_id}}/messages/": [UNKNOWN, ({"text": []}, "text", "Not a valid string.")],
    f"POST {S}{{session_id}}/clear/": [UNKNOWN, ([], "body", "Expected a dictionary")],
    f"PATCH {C}": [UNKNOWN, ({"title": ""}, "title", "Write a title."), ({"archived": "maybe"}, "archived", "valid boolean"), ({"tracing": "maybe"}, "tracing", "valid boolean")],
    f"POST {C}messages/": [UNKNOWN, ({}, "text", REQUIRED), ({"text": " "}, "text", NO_TEXT)],
    f"PATCH {C}messages/{{event_seq}}/": [({}, "text", REQUIRED), ({"text": ""}, "text", NO_TEXT)],
    f"POST {C}continue/": [UNKNOWN],
    f"POST {C}compact/": [
        UNKNOWN,
        ([], "body", "Expected a dictionary"),
        ({"focus": ["a"]}, "focus", "Not a valid string."),
        ({"focus": None}, "focus", "may not be null"),
        ({"focus": "a\0"}, "focus", "Null characters"),
        ({"focus": "x" * 2001}, "focus", "At most 2,000 characters; this has 2,001."),
    ],
    f"POST {C}fork/": [({"seq": 1, **UNKNOWN[0]}, *UNKNOWN[1:]), ({}, "seq", REQUIRED), ({"seq": -1}, "seq", "greater"), ({"seq": 0, "text": " "}, "text", NO_TEXT)],
    f"POST {C}approvals/revoke/": [UNKNOWN],
    f"POST {C}approvals/{{call_id}}/": [
        ({"decision": "approve", "nonsense": 1}, "nonsense", UNKNOWN[2]),
        ({}, "decision", REQUIRED),
        ({"decision": "banana"}, "decision", "not a valid choice"),
    ],
    f"POST {C}questions/{{question_id}}/": [
        ({"text": "the first", "nonsense": 1}, "nonsense", UNKNOWN[2]),
        ({}, "text", REQUIRED),
        ({"text": " "}, "text", BLANK),
        ({"text": "a\0"}, "text", "Null characters"),
    ],
    f"POST {C}plans/{{plan_id}}/": [
        ({"decision": "approve", "nonsense": 1}, "nonsense", UNKNOWN[2]),
        ({}, "decision", REQUIRED),
        ({"decision": "deny"}, "decision", "not a valid choice"),
    ],
    **{
        f"POST {base}variables/": [
            ({"name": "A", "value": "12345678", **UNKNOWN[0]}, *UNKNOWN[1:]),
            ({"name": "A"}, "value", REQUIRED),
            ({"value": "12345678"}, "name", REQUIRED),
            ({"name": "A", "value": ""}, "value", BLANK),
            ({"name": "A", "value": "***"}, "value", "none is stored"),
            ({"name": "A", "value": "short"}, "value", "at least 8 characters"),
            ({"name": "A", "value": "x" * 8001}, "value", "8000"),
            ({"name": "A", "value": "x\0yyyyyyyy"}, "value", "Null characters"),
            ({"name": "A", "value": "12345678", "secret": "maybe"}, "secret", "valid boolean"),
            ({"name": "A B", "value": "12345678"}, "name", "letters, digits"),
            ({"name": "1A", "value": "12345678"}, "name", "no digit"),
            ({"name": "A" * 101, "value": "12345678"}, "name", "100"),
            ({"name": "PATH", "value": "/tmp/evil/bin"}, "name", "sets PATH itself"),
            ({"name": "LD_PRELOAD", "value": "/tmp/evil.so"}, "name", "run or trust"),
            ({"name": "https_proxy", "value": "http://a:1"}, "name", "network gate"),
        ]
        for base in (P, A)
    },
    f"POST {P}model-keys/": [
        ({"provider": "openai", "key": "sk-1", **UNKNOWN[0]}, *UNKNOWN[1:]),
        ({"provider": "openai"}, "key", REQUIRED),
        ({"provider": "openai", "key": "a b"}, "key", "no spaces"),
        ({"provider": "openai", "key": "x" * 8001}, "key", "8000"),
        ({"provider": "acme", "key": "sk-1"}, "provider", "not a known model"),
        ({"provider": "demo", "key": "sk-1"}, "provider", "Name a provider"),
        ({"provider": "openai/gpt-5", "key": "sk-1"}, "provider", "Name a provider"),
        ({"provider": "x" * 51, "key": "sk-1"}, "provider", "50"),
        ({"provider": "openai", "key": "sk-1", "base_url": "x"}, "base_url", "such as https"),
    ],
    "POST /api/v1/model-keys/": [
        ({"provider": "openai", "key": "sk-1", **UNKNOWN[0]}, *UNKNOWN[1:]),
        ({"key": "sk-1"}, "provider", REQUIRED),
        ({"provider": "openai", "key": ""}, "key", BLANK),
        ({"provider": "openai", "key": "sk\0"}, "key", "Null characters"),
        ({"provider": "openai", "key": []}, "key", "Not a valid string."),
    ],
    f"POST {C}files/": [({}, "name", REQUIRED)],
    f"POST {C}pause/": [UNKNOWN],
    f"POST {C}resume/": [UNKNOWN],
    f"POST {C}background/{{call_id}}/stop/": [UNKNOWN, ([], "body", "Expected a dictionary")],
    f"POST {C}stop/": [UNKNOWN, ([], "body", "Expected a dictionary")],
    f"POST {D}comments/": [({}, "text", REQUIRED), ({"text": ""}, "text", BLANK)],
    f"PATCH {D}comments/{{doc_comment_id}}/": [({}, "text", REQUIRED), ({"text": ""}, "text", BLANK)],
    f"PATCH {P}members/{{member_id}}/": [({}, "role_id", REQUIRED), ({"role_id": ""}, "role_id", "UUID")],
    f"PATCH {P}roles/{{role_id}}/": [
        UNKNOWN,
        ({"name": ""}, "name", BLANK),
        ({"permissions": ["fly"]}, "permissions", "no such permission"),
    ],
    f"PATCH {P}sprints/{{sprint_id}}/": [UNKNOWN, ({"name": ""}, "name", BLANK)],
    f"PATCH {P}statuses/{{status_id}}/": [UNKNOWN, ({"category": "x"}, "category", "not a valid choice")],
    f"PATCH {P}task-types/": [({}, "ids", REQUIRED), ({"ids": []}, "ids", "at least 1")],
    f"PATCH {P}task-types/{{type_id}}/": [UNKNOWN, ({"name": ""}, "name", BLANK)],
    f"POST {P}invitations/": [({}, "role_id", REQUIRED), ({"role_id": "x"}, "role_id", "UUID")],
    f"POST {T}attachments/": [({}, "file", "The file needs a name.")],
    f"POST {T}suggestion/keep/": [UNKNOWN, ({"text": []}, "text", "Not a valid string."), ({"id": "x"}, "id", "UUID")],
    f"POST {T}suggestion/discard/": [UNKNOWN, ({"turn": 0}, "turn", "1")],
    f"POST {T}write-with-ai/": [({}, "agent_id", REQUIRED), ({"agent_id": ""}, "agent_id", "UUID")],
    f"PATCH {W}": [({}, "name", REQUIRED), ({"name": ""}, "name", BLANK)],
    f"PATCH {W}members/{{entry_id}}/": [({}, "role", REQUIRED), ({"role": "x"}, "role", "not a valid choice")],
    f"POST {W}invitations/": [UNKNOWN, ({"days": "many"}, "days", "valid integer"), ({"days": 0}, "days", "1")],
}  # fmt: skip
# These take nothing but ids: one that does not exist is not found.
BY_ID_ONLY = {
    f"POST {D}restore/": "doc_id",
    f"POST {P}sprints/{{sprint_id}}/start/": "sprint_id",
    f"POST {A}test-connection/": "agent_id",
    f"POST {A}skills/{{skill_id}}/check/": "skill_id",
    f"POST {A}setup/rebuild/": "agent_id",
    f"POST {M}{{server_id}}/test/": "server_id",
    f"POST {M}{{server_id}}/sign-in/": "server_id",
}
# These take no input at all.
NO_INPUT = {"POST /api/v1/notifications/read/", "POST /api/v1/tickets/"}
# A file comes as a form; tests/agents/test_skills.py has the table of wrong files.
FORMS = {f"POST {A}skills/upload/"}


@pytest.fixture
def projects() -> Iterator[TwoProjects]:
    cache.clear()
    yield two_projects.make_two_projects()
    cache.clear()


def rows_of_other_tables() -> Iterator[tuple[str, str]]:
    """The method and the path of each request that another table expects to be refused."""
    for table, prefix in (
        (test_bad_input.TABLE, "/api/v1"),
        (test_talk_bad_input.TABLE, "/api/v1"),
        (test_task_bad_input.TABLE, P),
    ):
        yield from (
            (method, prefix + path)
            for method, path, _, status, *_ in table
            if status >= 400 and status != 405
        )


def test_every_route_that_takes_input_has_a_row_of_wrong_input() -> None:
    rows = list(rows_of_other_tables())
    here = {*TABLE, *BY_ID_ONLY, *NO_INPUT, *FORMS}
    missing = []
    for route in access_routes.all_routes():
        method, _, path = route.partition(" ")
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)) + r"(\?.*)?"
        elsewhere = any(each == method and re.fullmatch(pattern, at) for each, at in rows)
        takes_input = path.startswith("/api/v1/") and method in {"POST", "PATCH", "PUT"}
        if takes_input and not elsewhere and route not in here:
            missing.append(route)
    assert sorted(missing) == []
    assert here - access_routes.all_routes() == set(), "rows without a route"


def test_wrong_input_is_refused_and_the_error_names_the_field(projects: TwoProjects) -> None:
    wrong = []
    for route, rows in TABLE.items():
        for body, field, message in rows:
            status, found = ask(projects, route, body)
            texts = found.get("fields", {}).get(field, [])
            is_named = any(message in text for text in texts)
            if (status, found.get("code")) != (400, "invalid") or not is_named:
                wrong.append(f"{route} {body}: {status} {found}")
    assert not wrong, "\n".join(wrong)


def test_id_that_does_not_exist_is_not_found(projects: TwoProjects) -> None:
    for route, name in BY_ID_ONLY.items():
        status, found = ask(projects, route, {}, **{name: ZERO})
        assert (status, found["code"]) == (404, "not_found"), route


def test_form_that_is_sent_as_json_is_refused(projects: TwoProjects) -> None:
    for route in FORMS:
        status, found = ask(projects, route, {})
        assert (status, found["code"]) == (415, "unsupported_media_type")


def ask(projects: TwoProjects, route: str, body: Any, **ids: str) -> tuple[int, dict[str, Any]]:
    """The status and the JSON of the answer to the owner. What the request changed is undone."""
    method, _, path = route.partition(" ")
    with transaction.atomic():
        answer = projects.principals["owner"].send(
            method, path.format(**{**projects.a.ids, **ids}), body
        )
        transaction.set_rollback(True)
    return answer.status_code, answer.json() if answer.content else {}
