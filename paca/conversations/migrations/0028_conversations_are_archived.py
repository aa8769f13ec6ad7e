"""A conversation may be in the archive, which lists leave out."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0027_conversations_are_forked")]

    operations = [
        migrations.AddField("conversation", "archived_at", models.DateTimeField(null=True)),
    ]
