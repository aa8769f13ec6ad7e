"""Odd input in every parameter and field that the API documents, and in the pages: never an error of the server."""

import base64
import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from django.core.cache import cache
from django.db import transaction
from django.test import Client

from tests.security import two_projects
from tests.security.two_projects import TwoProjects

pytestmark = pytest.mark.django_db


def cursor(text: str) -> str:
    """What the API's own cursors look like."""
    return base64.b64encode(text.encode("utf-8", "surrogateescape")).decode()


TEXTS = ["\x00", "\ud800", "٣", "²", "9" * 5000, "99999999999999999999", "-1", "nan", "%"]
CURSORS = [
    cursor(position)
    for position in (
        "p=2026",
        "p=",
        "p=\udcff",
        "p=\x00",
        "p=0001-01-01 00:00:00+23:59",
        "o=99999999999999999999&p=2026-01-01 00:00:00",
        "o=-5&p=2026-01-01 00:00:00",
    )
]
ADDRESSES = ["http://a：80/", "http://[::1", "http://a:99999999/", "http://\u2100.example/"]
VALUES: list[Any] = [
    "\x00",
    "\ud800",
    *ADDRESSES,
    "9" * 5000,
    10**30,
    float("nan"),
    None,
    [],
    {"": 0},
    [[]],
]
# It would call the server that the base_url names.
EXCLUDED = ("test-connection",)
PAGES = ["/?agent=", "/accounts/login/?next=", "/link/"]


@pytest.fixture
def projects() -> Iterator[TwoProjects]:
    cache.clear()
    yield two_projects.make_two_projects()
    cache.clear()


@pytest.fixture
def browser(projects: TwoProjects) -> Client:
    found = Client(raise_request_exception=False)
    found.force_login(projects.a.owner)
    return found


@pytest.fixture
def operations(browser: Client) -> list[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """Method, path, definition and all schemas of each operation that the API documents."""
    schema = browser.get("/api/v1/schema/?format=json").json()
    return [
        (method, path, operation, schema["components"]["schemas"])
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
        if not any(each in path for each in EXCLUDED)
    ]


def send(browser: Client, method: str, path: str, body: Any = None) -> str:
    """Send a request and undo it; gives a line for an error of the server, else an empty text."""
    content = "" if body is None else json.dumps(body)
    try:
        with transaction.atomic():
            answer = browser.generic(method.upper(), path, content, content_type="application/json")
            transaction.set_rollback(True)
    except UnicodeEncodeError:
        return ""  # the client cannot send it
    return (
        f"{answer.status_code} {method} {path[:200]} {content[:200]}"
        if answer.status_code >= 500
        else ""
    )


def check(browser: Client, requests: Iterator[tuple[Any, ...]]) -> None:
    failed = [line for request in requests if (line := send(browser, *request))]
    assert not failed, "\n".join(failed)


def filled(path: str, projects: TwoProjects, **odd: str) -> str:
    """The path with ids of objects that exist, where there are some."""
    return path.format_map(defaultdict(lambda: "0", {**projects.a.ids, **odd}))


def query_text(value: str) -> str:
    return quote(value, errors="surrogatepass")


@pytest.mark.parametrize("position", ["2026", "", "\x00", "0001-01-01 00:00:00+23:59"])
def test_cursor_that_is_not_ours_is_refused(browser, projects, position):
    answer = browser.get("/api/v1/projects/", {"cursor": cursor(f"p={position}")})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert "not one of ours" in answer.json()["fields"]["cursor"][0]


def test_odd_query_parameters_are_no_errors_of_the_server(browser, operations, projects):
    def requests() -> Iterator[tuple[Any, ...]]:
        for method, path, operation, _ in operations:
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "query":
                    for text in CURSORS if parameter["name"] == "cursor" else TEXTS:
                        query = f"{parameter['name']}={query_text(text)}"
                        yield method, f"{filled(path, projects)}?{query}"

    check(browser, requests())


def test_odd_parts_of_a_path_are_no_errors_of_the_server(browser, operations, projects):
    def requests() -> Iterator[tuple[Any, ...]]:
        for method, path, operation, _ in operations:
            for parameter in operation.get("parameters", []):
                if parameter["in"] == "path":
                    for text in TEXTS:
                        odd = {parameter["name"]: query_text(text)}
                        yield method, filled(path, projects, **odd)

    check(browser, requests())


def test_odd_fields_are_no_errors_of_the_server(browser, operations, projects):
    def requests() -> Iterator[tuple[Any, ...]]:
        for method, path, operation, schemas in operations:
            content = operation.get("requestBody", {}).get("content", {})
            reference = content.get("application/json", {}).get("schema", {}).get("$ref", "")
            definition = schemas.get(reference.rpartition("/")[2], {})
            names = definition.get("properties", {})
            for value in VALUES if names else ():
                yield method, filled(path, projects), dict.fromkeys(names, value)

    check(browser, requests())


def test_odd_parameters_of_pages_are_no_errors_of_the_server(browser, projects):
    conversation = f"/conversations/{projects.a.ids['conversation_id']}/"
    addresses = [*PAGES, *(f"/?{name}=" for name in ("q", "page")), f"{conversation}?after="]
    requests = (
        ("get", each + query_text(text)) for each in addresses for text in TEXTS + ADDRESSES
    )
    check(browser, requests)
