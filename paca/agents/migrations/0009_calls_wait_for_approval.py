"""Which tool calls of an agent wait for a person."""

from django.db import migrations, models
from django.db.models import Q

CHOICES = [
    ("auto", "Runs by itself: only catastrophic commands ask"),
    ("unsafe", "Asks before unsafe calls"),
    ("all", "Asks before each call"),
]


class Migration(migrations.Migration):
    dependencies = [("agents", "0008_agents_have_budgets")]

    operations = [
        migrations.AddField(
            "agent",
            "approval",
            models.CharField(
                choices=CHOICES,
                db_default="auto",
                default="auto",
                help_text="Which of its tool calls wait until a person has approved them.",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            "agent",
            models.CheckConstraint(
                condition=Q(approval__in=["auto", "unsafe", "all"]), name="agent_approval_is_known"
            ),
        ),
    ]
