"""Timelines tell that an agent was stopped because it was unassigned."""

from importlib import import_module

from django.db import migrations, models
from django.db.models import Q

BEFORE = import_module("paca.projects.migrations.0007_agents_are_refused_comments")
KINDS = [*BEFORE.KINDS[:11], ("agent.session.stopped", "Agent Session Stopped"), *BEFORE.KINDS[11:]]


class Migration(migrations.Migration):
    dependencies = [("projects", "0007_agents_are_refused_comments")]

    operations = [
        migrations.RunPython(BEFORE.remove_on_sqlite, BEFORE.install_on_sqlite),
        migrations.RemoveConstraint("activity", BEFORE.NAME),
        migrations.AlterField("activity", "kind", models.CharField(choices=KINDS, max_length=30)),
        migrations.AddConstraint(
            "activity",
            models.CheckConstraint(
                condition=Q(kind__in=[kind for kind, _ in KINDS]), name=BEFORE.NAME
            ),
        ),
        migrations.RunPython(BEFORE.install_on_sqlite, BEFORE.remove_on_sqlite),
    ]
