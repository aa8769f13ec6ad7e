"""The agent's to-do list of a conversation."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0030_calls_wait_for_approval")]

    operations = [
        migrations.AddField("conversation", "todo", models.JSONField(null=True, editable=False)),
    ]
