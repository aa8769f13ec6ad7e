"""Plain names for two columns and a state, and a law for the states of triggers.

No column and no value of the database changes its name: workers of an earlier version go on with these
tables until they are restarted.
"""

from django.db import migrations, models
from django.db.models import Q

SANDBOX_STATES = [
    ("running", "Running"),
    ("paused", "Paused"),
    ("ended", "Ended"),
    ("freeing", "Files To Delete"),
]


class Migration(migrations.Migration):
    dependencies = [("conversations", "0012_sandbox_states_are_known")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("conversation", "takeovers", "lost_workers"),
                migrations.AlterField(
                    "conversation",
                    "lost_workers",
                    models.PositiveIntegerField(db_column="takeovers", default=0),
                ),
                migrations.RenameField("worker", "place", "pid_namespace"),
                migrations.AlterField(
                    "worker",
                    "pid_namespace",
                    models.CharField(db_column="place", default="", max_length=200),
                ),
                migrations.AlterField(
                    "sandbox",
                    "state",
                    models.CharField(choices=SANDBOX_STATES, default="running", max_length=10),
                ),
            ]
        ),
        migrations.AddConstraint(
            "trigger",
            models.CheckConstraint(
                condition=Q(state__in=["new", "claimed", "done", "dead"]),
                name="trigger_state_is_known",
            ),
        ),
    ]
