"""The database accepts only known statuses of turns, model calls and tool calls."""

from django.db import migrations, models
from django.db.models import Q

TURN = ["running", "finished", "paused", "failed", "stopped"]
MODEL_CALL = ["started", "done", "failed", "cancelled", "abandoned"]
TOOL_CALL = ["called", "started", "done", "failed", "unknown"]


def status(values):
    return models.CharField(
        choices=[(value, value.title()) for value in values], default=values[0], max_length=10
    )


class Migration(migrations.Migration):
    dependencies = [("conversations", "0010_claims_stay_quick")]

    operations = [
        migrations.AlterField("modelcall", "status", status(MODEL_CALL)),
        migrations.AlterField("toolcall", "state", status(TOOL_CALL)),
        migrations.AlterField("turn", "status", status(TURN)),
        migrations.AddConstraint(
            "modelcall",
            models.CheckConstraint(
                condition=Q(status__in=MODEL_CALL), name="model_call_status_is_known"
            ),
        ),
        migrations.AddConstraint(
            "toolcall",
            models.CheckConstraint(
                condition=Q(state__in=TOOL_CALL), name="tool_call_state_is_known"
            ),
        ),
        migrations.AddConstraint(
            "turn",
            models.CheckConstraint(condition=Q(status__in=TURN), name="turn_status_is_known"),
        ),
    ]
