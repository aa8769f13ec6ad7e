"""Wrong input to the API of tasks, and the error that each gets."""

import base64
import json
from typing import Any

import pytest
from django.db import transaction

from paca.projects.services import tasks
from tests.support.api import Api
from tests.support.world import make_world

pytestmark = pytest.mark.django_db

ZERO = "00000000-0000-0000-0000-000000000000"
T, ONE, BULK = "tasks/", "tasks/1/", "tasks/bulk/"


def cursor(*parts: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


# method, path, body, status, code; then, for an invalid field, its name and a part of the message
TABLE: list[tuple[Any, ...]] = [
    # paths
    ("GET", "tasks/0/", None, 404, "not_found"),
    ("GET", f"tasks/{10**30}/", None, 404, "not_found"),
    ("GET", "tasks/one/", None, 404, "not_found"),
    ("PUT", ONE, {}, 405, "method_not_allowed"),
    ("GET", f"{ONE}attachments/{ZERO}/download/", None, 404, "not_found"),
    ("POST", f"tasks/{10**30}/restore/", {}, 404, "not_found"),
    # filters
    ("GET", f"{T}?status=x", None, 400, "invalid", "status", "Give an id."),
    ("GET", f"{T}?category=x", None, 400, "invalid", "category", "not one of backlog"),
    ("GET", f"{T}?priority=9", None, 400, "invalid", "priority", "not one of none"),
    ("GET", f"{T}?assignee=bob", None, 400, "invalid", "assignee", "Give an id."),
    ("GET", f"{T}?sprint=x", None, 400, "invalid", "sprint", "Give an id."),
    ("GET", f"{T}?parent=PACA-1", None, 400, "invalid", "parent", "number of a task"),
    ("GET", f"{T}?parent={10**30}", None, 400, "invalid", "parent", "number of a task"),
    ("GET", f"{T}?search={'x' * 60_000}", None, 400, "invalid", "search", "at most 200"),
    ("GET", f"{T}?parent=%C2%B2", None, 400, "invalid", "parent", "number of a task"),
    ("GET", f"{T}?label=a%00b", None, 400, "invalid", "label", "characters"),
    ("GET", f"{T}?search=a%00b", None, 400, "invalid", "search", "characters"),
    ("GET", f"{T}?search={10**30}", None, 200, None),
    ("GET", f"{T}?search=%25_%5C", None, 200, None),
    ("GET", f"{T}?{'label=a&' * 51}", None, 400, "invalid", "label", "at most 50"),
    ("GET", f"{T}?ordering=weight", None, 400, "invalid", "ordering", "Use one of number"),
    ("GET", f"{T}?ordering=--number", None, 400, "invalid", "ordering", "Use one of"),
    ("GET", f"{T}?limit=many", None, 200, None),
    ("GET", "tasks/board/?limit=-1", None, 200, None),
    ("GET", "tasks/board/?status=x", None, 400, "invalid", "status", "Give an id."),
    # cursors
    *(
        ("GET", f"{T}?cursor={bad}{more}", None, 400, "invalid", "cursor", "not one of ours")
        for bad, more in (
            ("nonsense", ""),
            (cursor(1), ""),
            (cursor("number", False, 1, 1), ""),
            (cursor("-number", 1, 1, 1), ""),
            (cursor("-number", False, 10**30, 1), ""),
            (cursor("-number", False, True, 1), ""),
            (cursor("-number", False, 1, {}), ""),
            (cursor("title", False, "a\0b", 1), "&ordering=title"),
            (cursor("title", False, "\ud800", 1), "&ordering=title"),
            (cursor("position", False, float("inf"), 1), "&ordering=position"),
            (cursor("position", False, "x", 1), "&ordering=position"),
            (cursor("due_date", False, "today", 1), "&ordering=due_date"),
            (cursor("created_at", False, "2026-01-01T00:00", 1), "&ordering=created_at"),
            (cursor("created_at", False, "9999-12-31T23:59-14:00", 1), "&ordering=created_at"),
        )
    ),
    # fields
    ("POST", T, {}, 400, "invalid", "title", "required"),
    ("POST", T, [], 400, "invalid", "body", "Expected a dictionary"),
    ("POST", T, {"title": " "}, 400, "invalid", "title", "blank"),
    ("POST", T, {"title": "x" * 201}, 400, "invalid", "title", "200 characters"),
    ("POST", T, {"title": "a\0b"}, 400, "invalid", "title", "Null characters"),
    ("POST", T, {"title": "x", "number": 7}, 400, "invalid", "number", "no such field"),
    ("POST", T, {"title": "x", "reporter": ZERO}, 400, "invalid", "reporter", "no such field"),
    ("PATCH", ONE, {"status": "Done"}, 400, "invalid", "status", "no such field"),
    ("PATCH", ONE, {"status_id": "Done"}, 400, "invalid", "status_id", "valid UUID"),
    ("PATCH", ONE, {"status_id": ZERO}, 404, "not_found"),
    ("PATCH", ONE, {"status_id": None}, 400, "invalid", "status_id", "null"),
    ("PATCH", ONE, {"type_id": ZERO}, 404, "not_found"),
    ("PATCH", ONE, {"sprint_id": ZERO}, 404, "not_found"),
    ("PATCH", ONE, {"assignee_ids": [ZERO]}, 404, "not_found"),
    ("PATCH", ONE, {"assignee_ids": ["bob"]}, 400, "invalid", "assignee_ids.0", "valid UUID"),
    ("PATCH", ONE, {"assignee_ids": [ZERO] * 21}, 400, "invalid", "assignee_ids", "no more than"),
    ("PATCH", ONE, {"priority": 3}, 400, "invalid", "priority", "not a valid choice"),
    ("PATCH", ONE, {"parent": 1}, 400, "invalid", "parent", "cannot be its parent"),
    ("PATCH", ONE, {"parent": 99}, 400, "invalid", "parent", "There is no task HARB-99."),
    ("PATCH", ONE, {"parent": 10**30}, 400, "invalid", "parent", "less than or equal"),
    ("PATCH", ONE, {"parent": "HARB-1"}, 400, "invalid", "parent", "valid integer"),
    ("PATCH", ONE, {"blocked_by": [1]}, 400, "invalid", "blocked_by", "is this task"),
    ("PATCH", ONE, {"blocked_by": [2, 99]}, 400, "invalid", "blocked_by", "no task HARB-99"),
    ("PATCH", ONE, {"blocked_by": 2}, 400, "invalid", "blocked_by", "Expected a list"),
    ("PATCH", ONE, {"labels": [""]}, 400, "invalid", "labels.0", "blank"),
    ("PATCH", ONE, {"labels": ["x" * 51]}, 400, "invalid", "labels.0", "50 characters"),
    ("PATCH", ONE, {"labels": ["a\ud800"]}, 400, "invalid", "labels.0", "Surrogate"),
    ("PATCH", ONE, {"story_points": 1001}, 400, "invalid", "story_points", "1000"),
    ("PATCH", ONE, {"story_points": 1.5}, 400, "invalid", "story_points", "integer"),
    ("PATCH", ONE, {"due_date": "tomorrow"}, 400, "invalid", "due_date", "wrong format"),
    ("PATCH", ONE, {"start_date": "2026-02-02", "due_date": "2026-02-01"}, 400, "invalid",
     "due_date", "before the start date"),
    ("PATCH", ONE, {"position": "Infinity"}, 400, "invalid", "position", "valid number"),
    ("PATCH", ONE, {"position": "NaN"}, 400, "invalid", "position", "valid number"),
    ("PATCH", ONE, {"position": 1, "after": 2}, 400, "invalid", "after", "only one of"),
    ("PATCH", ONE, {"after": 1}, 400, "invalid", "after", "another task"),
    ("PATCH", ONE, {"before": 99}, 400, "invalid", "before", "no task HARB-99"),
    # many tasks
    ("PATCH", BULK, {}, 400, "invalid", "numbers", "required"),
    ("PATCH", BULK, {"numbers": [], "changes": {}}, 400, "invalid", "numbers", "at least 1"),
    ("PATCH", BULK, {"numbers": [1] * 201, "changes": {}}, 400, "invalid", "numbers", "200"),
    ("PATCH", BULK, {"numbers": [1], "changes": []}, 400, "invalid", "changes", "dictionary"),
    ("PATCH", BULK, {"numbers": [1], "changes": {"x": 1}}, 400, "invalid", "changes.x", "no such"),
    ("PATCH", BULK, {"numbers": [1, 9], "changes": {"title": "x"}}, 400, "invalid", "HARB-9",
     "no such task"),
    # statuses, types and sprints
    ("POST", "statuses/", {"name": "New"}, 400, "invalid", "category", "required"),
    ("POST", "statuses/", {"name": "New", "category": "x"}, 400, "invalid", "category", "choice"),
    ("POST", "statuses/", {"name": "Done", "category": "done"}, 400, "invalid", "name",
     "a status of this name"),
    ("PATCH", "statuses/", {"ids": []}, 400, "invalid", "ids", "at least 1"),
    ("PATCH", "statuses/", {"ids": [ZERO]}, 404, "not_found"),
    ("DELETE", f"statuses/{ZERO}/", None, 404, "not_found"),
    ("POST", "task-types/", {"name": "Bug"}, 400, "invalid", "name", "a task type of this name"),
    ("POST", "sprints/", {"name": ""}, 400, "invalid", "name", "blank"),
    ("POST", "sprints/", {"name": "S", "start_date": "2026-02-02", "end_date": "2026-02-01"}, 400,
     "invalid", "end_date", "before the start date"),
    ("POST", f"sprints/{ZERO}/complete/", {}, 404, "not_found"),
]  # fmt: skip


def test_wrong_input_is_answered_as_the_table_says() -> None:
    world = make_world()
    for _ in range(2):
        tasks.create(world.project, title="Paint", by=world.owner)
    api, wrong = Api(world.user), []
    for method, path, body, status, code, *error in TABLE:
        with transaction.atomic():
            answer = api.ask(method, f"/projects/{world.project.pk}/{path}", body)
            transaction.set_rollback(True)
        shown: Any = answer.json()
        field, message = error or ("", "")
        is_named = not field or any(
            message in text for text in shown.get("fields", {}).get(field, [])
        )
        if (answer.status_code, shown.get("code")) != (status, code) or not is_named:
            wrong.append(f"{method} {path[:80]} {str(body)[:80]}: {answer.status_code} {shown}")
    assert not wrong, "\n".join(wrong)
