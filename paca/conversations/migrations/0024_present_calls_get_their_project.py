"""Present model calls get the project and the agent of their conversation.

There may be millions of them, and workers of the former version go on meanwhile. So each batch is a
transaction of its own, and a migration that was cut off goes on where it was.
"""

from django.db import migrations, transaction
from django.db.models import OuterRef, Subquery

BATCH = 5000


def fill(apps, schema_editor):
    alias = schema_editor.connection.alias
    calls = apps.get_model("conversations", "ModelCall").objects.using(alias)
    of_call = apps.get_model("conversations", "Conversation").objects.using(alias)
    of_call = of_call.filter(pk=OuterRef("conversation_id"))
    rest = calls.filter(project=None).order_by("pk").values_list("pk", flat=True)
    found = list(rest[:BATCH])
    while found:
        with transaction.atomic(using=alias):
            calls.filter(pk__in=found).update(
                project_id=Subquery(of_call.values("project_id")),
                agent_id=Subquery(of_call.values("agent_id")),
            )
        found = list(rest.filter(pk__gt=found[-1])[:BATCH])


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("conversations", "0023_model_calls_have_a_purpose")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
