"""Timelines tell that an agent's role does not allow a comment."""

from importlib import import_module

from django.db import migrations, models
from django.db.models import Q

TABLES = import_module("paca.projects.migrations.0004_present_projects_get_prefixes_and_statuses")
NAME = "activity_kind_is_known"
BEFORE = [
    "task.created",
    "task.updated",
    "task.deleted",
    "task.restored",
    "task.attachment.added",
    "task.attachment.removed",
    "doc.created",
    "doc.updated",
    "doc.deleted",
    "doc.restored",
    "agent.session.started",
]
KINDS = [
    (
        kind,
        kind.partition(".")[2].replace(".", " ").title()
        if "attachment" in kind
        else kind.replace(".", " ").title(),
    )
    for kind in [*BEFORE, "agent.comment.withheld"]
]


def remove_on_sqlite(apps, schema_editor):
    """SQLite rebuilds the table for the constraint, and would drop its trigger."""
    if schema_editor.connection.vendor == "sqlite":
        TABLES.remove(apps, schema_editor)


def install_on_sqlite(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        TABLES.install(apps, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("projects", "0006_search_entries_hold_words")]

    operations = [
        migrations.RunPython(remove_on_sqlite, install_on_sqlite),
        migrations.RemoveConstraint("activity", NAME),
        migrations.AlterField("activity", "kind", models.CharField(choices=KINDS, max_length=30)),
        migrations.AddConstraint(
            "activity",
            models.CheckConstraint(condition=Q(kind__in=[kind for kind, _ in KINDS]), name=NAME),
        ),
        migrations.RunPython(install_on_sqlite, remove_on_sqlite),
    ]
