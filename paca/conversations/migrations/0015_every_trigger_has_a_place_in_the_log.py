"""The place of a trigger in the log is never null."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0014_triggers_have_a_place_in_the_log")]

    operations = [
        migrations.AlterField("trigger", "event_seq", models.BigIntegerField(default=0)),
    ]
