"""The database accepts only the sandbox states that a row can have."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0011_statuses_are_known"),
    ]

    operations = [
        migrations.AlterField(
            model_name="sandbox",
            name="state",
            field=models.CharField(
                choices=[
                    ("running", "Running"),
                    ("paused", "Paused"),
                    ("ended", "Ended"),
                    ("freeing", "Freeing"),
                ],
                default="running",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="sandbox",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["running", "paused", "ended", "freeing"])),
                name="sandbox_state_is_known",
            ),
        ),
    ]
