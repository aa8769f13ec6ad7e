"""Each trigger has its place in the log, so that a command ends what came before it and nothing newer."""

from django.db import migrations
from django.db.models import F, OuterRef, Subquery


def place_in_log(apps, schema_editor):
    """A command from before the update counts as newer than every message of its conversation."""
    alias = schema_editor.connection.alias
    conversations = apps.get_model("conversations", "Conversation").objects.using(alias)
    last = conversations.filter(pk=OuterRef("conversation")).values(last=F("next_seq") - 1)
    triggers = apps.get_model("conversations", "Trigger").objects.using(alias)
    triggers.filter(event_seq=None).update(event_seq=Subquery(last))


class Migration(migrations.Migration):
    dependencies = [("conversations", "0013_plain_words")]

    operations = [migrations.RunPython(place_in_log, migrations.RunPython.noop)]
