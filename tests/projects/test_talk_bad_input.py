"""Wrong input to the API of comments, docs, notifications and search, and the error that each gets."""

from typing import Any

import pytest
from django.db import transaction

from paca.projects.services import comments, doc_folders
from tests.projects.support import make_doc, make_task
from tests.support.api import Api
from tests.support.world import make_world

pytestmark = pytest.mark.django_db

ZERO = "00000000-0000-0000-0000-000000000000"
P = "/projects/{project}/"
C, ONE_C = f"{P}tasks/1/comments/", f"{P}tasks/1/comments/{{comment}}/"
D, ONE_D = f"{P}docs/", f"{P}docs/{{doc}}/"
F, ONE_F = f"{P}doc-folders/", f"{P}doc-folders/{{folder}}/"
S, N = f"{P}search/", "/notifications/"
REQUIRED = "This field is required."

# method, path, body, status, code; then, for an invalid field, its name and a part of the message
TABLE: list[tuple[Any, ...]] = [
    # comments
    ("GET", f"{P}tasks/{10**30}/comments/", None, 404, "not_found"),
    ("GET", f"{C}?cursor=x", None, 400, "invalid", "cursor", "not one of ours"),
    ("PUT", ONE_C, {}, 405, "method_not_allowed"),
    ("POST", C, {}, 400, "invalid", "text", REQUIRED),
    ("POST", C, {"text": " \n"}, 400, "invalid", "text", "may not be blank"),
    ("POST", C, {"text": None}, 400, "invalid", "text", "may not be null"),
    ("POST", C, {"text": ["a"]}, 400, "invalid", "text", "Not a valid string."),
    ("POST", C, {"text": "a\0b"}, 400, "invalid", "text", "Null characters"),
    ("POST", C, {"text": "\ud800"}, 400, "invalid", "text", "Surrogate characters"),
    ("POST", C, {"text": "x" * 50_001}, 400, "invalid", "text", "no more than 50000"),
    ("POST", C, {"text": "x" * 50_000}, 201, None),
    ("POST", C, {"text": "a", "author": ZERO}, 400, "invalid", "author", "no such field"),
    ("POST", C, {"text": "a", "parent": "x"}, 400, "invalid", "parent", "valid UUID"),
    ("POST", C, {"text": "a", "parent": ZERO}, 404, "not_found"),
    ("POST", C, {"text": "@" * 50_000}, 201, None),
    ("POST", C, {"text": "> " * 20_000 + "@rosa"}, 201, None),
    ("PATCH", ONE_C, {}, 400, "invalid", "text", REQUIRED),
    ("PATCH", ONE_C, {"text": ""}, 400, "invalid", "text", "may not be blank"),
    ("PATCH", ONE_C, {"text": "a", "parent": None}, 400, "invalid", "parent", "no such field"),
    ("DELETE", f"{C}{ZERO}/", None, 404, "not_found"),
    # docs
    ("POST", D, {}, 400, "invalid", "title", REQUIRED),
    ("POST", D, {"title": " "}, 400, "invalid", "title", "may not be blank"),
    ("POST", D, {"title": "x" * 201}, 400, "invalid", "title", "no more than 200"),
    (
        "POST",
        D,
        {"title": "a", "text": "x" * 500_001},
        400,
        "invalid",
        "text",
        "no more than 500000",
    ),
    ("POST", D, {"title": "a", "text": None}, 400, "invalid", "text", "may not be null"),
    ("POST", D, {"title": "a", "folder": "x"}, 400, "invalid", "folder", "valid UUID"),
    ("POST", D, {"title": "a", "folder": ZERO}, 404, "not_found"),
    ("POST", D, {"title": "a", "position": 1e13}, 400, "invalid", "position", "less than"),
    ("POST", D, {"title": "a", "position": "x"}, 400, "invalid", "position", "number"),
    ("POST", D, {"title": "a", "position": "NaN"}, 400, "invalid", "position", ""),
    ("POST", D, {"title": "a", "version": 2}, 400, "invalid", "version", "no such field"),
    ("PATCH", ONE_D, {"title": ""}, 400, "invalid", "title", "may not be blank"),
    ("PATCH", ONE_D, {}, 200, None),
    ("GET", f"{D}?folder=x", None, 400, "invalid", "folder", "Give the id of a folder"),
    ("GET", f"{D}?folder={ZERO}", None, 404, "not_found"),
    ("GET", f"{D}?deleted=maybe", None, 400, "invalid", "deleted", "valid boolean"),
    ("GET", f"{ONE_D}versions/{10**30}/", None, 404, "not_found"),
    ("GET", f"{ONE_D}versions/x/", None, 404, "not_found"),
    ("POST", f"{ONE_D}versions/9/restore/", {}, 404, "not_found"),
    # folders
    ("POST", F, {}, 400, "invalid", "name", REQUIRED),
    ("POST", F, {"name": "Guides"}, 400, "invalid", "name", "a folder of this name"),
    ("POST", F, {"name": "x" * 101}, 400, "invalid", "name", "no more than 100"),
    ("POST", F, {"name": "a", "parent": ZERO}, 404, "not_found"),
    ("PATCH", ONE_F, {"parent": "{folder}"}, 400, "invalid", "parent", "in itself"),
    ("PATCH", ONE_F, {"name": None}, 400, "invalid", "name", "may not be null"),
    # search
    ("GET", S, None, 400, "invalid", "q", REQUIRED),
    ("GET", f"{S}?q=", None, 200, None),
    ("GET", f"{S}?q=%22", None, 200, None),
    ("GET", f"{S}?q=a%00b", None, 400, "invalid", "q", "Null characters"),
    ("GET", f"{S}?q={'a%20' * 2000}", None, 200, None),
    ("GET", f"{S}?q=a&kinds=task,page", None, 400, "invalid", "kinds", "page: use task"),
    ("GET", f"{S}?q=a&kinds=", None, 200, None),
    ("GET", f"{S}?q=a&limit=0", None, 400, "invalid", "limit", "equal to 1"),
    ("GET", f"{S}?q=a&limit=51", None, 400, "invalid", "limit", "equal to 50"),
    # notifications
    ("GET", f"{N}?unread=maybe", None, 400, "invalid", "unread", "valid boolean"),
    ("GET", f"{N}?cursor=x", None, 400, "invalid", "cursor", "not one of ours"),
    ("POST", f"{N}{ZERO}/read/", {}, 404, "not_found"),
]


def test_wrong_input_gets_the_error_of_the_table() -> None:
    world = make_world()
    task, doc = make_task(world), make_doc(world)
    names = {
        "project": world.project.pk,
        "comment": comments.add(task, text="here", by=world.owner).pk,
        "doc": doc.pk,
        "folder": doc_folders.create(world.project, name="Guides", by=world.owner).pk,
    }
    api = Api(world.user)
    wrong = []
    for method, path, body, status, code, *field in TABLE:
        if body and body.get("parent") == "{folder}":
            body = {"parent": str(names["folder"])}
        with transaction.atomic():
            answer = api.ask(method, path.format(**names), body)
            transaction.set_rollback(True)
        found = answer.json() if answer.content else {}
        problems = found.get("fields", {}).get(field[0], [""])[0] if field else ""
        fits = (answer.status_code, found.get("code") if status >= 400 else None) == (status, code)
        if not fits or (
            field and (field[0] not in found.get("fields", {}) or field[1] not in problems)
        ):
            wrong.append(f"{method} {path} {str(body)[:60]}: {answer.status_code} {found}"[:400])
    assert not wrong, "\n".join(wrong)
