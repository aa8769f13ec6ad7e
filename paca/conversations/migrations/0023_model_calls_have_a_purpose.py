"""Model calls name their purpose, project and agent, so that usage counts calls outside conversations.

A worker of the former version writes none of the three until it is restarted. Therefore ``purpose`` has a
default in the database, and a newer worker fills in the others (``services/model_calls.py``).
"""

from django.db import migrations, models
from django.db.models import Q

PURPOSES = ["turn", "title", "compaction", "helper", "connection_test"]


def reference(to, on_delete):
    # The indexes of 0025 begin with these columns.
    return models.ForeignKey(to, null=True, db_index=False, on_delete=on_delete, related_name="+")


class Migration(migrations.Migration):
    dependencies = [
        ("agents", "0006_skills"),
        ("projects", "0008_agents_are_stopped_by_unassignment"),
        ("conversations", "0022_ends_of_assignments_wait_for_their_delivery"),
    ]

    operations = [
        migrations.AddField(
            "modelcall",
            "purpose",
            models.CharField(
                choices=[(name, name.replace("_", " ").title()) for name in PURPOSES],
                db_default="turn",
                default="turn",
                max_length=20,
            ),
        ),
        migrations.AddField("modelcall", "project", reference("projects.project", models.CASCADE)),
        migrations.AddField("modelcall", "agent", reference("agents.agent", models.PROTECT)),
        migrations.AddConstraint(
            "modelcall",
            models.CheckConstraint(
                condition=Q(purpose__in=PURPOSES), name="model_call_purpose_is_known"
            ),
        ),
    ]
