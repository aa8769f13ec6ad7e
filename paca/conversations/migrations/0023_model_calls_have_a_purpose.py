"""Model calls name their purpose, project and agent, so that usage counts calls outside conversations."""

from django.db import migrations, models
from django.db.models import Q

PURPOSES = ["turn", "title", "compaction", "helper", "connection_test"]


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
                default="turn",
                max_length=20,
            ),
        ),
        migrations.AddField(
            "modelcall",
            "project",
            models.ForeignKey(
                "projects.project", null=True, on_delete=models.CASCADE, related_name="+"
            ),
        ),
        migrations.AddField(
            "modelcall",
            "agent",
            models.ForeignKey(
                "agents.agent", null=True, on_delete=models.PROTECT, related_name="+"
            ),
        ),
        migrations.AddConstraint(
            "modelcall",
            models.CheckConstraint(
                condition=Q(purpose__in=PURPOSES), name="model_call_purpose_is_known"
            ),
        ),
    ]
