"""Two people who change the same thing at once: one change counts, and the other person sees both values."""

import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import Any

import pytest

from paca.projects.models import DocFolder, Sprint
from paca.projects.services import roles
from tests.database.concurrency import run_concurrently
from tests.projects.support import make_member
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db(transaction=True)
# A change that holds no lock meets the other between its check and its write, well within this time.
MEETING_SECONDS = 0.5


def a_role(here: World) -> Any:
    return roles.create(here.project, name="Diver", permissions=["tasks:read"], by=here.owner)


def a_person(here: World) -> Any:
    make_member(here, "mate")
    return here.project.workspace.members.get(user__username="mate")


# The module of the view, its address, the row, and what each of the two sends.
CHANGES: dict[
    str, tuple[str, str, Callable[[World], Any], Callable[[World, int], dict[str, Any]]]
] = {
    "role": ("projects.api.roles", "roles/{}/", a_role, lambda _, n: {"name": f"New {n}"}),
    "member": (
        "projects.api.members",
        "members/{}/",
        lambda here: make_member(here, "mate"),
        lambda here, n: {"role_id": str(here.role(("viewer", "manager")[n]).pk)},
    ),
    "status": (
        "projects.api.statuses",
        "statuses/{}/",
        lambda here: here.project.statuses.first(),
        lambda _, n: {"name": f"New {n}"},
    ),
    "task type": (
        "projects.api.statuses",
        "task-types/{}/",
        lambda here: here.project.task_types.first(),
        lambda _, n: {"name": f"New {n}"},
    ),
    "sprint": (
        "projects.api.sprints",
        "sprints/{}/",
        lambda here: Sprint.objects.create(project=here.project, name="Night"),
        lambda _, n: {"name": f"New {n}"},
    ),
    "folder": (
        "projects.api.docs",
        "doc-folders/{}/",
        lambda here: DocFolder.objects.create(project=here.project, name="Vault"),
        lambda _, n: {"name": f"New {n}"},
    ),
    "workspace": (
        "projects.api.workspaces",
        "/workspaces/{}/",
        lambda here: here.project.workspace,
        lambda _, n: {"name": f"New {n}"},
    ),
    "person of a workspace": (
        "projects.api.workspace_people",
        "/workspaces/{workspace}/members/{}/",
        a_person,
        lambda _, n: {"role": "owner"},
    ),
}


def path_of(here: World, address: str, row: Any) -> str:
    project = here.project
    path = address.format(row.pk, workspace=project.workspace_id)
    return path if path.startswith("/") else f"/projects/{project.pk}/{path}"


@pytest.mark.parametrize("kind", CHANGES)
def test_one_of_two_concurrent_changes_is_refused_with_the_present_value(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module_name, address, make, body = CHANGES[kind]
    here = make_world()
    row = make(here)
    row.refresh_from_db()
    both_have_checked = threading.Barrier(2)
    module = import_module(f"paca.{module_name}")
    check = module.require_unchanged

    def check_and_meet(*given: Any, **options: Any) -> None:
        check(*given, **options)
        with suppress(threading.BrokenBarrierError):
            both_have_checked.wait(MEETING_SECONDS)

    monkeypatch.setattr(module, "require_unchanged", check_and_meet)
    answers: list[Any] = []

    def change(number: int) -> None:
        api = Api(here.user)
        answers.append(
            api.ask(
                "PATCH",
                path_of(here, address, row),
                body(here, number),
                If_Match=f'"{row.updated_at.isoformat()}"',
            )
        )

    run_concurrently([partial(change, 0), partial(change, 1)])
    answers.sort(key=lambda answer: answer.status_code)
    assert [answer.status_code for answer in answers] == [200, 412], [a.content for a in answers]
    assert answers[1].json()["present"] == answers[0].json()
