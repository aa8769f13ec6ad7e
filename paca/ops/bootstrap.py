"""Creates what the first start needs: tables, the admin and a demo project."""

import os

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, transaction
from django.urls import reverse

from paca.accounts import services as accounts
from paca.accounts.models import User
from paca.agents import services as agents
from paca.common.errors import ConfigurationError
from paca.engine.llm.demo import board, scripted_model
from paca.ops import database_check
from paca.projects import permissions
from paca.projects.models import Member, Project, Workspace
from paca.projects.services import projects, tasks, workspaces


def migrate() -> None:
    """Apply all pending migrations, each in its own transaction.

    The caller holds ``database_check.migration_lock()``.
    Raises ``ConfigurationError`` if a migration fails.
    """
    # Only this account may read the database file, even in a folder that is open to others.
    before = os.umask(0o077)
    try:
        call_command("migrate", verbosity=0, interactive=False, skip_checks=True)
    except DatabaseError as error:
        raise ConfigurationError(
            f"the database {database_check.display_name()} could not be migrated: {error}.",
            next_step="check that its disk has free space, then run this again; nothing is lost.",
        ) from error
    finally:
        os.umask(before)


@transaction.atomic
def create_admin_and_demo() -> tuple[User | None, bool]:
    """Create the first admin, and a demo project with an agent that needs no key.

    Gives the admin, or None if the database has people already, for example after ``createsuperuser``;
    and whether the demo was created, which is once, while there is no workspace yet.
    """
    admin = accounts.make_first_admin(password=settings.PACA_ADMIN_PASSWORD)
    owner = admin or User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if owner is None or Workspace.objects.exists():
        return admin, False
    _create_demo(owner)
    return admin, True


def _create_demo(admin: User) -> None:
    workspace = workspaces.create("Paca", owner=admin)
    project = projects.create(
        workspace,
        "Demo",
        by=admin,
        description="A project for trying Paca. Rename it or create your own.",
    )
    agents.create(
        project,
        name="Guide",
        handle="guide",
        description="Shows how an agent works here: real commands in a real sandbox, no key needed.",
        model=scripted_model.MODEL,
        role=project.roles.get(name=permissions.AGENT),
        by=admin,
    )
    _create_demo_tasks(project, project.members.with_names().get(user=admin))


def _create_demo_tasks(project: Project, person: Member) -> None:
    """The board of the demo. No agent is assigned yet, so nothing runs until a person wants it."""
    statuses = {status.name: status for status in project.statuses.all()}
    types = {task_type.name: task_type for task_type in project.task_types.all()}
    for each in board.TASKS:
        tasks.create(
            project,
            title=each.title,
            description=each.description,
            status=statuses[each.status],
            type=types[each.type],
            assignees=[] if each.job else [person],
            by=person,
        )


def sign_in_path(admin: User) -> str:
    """The path of a link that signs the admin in once."""
    return reverse("one_time_link", args=[accounts.create_one_time_link(admin)])
