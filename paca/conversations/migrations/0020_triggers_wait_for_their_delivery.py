"""Assignments and mentions wait in a table until they reach a conversation."""

import uuid

from django.db import migrations, models
from django.db.models import Q

TYPES = ["chat_message", "task_assigned", "comment_mention", "description_write", "execute"]


def reference(to):
    return models.ForeignKey(to, on_delete=models.CASCADE, null=True, related_name="+")


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0004_plain_help_texts"),
        ("conversations", "0019_conversations_are_about_tasks_and_docs"),
    ]

    operations = [
        migrations.CreateModel(
            "PendingTrigger",
            [
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[(name, name.replace("_", " ").title()) for name in TYPES],
                        max_length=20,
                    ),
                ),
                (
                    "agent",
                    models.ForeignKey("agents.agent", on_delete=models.CASCADE, related_name="+"),
                ),
                ("task", reference("projects.task")),
                ("doc", reference("projects.doc")),
                ("comment", reference("projects.comment")),
                (
                    "by",
                    models.ForeignKey(
                        "projects.member", on_delete=models.SET_NULL, null=True, related_name="+"
                    ),
                ),
                ("hops", models.PositiveSmallIntegerField(default=0)),
                ("due_at", models.DateTimeField()),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("last_error", models.TextField(blank=True)),
            ],
            options={"ordering": ["created_at", "id"]},
        ),
        migrations.AddIndex(
            "pendingtrigger", models.Index(fields=["due_at"], name="pending_trigger_due")
        ),
        migrations.AddConstraint(
            "pendingtrigger",
            models.CheckConstraint(
                condition=Q(task__isnull=False, doc__isnull=True)
                | Q(task__isnull=True, doc__isnull=False),
                name="pending_trigger_is_about_one_task_or_one_doc",
            ),
        ),
    ]
