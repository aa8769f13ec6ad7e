"""A conversation may begin with a copy of another's log."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0026_conversations_tell_their_context")]

    operations = [
        migrations.AddField(
            "conversation",
            "forked_from",
            models.ForeignKey(
                "conversations.conversation",
                null=True,
                blank=True,
                on_delete=models.SET_NULL,
                related_name="forks",
            ),
        ),
    ]
