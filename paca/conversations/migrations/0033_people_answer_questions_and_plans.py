"""Calls also wait for an answer, or for a decision on a plan. The new columns of conversations may be null, because
SQLite would copy that table for a default, and older workers do not write them."""

import importlib

from django.db import migrations, models
from django.db.models import Q

KINDS = ["approval", "question", "plan"]
STATES = ["open", "approved", "denied", "answered", "expired", "superseded"]
before = importlib.import_module("paca.conversations.migrations.0030_calls_wait_for_approval")


def install_again(apps, schema_editor):
    """SQLite has copied the table for its new constraints, without its trigger."""
    if schema_editor.connection.vendor == "sqlite":
        before.remove(apps, schema_editor)
        before.install(apps, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("conversations", "0032_calls_are_traced")]

    operations = [
        migrations.AddField(
            "conversation", "plan_mode", models.BooleanField(editable=False, null=True)
        ),
        migrations.AddField("conversation", "plan", models.JSONField(editable=False, null=True)),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("Approval", "PersonRequest"),
                migrations.AlterModelTable("PersonRequest", "conversations_approval"),
            ]
        ),
        migrations.AlterField(
            "PersonRequest",
            "conversation",
            models.ForeignKey(
                "conversations.conversation",
                on_delete=models.CASCADE,
                related_name="person_requests",
            ),
        ),
        migrations.AddField(
            "PersonRequest",
            "kind",
            models.CharField(
                choices=[(kind, kind.title()) for kind in KINDS],
                db_default="approval",
                default="approval",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            "PersonRequest",
            "state",
            models.CharField(
                choices=[(state, state.title()) for state in STATES],
                default="open",
                max_length=10,
            ),
        ),
        migrations.RemoveConstraint("PersonRequest", "approval_state_is_known"),
        migrations.AddConstraint(
            "PersonRequest",
            models.CheckConstraint(condition=Q(state__in=STATES), name="approval_state_is_known"),
        ),
        migrations.AddConstraint(
            "PersonRequest",
            models.CheckConstraint(
                condition=Q(kind__in=KINDS), name="person_request_kind_is_known"
            ),
        ),
        migrations.RunPython(install_again, install_again),
    ]
