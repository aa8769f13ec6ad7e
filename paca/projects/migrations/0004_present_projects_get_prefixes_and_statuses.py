"""Gives the projects that exist a prefix, statuses and task types, and their roles the new permissions.

The database refuses to change an entry of a timeline. On SQLite a later migration that rebuilds the
table drops the trigger and has to ``install`` it again.
"""

import re

from django.db import migrations

STATUSES = (
    ("Backlog", "backlog"),
    ("To do", "todo"),
    ("In progress", "in_progress"),
    ("In review", "in_progress"),
    ("Done", "done"),
)
TASK_TYPES = ("Task", "Bug", "Feature")
READ, WRITE = ("tasks:read", "docs:read"), ("tasks:write", "docs:write")

SQLITE = """CREATE TRIGGER activity_never_changes BEFORE UPDATE ON projects_activity FOR EACH ROW
    BEGIN SELECT RAISE(ABORT, 'activity_never_changes'); END"""
POSTGRESQL = [
    """CREATE FUNCTION activity_never_changes() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION USING ERRCODE = 'check_violation', MESSAGE = 'activity_never_changes';
        END $$""",
    """CREATE TRIGGER activity_never_changes BEFORE UPDATE ON projects_activity
        FOR EACH ROW EXECUTE FUNCTION activity_never_changes()""",
]


def fill(apps, schema_editor):
    alias = schema_editor.connection.alias
    projects = apps.get_model("projects", "Project").objects.using(alias)
    taken = {}
    for project in projects.order_by("created_at", "id"):
        prefixes = taken.setdefault(project.workspace_id, set())
        project.prefix = _free_prefix(project.name, prefixes)
        prefixes.add(project.prefix)
        project.save(update_fields=["prefix"])
        _create_task_settings(apps, project)
    for role in apps.get_model("projects", "Role").objects.using(alias):
        _widen(role)


def _free_prefix(name, taken):
    letters = re.sub(r"[^A-Z0-9]", "", name.upper()).lstrip("0123456789")[:4]
    base = prefix = letters or "P"
    number = 2
    while prefix in taken:
        prefix, number = f"{base}{number}", number + 1
    return prefix


def _create_task_settings(apps, project):
    for position, (name, category) in enumerate(STATUSES):
        apps.get_model("projects", "TaskStatus").objects.using(project._state.db).create(
            project=project, name=name, category=category, position=position
        )
    for position, name in enumerate(TASK_TYPES):
        apps.get_model("projects", "TaskType").objects.using(project._state.db).create(
            project=project, name=name, position=position
        )


def _widen(role):
    """A role that reads agents reads tasks and docs too; one that writes conversations writes them.

    Until now conversations were the only work there was, so their permissions stand for all work.
    """
    held = set(role.permissions)
    if "*" in held:
        return
    if held & {"agents:read", "agents:*"}:
        held.update(READ)
    if held & {"conversations:write", "conversations:*"}:
        held.update(WRITE)
    role.permissions = sorted(held)
    role.save(update_fields=["permissions"])


def install(apps, schema_editor):
    for statement in [SQLITE] if schema_editor.connection.vendor == "sqlite" else POSTGRESQL:
        schema_editor.execute(statement)


def remove(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER IF EXISTS activity_never_changes")
    else:
        schema_editor.execute("DROP FUNCTION activity_never_changes CASCADE")


class Migration(migrations.Migration):
    dependencies = [("projects", "0003_tasks_docs_and_comments")]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunPython(install, remove),
    ]
