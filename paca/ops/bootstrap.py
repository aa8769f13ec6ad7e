"""What the first start makes: tables, the admin, and a project to try everything in."""

import os

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, transaction
from django.urls import reverse

from paca.accounts import services as accounts
from paca.accounts.models import User
from paca.agents import services as agents
from paca.common.errors import ConfigurationError
from paca.engine.llm.demo import scripted_model
from paca.ops import database_check
from paca.projects import permissions
from paca.projects.services import projects, workspaces


def migrate() -> None:
    """Bring the tables to this version; each migration happens whole or not at all.

    Call it ``databases.alone()`` with them.
    """
    # The database is for this account only, also where the folder is open to others.
    before = os.umask(0o077)
    try:
        call_command("migrate", verbosity=0, interactive=False, skip_checks=True)
    except DatabaseError as error:
        raise ConfigurationError(
            f"the database {database_check.name()} could not be brought to this version: {error}.",
            next_step="check that its disk has room, then run this again; nothing is lost.",
        ) from error
    finally:
        os.umask(before)


@transaction.atomic
def seed() -> User | None:
    """The first admin, a project and an agent that needs no key; None if people are here already."""
    admin = accounts.make_first_admin(password=settings.PACA_ADMIN_PASSWORD)
    if admin is None:
        return None
    workspace = workspaces.create("Paca", owner=admin)
    project = projects.create(
        workspace,
        "Demo",
        by=admin,
        description="A place to try Paca in. Rename it or begin your own.",
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
    return admin


def sign_in_path(admin: User) -> str:
    """The address that signs the admin in, once."""
    return reverse("one_time_link", args=[accounts.create_one_time_link(admin)])
