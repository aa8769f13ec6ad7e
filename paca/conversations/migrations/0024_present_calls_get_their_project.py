"""Present model calls get the project and the agent of their conversation."""

from django.db import migrations
from django.db.models import OuterRef, Subquery


def fill(apps, schema_editor):
    alias = schema_editor.connection.alias
    calls = apps.get_model("conversations", "ModelCall").objects.using(alias)
    of_call = apps.get_model("conversations", "Conversation").objects.using(alias)
    of_call = of_call.filter(pk=OuterRef("conversation_id"))
    calls.filter(project=None).update(
        project_id=Subquery(of_call.values("project_id")),
        agent_id=Subquery(of_call.values("agent_id")),
    )


class Migration(migrations.Migration):
    dependencies = [("conversations", "0023_model_calls_have_a_purpose")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
