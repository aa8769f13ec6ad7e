"""The OpenAPI schema of the API, and the page that shows it."""

import json
import re

import pytest
from drf_spectacular.drainage import GENERATOR_STATS

from paca.accounts.api import docs, schema
from tests.security.access_routes import all_routes
from tests.support.api import Api


@pytest.fixture(scope="module")
def openapi() -> dict:
    docs.openapi_schema.cache_clear()
    GENERATOR_STATS.reset()
    with GENERATOR_STATS.silence():
        found = json.loads(docs.openapi_schema())
    assert not GENERATOR_STATS, GENERATOR_STATS._warn_cache
    return found


def test_openapi_schema_has_every_route_of_the_api(openapi: dict) -> None:
    in_schema = {
        f"{method.upper()} {path}"
        for path, methods in openapi["paths"].items()
        for method in methods
    }
    routes = {row for row in all_routes() if " /api/v1/" in row}
    assert in_schema == routes - {
        "GET /api/v1/schema/",
        "GET /api/v1/docs/",
        "GET /api/v1/events/schema/",
    }


def test_openapi_schema_describes_lists_with_their_pages(openapi: dict) -> None:
    lists = [
        content["application/json"]["schema"]["$ref"]
        for path, methods in openapi["paths"].items()
        if path.endswith(("/projects/", "/members/", "/agents/", "/tools/", "/roles/", "/tokens/"))
        for content in [methods["get"]["responses"]["200"]["content"]]
    ]
    assert len(lists) >= 6
    for reference in lists:
        component = openapi["components"]["schemas"][reference.rpartition("/")[2]]
        assert set(component["properties"]) >= {"results", "next", "previous"}


def test_openapi_schema_names_headers_only_where_they_have_an_effect(openapi: dict) -> None:
    def headers(path: str, method: str) -> set[str]:
        operation = openapi["paths"][path][method]
        return {p["name"] for p in operation.get("parameters", []) if p["in"] == "header"}

    path = "/api/v1/projects/{project}/agents/"
    assert headers(path, "post") == {"Idempotency-Key"}
    assert headers(path + "{agent_id}/", "patch") == {"If-Match"}
    assert headers(path + "{agent_id}/test-connection/", "post") == set()
    assert headers("/api/v1/projects/{project}/tasks/bulk/", "patch") == set()


def test_openapi_schema_lists_every_error_code_with_its_meaning(openapi: dict) -> None:
    text = openapi["info"]["description"]
    for code, (status, meaning) in schema.error_codes().items():
        assert f"| `{code}` | {status} | {meaning} |" in text
        assert meaning
    assert {"not_found", "last_owner", "changed_meanwhile", "throttled"} <= set(
        schema.error_codes()
    )


def test_error_code_has_one_status() -> None:
    seen: dict[str, int] = {}
    for error in schema.error_classes():
        assert seen.setdefault(error.code, int(error.status)) == int(error.status), error


@pytest.mark.django_db
def test_docs_page_runs_only_our_own_scripts() -> None:
    answer = Api().get("/docs/")
    content = answer.content.decode()
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"].split("; ")
    assert re.findall(r"<script(?![^>]*src=)", content) == []
    sources = re.findall(r'(?:src|href)="([^"]+)"', content)
    assert sources
    assert all(source.startswith("/") for source in sources)
    assert Api().get("/docs/?script=").headers["Content-Type"] == "application/javascript"
