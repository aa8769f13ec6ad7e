"""Ends of assignments wait for their delivery as assignments and mentions do."""

from django.db import migrations, models

KINDS = ["task_assigned", "comment_mention", "task_unassigned"]


class Migration(migrations.Migration):
    dependencies = [("conversations", "0021_agents_suggest_descriptions")]

    operations = [
        migrations.AlterField(
            "pendingtrigger",
            "kind",
            models.CharField(
                choices=[(name, name.replace("_", " ").title()) for name in KINDS], max_length=20
            ),
        )
    ]
