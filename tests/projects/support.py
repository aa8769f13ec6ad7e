"""Rows for the tests of tasks, docs and comments."""

from typing import Any

from paca.accounts.models import User
from paca.projects.models import Doc, DocVersion, Member, Project, Task
from paca.projects.services import members, workspaces
from tests.support.world import World


def make_member(world: World, username: str, role: str = "member") -> Member:
    """A new person of the workspace who is a member of the project."""
    user = User.objects.create_user(username, password="a long password 7")
    workspaces.add_person(world.project.workspace, user=user)
    return members.add_person(world.project, user=user, role=world.role(role), by=world.owner)


def make_task(world: World, **fields: Any) -> Task:
    """A task as a row, without the work of the service."""
    project = Project.objects.get(pk=world.project.pk)
    project.last_task_number += 1
    project.save(update_fields=["last_task_number"])
    fields = {
        "title": "Paint the boat",
        "status": project.statuses.first(),
        "type": project.task_types.first(),
        "reporter": world.owner,
        **fields,
    }
    return Task.objects.create(project=project, number=project.last_task_number, **fields)


def make_doc(world: World, **fields: Any) -> Doc:
    """A doc as a row, with its first version."""
    fields = {"title": "Plan", "text": "", "updated_by": world.owner, **fields}
    doc = Doc.objects.create(project=world.project, **fields)
    DocVersion.objects.create(doc=doc, number=1, title=doc.title, text=doc.text, by=world.owner)
    return doc
