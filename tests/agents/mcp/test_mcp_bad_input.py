"""Wrong input to the settings of MCP servers: each is refused, and the error names its place."""

from typing import Any

import pytest

from paca.agents.models import McpServer
from tests.agents.mcp.test_mcp_servers import GIT, KEY, LINEAR, path
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db
REQUIRED = "This field is required."

# the body, the field that the error names, and a part of its message
SERVERS: list[tuple[Any, str, str]] = [
    ([], "body", "Expected a dictionary"),
    ({**GIT, "nonsense": 1}, "nonsense", "no such field"),
    ({**GIT, "name": ""}, "name", "blank"),
    ({**GIT, "name": "Git"}, "name", "small letters"),
    ({**GIT, "name": "a__b"}, "name", "small letters"),
    ({**GIT, "name": "x" * 31}, "name", "30"),
    ({**GIT, "transport": "pigeon"}, "transport", "not a valid choice"),
    ({**GIT, "command": " "}, "command", "needs this"),
    ({**GIT, "command": "a\0"}, "command", "Null characters"),
    ({**GIT, "command": "x" * 1001}, "command", "1000"),
    ({**GIT, "args": "--a --b"}, "args", "Expected a list"),
    ({**GIT, "args": ["a"] * 101}, "args", "100"),
    ({**GIT, "args": ["x" * 4001]}, "args", "4000"),
    ({**GIT, "args": [["a"]]}, "args.0", "valid string"),
    ({**GIT, "url": "https://a.example"}, "url", "has none"),
    ({**GIT, "headers": {"A": "b"}}, "headers", "has none"),
    ({**GIT, "env": {"A B": "c"}}, "env", "letters, digits and _"),
    ({**GIT, "env": {"": "c"}}, "env", "1 to 200"),
    ({**GIT, "env": {"A": ["c"]}}, "env.A", "valid string"),
    ({**GIT, "env": {"A": "***"}}, "env", "A: no value is stored"),
    ({**GIT, "env": {"A": "${env:B}"}}, "env", "replace ${env:B}"),
    ({**GIT, "env": {f"A{n}": "" for n in range(51)}}, "env", "at most 50"),
    ({**GIT, "env": {"A": "x" * 8001}}, "env", "8000"),
    ({**GIT, "auth": "oauth"}, "auth", "Only servers over HTTP"),
    ({**GIT, "start_seconds": 0}, "start_seconds", "greater than or equal to 1"),
    ({**GIT, "call_seconds": 3601}, "call_seconds", "less than or equal to 3600"),
    ({**GIT, "enabled": "maybe"}, "enabled", "valid boolean"),
    ({**LINEAR, "command": "a"}, "command", "has none"),
    ({**LINEAR, "env": {"A": "b"}}, "env", "has none"),
    ({**LINEAR, "url": ""}, "url", "needs this"),
    ({**LINEAR, "url": "file:///etc/passwd"}, "url", "such as https"),
    ({**LINEAR, "url": "javascript:alert(1)"}, "url", "such as https"),
    ({**LINEAR, "url": "https://"}, "url", "such as https"),
    ({**LINEAR, "url": "https://a.example/ b"}, "url", "such as https"),
    ({**LINEAR, "url": "https://[::1"}, "url", "such as https"),
    ({**LINEAR, "url": "https://a.example:99999/"}, "url", "such as https"),
    ({**LINEAR, "url": "https://me:secret@a.example/"}, "url", "into a header"),
    ({**LINEAR, "url": "https://a.example/#b"}, "url", "behind #"),
    ({**LINEAR, "headers": {"Host": "b"}}, "headers", "sets this header itself"),
    ({**LINEAR, "headers": {"Mcp-Session-Id": "b"}}, "headers", "sets this header itself"),
    ({**LINEAR, "headers": {"A b": "c"}}, "headers", "no name of a header"),
    ({**LINEAR, "headers": {"A": "b\r\nHost: c"}}, "headers", "printable plain"),
    ({**LINEAR, "headers": {"A": "ä"}}, "headers", "printable plain"),
    ({**LINEAR, "headers": {"A": "b", "a": "c"}}, "headers", "given twice"),
    ({**LINEAR, "auth": "oauth", "headers": {"authorization": "b"}}, "headers", "sign-in sets it"),
    ({**LINEAR, "oauth_client_id": "a"}, "oauth_client_id", "OAuth only"),
    ({**LINEAR, "auth": "oauth", "oauth_client_secret": "a"}, "oauth_client_id", "client id"),
    ({**LINEAR, "auth": "oauth", "oauth_client_id": "a", "oauth_client_secret": "ä"},
     "oauth_client_secret", "printable plain"),
    ({**LINEAR, "private_addresses": True}, "private_addresses", "This project allows no"),
]  # fmt: skip
ONE = {"command": "git-mcp"}

# the JSON, the place that the error names, and a part of its message
IMPORTS: list[tuple[Any, str, str]] = [
    ([], "mcpServers", "Paste an object"),
    ("text", "mcpServers", "Paste an object"),
    (None, "mcpServers", "Paste an object"),
    ({}, "mcpServers", "Paste an object"),
    ({"a": 1}, "mcpServers", "Paste an object"),
    ({"mcpServers": []}, "mcpServers", "at least one server"),
    ({"mcpServers": {}}, "mcpServers", "at least one server"),
    ({"mcpServers": {str(n): ONE for n in range(21)}}, "mcpServers", "more than 20"),
    ({"mcpServers": {"a": ONE}, "theme": "dark"}, "theme", "does not know this"),
    ({"mcpServers": {"a": {"command": "a\0"}}}, "mcpServers.a.command", "no text can have"),
    ({"mcp": {"servers": {"a": ONE}}, "editor": {}}, "editor", "does not know this"),
    ({"mcpServers": {"a": "git-mcp"}}, "mcpServers.a", "is an object"),
    ({"mcpServers": {"a": {}}}, "mcpServers.a", "either a command or a url"),
    ({"mcpServers": {"a": {**ONE, "url": "https://a.example"}}}, "mcpServers.a", "either"),
    ({"mcpServers": {"a": {"command": ["git-mcp"]}}}, "mcpServers.a.command", "no text"),
    # Each ${ was read to the end of the text: a body of the longest size took an hour.
    ({"mcpServers": {"a": {"command": "${" * 500_000}}}, "mcpServers.a.command", "1000"),
    ({"mcpServers": {"a": {"comand": "x", **ONE}}}, "mcpServers.a.comand", "does not know this"),
    ({"mcpServers": {"a": {**ONE, "autoApprove": ["b"]}}}, "mcpServers.a.autoApprove", "know"),
    ({"mcpServers": {"a": {**ONE, "args": "-y b"}}}, "mcpServers.a.args", "list of texts"),
    ({"mcpServers": {"a": {**ONE, "args": [1]}}}, "mcpServers.a.args", "list of texts"),
    ({"mcpServers": {"a": {**ONE, "args": ["${workspaceFolder}"]}}}, "mcpServers.a.args", "Replace"),
    ({"mcpServers": {"a": {**ONE, "env": {"A": 1}}}}, "mcpServers.a.env", "no text"),
    ({"mcpServers": {"a": {**ONE, "env": {"A": "***"}}}}, "mcpServers.a.env", "no value is stored"),
    ({"servers": {"a": {**ONE, "env": {"A": "${input:key}"}}}}, "servers.a.env", "${input:key}"),
    ({"mcpServers": {"a": {**ONE, "disabled": "no"}}}, "mcpServers.a.disabled", "true nor false"),
    ({"mcpServers": {"a": {**ONE, "type": "grpc"}}}, "mcpServers.a.type", "stdio, sse and http"),
    ({"mcpServers": {"a": {**ONE, "type": "http"}}}, "mcpServers.a.type", "has a url"),
    ({"mcpServers": {"a": {"url": "nowhere"}}}, "mcpServers.a.url", "such as https"),
    ({"mcpServers": {"a": {"url": "https://a.example", "type": "stdio"}}}, "mcpServers.a.type", "has a command"),
    ({"mcpServers": {"a": {"url": "https://a.example", "headers": {"Host": "b"}}}}, "mcpServers.a.headers", "itself"),
    ({"mcpServers": {"a": ONE, "A!": ONE}}, "mcpServers.a", "Two servers have this name"),
    ({"mcpServers": {"!": ONE}}, "mcpServers.!", "needs a letter"),
    ({"mcpServers": {"taken": ONE}}, "mcpServers.taken.name", "has an MCP server of this name"),
]  # fmt: skip


@pytest.fixture
def world() -> World:
    return make_world()


def wrong_answers(world: World, at: str, table: list[tuple[Any, str, str]]) -> list[str]:
    api, wrong = Api(world.user), []
    for body, field, message in table:
        answer = api.ask("post", at, body)
        texts = answer.json().get("fields", {}).get(field, [])
        if answer.status_code != 400 or not any(message in text for text in texts):
            wrong.append(f"{str(body)[:120]} {field}: {answer.status_code} {answer.json()}")
    return wrong


def test_wrong_settings_are_refused_and_the_error_names_the_field(world: World) -> None:
    rows = SERVERS
    assert not (wrong := wrong_answers(world, path(world), rows)), "\n".join(wrong)
    assert not McpServer.objects.exists()


def test_wrong_json_is_refused_its_place_is_named_and_nothing_is_stored(world: World) -> None:
    api = Api(world.user)
    api.post(path(world), {**GIT, "name": "taken"})
    at = path(world, "import")
    assert not (wrong := wrong_answers(world, at, IMPORTS)), "\n".join(wrong)
    half = {"mcpServers": {"good": ONE, "taken": ONE}}
    assert api.post(at, half).status_code == 400
    assert McpServer.objects.count() == 1


# what a program writes, and the servers that come of it: name, transport, command or url, switched on
SHAPES: list[tuple[Any, list[tuple[str, str, str, bool]]]] = [
    (
        {
            "mcpServers": {
                "Brave Search": {"command": "npx", "args": ["-y", "x"], "env": {"K": KEY}}
            }
        },
        [("brave-search", "stdio", "npx", True)],
    ),
    (
        {
            "mcpServers": {
                "a": {"url": "https://a.example/sse", "type": "sse", "headers": {"K": KEY}}
            }
        },
        [("a", "sse", "https://a.example/sse", True)],
    ),
    (
        {
            "inputs": [],
            "servers": {
                "git": {"type": "stdio", "command": "uvx", "args": ["mcp-server-git"]},
                "hub": {"type": "http", "url": "https://hub.example/mcp"},
            },
        },
        [("git", "stdio", "uvx", True), ("hub", "http", "https://hub.example/mcp", True)],
    ),
    ({"mcp": {"servers": {"g": {"command": "g"}}}}, [("g", "stdio", "g", True)]),
    (
        {"mcpServers": {"w": {"serverUrl": "https://w.example", "disabled": True}}},
        [("w", "http", "https://w.example", False)],
    ),
    (
        {"mcpServers": {"s": {"transport": "streamable-http", "url": "https://s.example"}}},
        [("s", "http", "https://s.example", True)],
    ),
    ({"bare": {"command": "b"}}, [("bare", "stdio", "b", True)]),
]


@pytest.mark.parametrize(("pasted", "wanted"), SHAPES)
def test_json_of_other_programs_becomes_servers_with_encrypted_secrets(
    world: World, pasted: Any, wanted: list[tuple[str, str, str, bool]]
) -> None:
    answer = Api(world.user).post(path(world, "import"), pasted)
    rows = answer.json()["results"]
    found = [(r["name"], r["transport"], r["command"] or r["url"], r["enabled"]) for r in rows]
    assert sorted(found) == wanted
    assert KEY not in answer.content.decode() + str(McpServer.objects.values())


def test_exported_json_has_no_secret_and_can_be_imported_when_they_are_filled_in(
    world: World,
) -> None:
    api = Api(world.user)
    api.post(path(world), {**GIT, "env": {"TOKEN": KEY}})
    api.post(path(world), {**LINEAR, "headers": {"X-Key": KEY}, "enabled": False})
    exported = api.get(path(world, "export"))
    assert KEY not in exported.content.decode()
    assert exported.json() == {
        "mcpServers": {
            "git": {"command": "git-mcp", "args": ["--read-only"], "env": {"TOKEN": "***"}},
            "linear": {
                "type": "http",
                "url": LINEAR["url"],
                "headers": {"X-Key": "***"},
                "disabled": True,
            },
        }
    }
    other = make_world("Quarry")
    body = exported.json()
    refused = Api(other.user).post(path(other, "import"), body)
    assert "no value is stored" in refused.json()["fields"]["mcpServers.git.env"][0]
    body["mcpServers"]["git"]["env"]["TOKEN"] = KEY
    body["mcpServers"]["linear"]["headers"]["X-Key"] = KEY
    assert Api(other.user).post(path(other, "import"), body).status_code == 201
    again = Api(other.user).get(path(other, "export"))
    assert again.content == exported.content
