"""Model calls stay when their conversation goes, and are found by project and day, and by agent and day."""

from django.db import migrations, models


def remove_calls_without_conversation(apps, schema_editor):
    alias = schema_editor.connection.alias
    calls = apps.get_model("conversations", "ModelCall").objects.using(alias)
    calls.filter(conversation=None).delete()


def index(of, name):
    return migrations.AddIndex("modelcall", models.Index(fields=[of, "started_at"], name=name))


class Migration(migrations.Migration):
    dependencies = [("conversations", "0024_present_calls_get_their_project")]

    operations = [
        # First, because they take the longest: they let others read, and the changes below do not.
        index("project", "model_call_of_day"),
        index("agent", "model_call_of_agent"),
        migrations.AlterField(
            "modelcall",
            "conversation",
            models.ForeignKey(
                "conversations.conversation",
                null=True,
                blank=True,
                on_delete=models.SET_NULL,
                related_name="model_calls",
            ),
        ),
        migrations.AlterField(
            "modelcall", "turn", models.PositiveIntegerField(null=True, blank=True)
        ),
        migrations.AlterField("modelcall", "epoch", models.BigIntegerField(default=0)),
        migrations.RunPython(migrations.RunPython.noop, remove_calls_without_conversation),
    ]
