"""A trigger can be withdrawn: its author took the message back before a turn claimed it."""

from django.db import migrations, models
from django.db.models import Q

NAME = "trigger_state_is_known"
STATES = ["new", "withdrawn", "claimed", "done", "dead"]


class Migration(migrations.Migration):
    dependencies = [("conversations", "0016_full_outputs_are_kept")]

    operations = [
        migrations.RemoveConstraint("trigger", NAME),
        migrations.AddConstraint(
            "trigger", models.CheckConstraint(condition=Q(state__in=STATES), name=NAME)
        ),
        migrations.AlterField(
            "trigger",
            "state",
            models.CharField(
                choices=[(state, state.title()) for state in STATES], default="new", max_length=10
            ),
        ),
    ]
