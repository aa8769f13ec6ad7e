"""Whether the new conversations of an agent begin in plan mode. Processes of an earlier version do not know it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("agents", "0010_agents_say_whether_calls_are_traced")]

    operations = [
        migrations.AddField(
            "agent",
            "plan_mode",
            models.BooleanField(
                db_default=False,
                default=False,
                help_text="Its new conversations begin in plan mode: only tools that read run until a plan is approved.",
            ),
        ),
    ]
