"""Wrong input to the API, and the error that each gets: never a 5xx, never HTML."""

from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction

from paca.common.request_body import MAX_BODY_BYTES
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db

REQUIRED = "This field is required."
AGENT = {"name": "Bo", "handle": "bo", "model": "demo/guide"}
P = "/projects/{project}/"
A = f"{P}agents/"
ONE = f"{A}{{agent}}/"

# method, path, body, status, code; then, for an invalid field, its name and a part of the message
TABLE: list[tuple[Any, ...]] = [
    # paths
    ("GET", "/nothing/", None, 404, "not_found"),
    ("GET", "/projects", None, 404, "not_found"),
    ("GET", "/projects/a%0Ab/", None, 404, "not_found"),
    ("GET", "/projects/no-uuid/", None, 404, "not_found"),
    ("GET", f"{A}00000000-0000-0000-0000-000000000000/", None, 404, "not_found"),
    ("PUT", P, {}, 405, "method_not_allowed"),
    ("POST", ONE, {}, 405, "method_not_allowed"),
    # pages
    ("GET", f"{A}?cursor=nonsense", None, 400, "invalid", "cursor", "not one of ours"),
    ("GET", f"{A}?limit=-1", None, 200, None),
    ("GET", f"{A}?limit=many", None, 200, None),
    # JSON types
    ("POST", A, [], 400, "invalid", "body", "Expected a dictionary"),
    ("POST", A, "text", 400, "invalid", "body", "Expected a dictionary"),
    ("POST", A, {}, 400, "invalid", "name", REQUIRED),
    ("POST", A, AGENT, 400, "invalid", "role_id", REQUIRED),
    ("POST", A, {**AGENT, "role_id": "x"}, 400, "invalid", "role_id", "Must be a valid UUID."),
    ("POST", A, {**AGENT, "role_id": "{zero}"}, 404, "not_found"),
    (
        "POST",
        A,
        {**AGENT, "role_id": "{role}", "project_role_id": "{zero}"},
        400,
        "invalid",
        "project_role_id",
        "Differs from role_id.",
    ),
    # fields of an agent
    ("PATCH", ONE, {"nmae": "Bo"}, 400, "invalid", "nmae", "There is no such field."),
    ("PATCH", ONE, {"id": "{zero}"}, 400, "invalid", "id", "There is no such field."),
    ("PATCH", ONE, {"encrypted_key": "x"}, 400, "invalid", "encrypted_key", "no such field"),
    ("PATCH", ONE, {"name": ""}, 400, "invalid", "name", "may not be blank"),
    ("PATCH", ONE, {"name": None}, 400, "invalid", "name", "may not be null"),
    ("PATCH", ONE, {"name": ["Bo"]}, 400, "invalid", "name", "Not a valid string."),
    ("PATCH", ONE, {"name": "x" * 101}, 400, "invalid", "name", "at most 100 characters"),
    ("PATCH", ONE, {"name": "a\0b"}, 400, "invalid", "name", "Null characters"),
    ("PATCH", ONE, {"name": "\ud800"}, 400, "invalid", "name", "Surrogate characters"),
    ("PATCH", ONE, {"handle": "two words"}, 400, "invalid", "handle", "small letters"),
    ("PATCH", ONE, {"handle": "bo\n"}, 200, None),
    ("PATCH", ONE, {"handle": "-bo"}, 400, "invalid", "handle", "small letters"),
    ("PATCH", ONE, {"handle": "ädä"}, 400, "invalid", "handle", "small letters"),
    ("PATCH", ONE, {"handle": "ada-harbor"}, 400, "invalid", "handle", "has this username"),
    ("PATCH", ONE, {"status": "asleep"}, 400, "invalid", "status", "not a valid choice"),
    ("PATCH", ONE, {"verification": "often"}, 400, "invalid", "verification", "not a valid"),
    ("PATCH", ONE, {"memory": "always"}, 400, "invalid", "memory", "not a valid"),
    ("PATCH", ONE, {"memory": None}, 400, "invalid", "memory", "may not be null"),
    ("PATCH", ONE, {"auto_start": "later"}, 400, "invalid", "auto_start", "valid boolean"),
    ("PATCH", ONE, {"remember_at_end": "now"}, 400, "invalid", "remember_at_end", "valid boolean"),
    ("PATCH", ONE, {"verification": None}, 400, "invalid", "verification", "may not be null"),
    ("PATCH", ONE, {"prompts": {"hint": "x" * 1001}}, 400, "invalid", "prompts.hint", "1000"),
    ("PATCH", ONE, {"prompts": {"hint": 5}}, 200, None),
    (
        "PATCH",
        ONE,
        {"prompts": {"hint": ["x"]}},
        400,
        "invalid",
        "prompts.hint",
        "Not a valid string",
    ),
    (
        "PATCH",
        ONE,
        {"prompts": {"verification": "x" * 2001}},
        400,
        "invalid",
        "prompts.verification",
        "2000",
    ),
    ("PATCH", ONE, {"model": "gpt"}, 400, "invalid", "model", "provider/model"),
    ("PATCH", ONE, {"model": "acme/x"}, 400, "invalid", "model", "is not a known model"),
    ("PATCH", ONE, {"model": "demo/x"}, 400, "invalid", "model", "There is one demo model"),
    ("PATCH", ONE, {"base_url": "nonsense"}, 400, "invalid", "base_url", "such as https://"),
    ("PATCH", ONE, {"base_url": "file:///etc"}, 400, "invalid", "base_url", "such as https://"),
    ("PATCH", ONE, {"base_url": "http://a:b@c/"}, 400, "invalid", "base_url", "such as"),
    ("PATCH", ONE, {"base_url": "http://["}, 400, "invalid", "base_url", "such as https://"),
    ("PATCH", ONE, {"llm_api_key": "a b"}, 400, "invalid", "llm_api_key", "no spaces"),
    ("PATCH", ONE, {"llm_api_key": "a\nb"}, 400, "invalid", "llm_api_key", "no spaces"),
    ("PATCH", ONE, {"llm_api_key": "ключ"}, 400, "invalid", "llm_api_key", "plain"),
    ("PATCH", ONE, {"llm_api_key": "x" * 8001}, 400, "invalid", "llm_api_key", "8000"),
    ("PATCH", ONE, {"parameters": []}, 400, "invalid", "parameters", "Expected a dictionary"),
    ("PATCH", ONE, {"parameters": {"x": 1}}, 400, "invalid", "parameters", "there are temper"),
    *(
        (
            *("PATCH", ONE, {"parameters": {name: model}}),
            *(400, "invalid"),
            *("parameters", said),
        )
        for name in ("compaction_model", "title_model")
        for model, said in [
            *(
                (bad, "must be a model, written")
                for bad in (1, [], "", "x", "/x", "x/", "a/\n", f"a/{'x' * 200}")
            ),
            ("elsewhere/small", "must be a model of"),
            ("a/\0", "characters that no text can have"),
        ]
    ),
    ("PATCH", ONE, {"fallback_model": "gpt"}, 400, "invalid", "fallback_model", "provider/model"),
    (
        "PATCH",
        ONE,
        {"fallback_model": "acme/x"},
        400,
        "invalid",
        "fallback_model",
        "has no fallback",
    ),
    ("PATCH", ONE, {"fallback_model": []}, 400, "invalid", "fallback_model", "valid string"),
    (
        "PATCH",
        ONE,
        {"fallback_api_key": "sk-1"},
        400,
        "invalid",
        "fallback_model",
        "Name the model",
    ),
    ("PATCH", ONE, {"fallback": {"base_url": "x"}}, 400, "invalid", "fallback_model", "Name the"),
    ("PATCH", ONE, {"fallback": []}, 400, "invalid", "fallback", "Expected"),
    ("PATCH", ONE, {"fallback": {"temperature": 1}}, 400, "invalid", "fallback.temperature", ""),
    ("PATCH", ONE, {"efforts": []}, 400, "invalid", "efforts", "Expected a dictionary"),
    *(
        ("PATCH", ONE, {"efforts": efforts}, 400, "invalid", "efforts", said)
        for efforts, said in [
            ({"standard": {}}, "is no effort that can be set"),
            ({"heroic": {}}, "is no effort that can be set"),
            ({"quick": 1}, "quick must be an object"),
            ({"quick": {"x": 1}}, "x is not known"),
            ({"quick": {"temperature": 1}}, "temperature is not known"),
            ({"quick": {"steps": 0}}, "steps must be between"),
            ({"quick": {"steps": "9"}}, "steps must be a whole number"),
            ({"quick": {"model": 1}}, "model must be a model"),
            ({"quick": {"model": "elsewhere/small"}}, "must be a model of"),
            ({"quick": {"effort": "quick"}}, "effort must be one of"),
        ]
    ),
    (
        "PATCH",
        ONE,
        {"parameters": {"temperature": "hot"}},
        400,
        "invalid",
        "parameters",
        "temperature must be a number.",
    ),
    (
        "PATCH",
        ONE,
        {"parameters": {"temperature": True}},
        400,
        "invalid",
        "parameters",
        "temperature must be a number.",
    ),
    (
        "PATCH",
        ONE,
        {"parameters": {"max_tokens": 0.5}},
        400,
        "invalid",
        "parameters",
        "max_tokens must be a whole number.",
    ),
    (
        "PATCH",
        ONE,
        {"parameters": {"top_p": 1.5}},
        400,
        "invalid",
        "parameters",
        "top_p must be between 0 and 1.",
    ),
    (
        "PATCH",
        ONE,
        {"parameters": {"effort": ["high"]}},
        400,
        "invalid",
        "parameters",
        "effort must be one of low",
    ),
    ("PATCH", ONE, {"prompts": "Hi"}, 400, "invalid", "prompts", "Expected a dictionary"),
    ("PATCH", ONE, {"prompts": {"x": ""}}, 400, "invalid", "prompts.x", "no such field"),
    (
        "PATCH",
        ONE,
        {"prompts": {"system": "x" * 50_001}},
        400,
        "invalid",
        "prompts.system",
        "at most 50000 characters",
    ),
    ("PATCH", ONE, {"limits": {"steps": 0}}, 400, "invalid", "limits.steps", "equal to 1."),
    ("PATCH", ONE, {"limits": {"steps": "x"}}, 400, "invalid", "limits.steps", "integer"),
    ("PATCH", ONE, {"limits": {"steps": 1001}}, 400, "invalid", "limits.steps", "1000"),
    ("PATCH", ONE, {"limits": {"steps": 10**30}}, 400, "invalid", "limits.steps", "1000"),
    ("PATCH", ONE, {"limits": {"tokens": 1}}, 400, "invalid", "limits.tokens", "1000"),
    ("PATCH", ONE, {"limits": {"cost_usd": 0}}, 400, "invalid", "limits.cost_usd", "0.01"),
    ("PATCH", ONE, {"limits": {"cost_usd": "NaN"}}, 400, "invalid", "limits.cost_usd", "number"),
    ("PATCH", ONE, {"limits": {"cost_usd": 1e99}}, 400, "invalid", "limits.cost_usd", "digits"),
    ("PATCH", ONE, {"limits": {"seconds": 9}}, 400, "invalid", "limits.seconds", "10"),
    ("PATCH", ONE, {"limits": {"concurrent": 11}}, 400, "invalid", "limits.concurrent", "10"),
    ("PATCH", ONE, {"limits": {"concurrent": None}}, 400, "invalid", "limits.concurrent", "null"),
    ("PATCH", ONE, {"sandbox": {"memory_mib": 1}}, 400, "invalid", "sandbox.memory_mib", "64"),
    ("PATCH", ONE, {"sandbox": {"disk_mib": 1}}, 400, "invalid", "sandbox.disk_mib", "16"),
    ("PATCH", ONE, {"sandbox": {"files": 1}}, 400, "invalid", "sandbox.files", "100"),
    ("PATCH", ONE, {"sandbox": {"files": 10**12}}, 400, "invalid", "sandbox.files", "At most"),
    ("PATCH", ONE, {"allowed_commands": ["a;b"]}, 400, "invalid", "allowed_commands", "program"),
    ("PATCH", ONE, {"sandbox": {"cpus": 0}}, 400, "invalid", "sandbox.cpus", "0.1"),
    ("PATCH", ONE, {"git": {"email": "nobody"}}, 400, "invalid", "git.email", "valid email"),
    ("PATCH", ONE, {"git": {"name": ""}}, 400, "invalid", "git.name", "blank"),
    # other objects
    ("POST", "/projects/", {}, 400, "invalid", "name", REQUIRED),
    ("POST", "/projects/", {"name": "Harbor"}, 400, "invalid", "name", "a project of this name"),
    ("PATCH", P, {"deleted_at": None}, 400, "invalid", "deleted_at", "no such field"),
    ("POST", f"{P}members/", {"username": "x"}, 400, "invalid", "role_id", REQUIRED),
    (
        "POST",
        f"{P}roles/",
        {"name": "R", "permissions": ["agents:fly"]},
        400,
        "invalid",
        "permissions",
        "agents:fly: no such permission.",
    ),
    (
        "POST",
        f"{P}roles/",
        {"name": "R", "permissions": "*"},
        400,
        "invalid",
        "permissions",
        "Expected a list",
    ),
    (
        "POST",
        f"{P}roles/",
        {"name": "Owner", "permissions": []},
        400,
        "invalid",
        "name",
        "a role of this name",
    ),
    ("POST", "/tokens/", {"name": ""}, 400, "invalid", "name", "blank"),
    ("POST", "/tokens/", {"name": "x", "scopes": ["all"]}, 400, "invalid", "scopes", "all: no"),
    ("POST", "/tokens/", {"name": "x", "lasts_days": 0}, 400, "invalid", "lasts_days", "1"),
]


@pytest.fixture
def world() -> World:
    cache.clear()
    return make_world()


def insert_ids(value: Any, names: dict[str, str]) -> Any:
    """The body with ids in place of their names in braces."""
    if isinstance(value, str) and value.startswith("{"):
        return names[value.strip("{}")]
    if isinstance(value, dict):
        return {name: insert_ids(item, names) for name, item in value.items()}
    return value


def difference_of(row: tuple[Any, ...], world: World, api: Api) -> str:
    """How the answer differs from the row; empty if it does not."""
    method, path, body, status, code, *error = row
    names = {
        "project": str(world.project.pk),
        "agent": str(world.agent.pk),
        "role": str(world.role("agent").pk),
        "zero": "00000000-0000-0000-0000-000000000000",
    }
    with transaction.atomic():
        answer = api.ask(method, path.format(**names), insert_ids(body, names))
        transaction.set_rollback(True)
    shown: Any = answer.json()
    if (answer.status_code, shown.get("code")) != (status, code):
        return str((answer.status_code, shown))
    if code and not (shown["detail"] and shown["request_id"] == answer.headers["X-Request-ID"]):
        return f"no detail or request id: {shown}"
    field, message = error or ("", "")
    if field and not any(message in text for text in shown["fields"].get(field, [])):
        return str(shown["fields"])
    return ""


def test_wrong_input_is_answered_as_the_table_says(world: World) -> None:
    api = Api(world.user)
    found = {
        str(row): difference for row in TABLE if (difference := difference_of(row, world, api))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("body", "kind", "status", "code"),
    [
        ("{", "application/json", 400, "malformed"),
        (b"\xff\xfe", "application/json", 400, "malformed"),
        ("NaN", "application/json", 400, "malformed"),
        ("[" * 100_000, "application/json", 400, "malformed"),
        ('"' + "x" * MAX_BODY_BYTES + '"', "application/json", 413, "too_large"),
        ("name=x", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        ("<a/>", "text/xml", 415, "unsupported_media_type"),
    ],
)
def test_body_that_is_not_json_is_refused(
    body: Any, kind: str, status: int, code: str, world: World
) -> None:
    client = Api(world.user).client
    answer = client.generic("POST", "/api/v1/projects/", body, kind)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_accept_header_without_json_is_refused(world: World) -> None:
    answer = Api(world.user).get("/projects/", Accept="text/html")
    assert (answer.status_code, answer.json()["code"]) == (406, "not_acceptable")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("request-1234", True),
        ("short", False),
        ("x" * 65, False),
        ("with space", False),
        ('"><script>', False),
    ],
)
def test_request_id_from_a_client_is_kept_only_if_it_is_harmless(given: str, kept: bool) -> None:
    answer = Api().get("/projects/", X_Request_ID=given)
    assert (answer.headers["X-Request-ID"] == given) is kept
    assert answer.json()["request_id"] == answer.headers["X-Request-ID"]


def test_internal_error_shows_the_request_id_and_not_the_reason(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("the secret reason")

    monkeypatch.setattr("paca.projects.selectors.get_membership", broken)
    api = Api(world.user, raise_request_exception=False)
    answer = api.get(f"/projects/{world.project.pk}/")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert answer.json()["request_id"] == answer.headers["X-Request-ID"]
    assert "secret reason" not in answer.content.decode()
