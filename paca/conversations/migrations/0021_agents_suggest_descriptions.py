"""The description that an agent has written waits until a person keeps or discards it."""

import uuid

from django.db import migrations, models
from django.db.models import Q

STATES = ["open", "kept", "discarded"]


class Migration(migrations.Migration):
    dependencies = [("conversations", "0020_triggers_wait_for_their_delivery")]

    operations = [
        migrations.CreateModel(
            "Suggestion",
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
                    "conversation",
                    models.OneToOneField(
                        "conversations.conversation",
                        on_delete=models.CASCADE,
                        related_name="suggestion",
                    ),
                ),
                (
                    "task",
                    models.ForeignKey(
                        "projects.task", on_delete=models.CASCADE, related_name="suggestions"
                    ),
                ),
                ("turn", models.PositiveIntegerField()),
                ("text", models.TextField()),
                (
                    "state",
                    models.CharField(
                        choices=[(state, state.title()) for state in STATES],
                        default="open",
                        max_length=10,
                    ),
                ),
                (
                    "decided_by",
                    models.ForeignKey(
                        "projects.member",
                        on_delete=models.SET_NULL,
                        null=True,
                        blank=True,
                        related_name="+",
                    ),
                ),
            ],
            options={"ordering": ["-updated_at", "-id"]},
        ),
        migrations.AddConstraint(
            "suggestion",
            models.CheckConstraint(condition=Q(state__in=STATES), name="suggestion_state_is_known"),
        ),
    ]
