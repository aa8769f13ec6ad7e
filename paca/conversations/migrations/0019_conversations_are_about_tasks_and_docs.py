"""A conversation names its task or doc, and the member and comment that began it."""

from importlib import import_module

from django.db import migrations, models
from django.db.models import Q

LAWS = import_module("paca.conversations.migrations.0002_laws")
TYPES = ["chat_message", "task_assigned", "comment_mention", "description_write", "execute"]
COMMENTED = ["task_assigned", "comment_mention"]


def reference(to, name="+"):
    return models.ForeignKey(
        to, on_delete=models.SET_NULL, null=True, blank=True, related_name=name
    )


def one_conversation(of):
    condition = Q(**{f"{of}__isnull": False}, deleted_at__isnull=True, trigger_type__in=COMMENTED)
    return models.UniqueConstraint(
        fields=["agent", of], condition=condition, name=f"agent_has_one_conversation_on_a_{of}"
    )


def remove_on_sqlite(apps, schema_editor):
    """SQLite rebuilds the table for the constraint below, and would drop its triggers."""
    if schema_editor.connection.vendor == "sqlite":
        LAWS.remove(apps, schema_editor)


def install_on_sqlite(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        LAWS.install(apps, schema_editor)


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0018_workspaces_have_a_size"),
        ("projects", "0003_tasks_docs_and_comments"),
    ]

    operations = [
        migrations.AddField("conversation", "task", reference("projects.task", "conversations")),
        migrations.AddField("conversation", "doc", reference("projects.doc", "conversations")),
        migrations.AddField("conversation", "comment", reference("projects.comment")),
        migrations.AddField("conversation", "triggered_by", reference("projects.member")),
        migrations.AddField("trigger", "comment", reference("projects.comment")),
        migrations.AddField(
            "trigger", "hops", models.PositiveSmallIntegerField(default=0, db_default=0)
        ),
        migrations.AlterField(
            "conversation",
            "trigger_type",
            models.CharField(
                choices=[(name, name.replace("_", " ").title()) for name in TYPES], max_length=20
            ),
        ),
        migrations.RunPython(remove_on_sqlite, install_on_sqlite),
        migrations.AddConstraint(
            "conversation",
            models.CheckConstraint(
                condition=Q(task__isnull=True) | Q(doc__isnull=True),
                name="conversation_is_about_one_task_or_one_doc",
            ),
        ),
        migrations.RunPython(install_on_sqlite, remove_on_sqlite),
        migrations.AddConstraint("conversation", one_conversation("task")),
        migrations.AddConstraint("conversation", one_conversation("doc")),
    ]
