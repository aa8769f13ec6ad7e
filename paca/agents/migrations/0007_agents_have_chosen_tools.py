"""An agent can have some of the tools; present agents keep all."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0006_skills")]

    operations = [
        migrations.AddField(
            "agent",
            "tools",
            models.JSONField(
                blank=True,
                default=None,
                help_text="The names of the tools that it has. Null: all of them, also those of later versions.",
                null=True,
            ),
        )
    ]
