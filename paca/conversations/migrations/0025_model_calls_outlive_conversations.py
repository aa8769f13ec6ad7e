"""Model calls stay when their conversation goes, and are found by project and day."""

from django.db import migrations, models


def remove_calls_without_conversation(apps, schema_editor):
    alias = schema_editor.connection.alias
    calls = apps.get_model("conversations", "ModelCall").objects.using(alias)
    calls.filter(conversation=None).delete()


class Migration(migrations.Migration):
    dependencies = [("conversations", "0024_present_calls_get_their_project")]

    operations = [
        migrations.AlterField(
            "modelcall",
            "project",
            models.ForeignKey("projects.project", on_delete=models.CASCADE, related_name="+"),
        ),
        migrations.AlterField(
            "modelcall",
            "agent",
            models.ForeignKey("agents.agent", on_delete=models.PROTECT, related_name="+"),
        ),
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
        migrations.AddIndex(
            "modelcall", models.Index(fields=["project", "started_at"], name="model_call_of_day")
        ),
        migrations.RunPython(migrations.RunPython.noop, remove_calls_without_conversation),
    ]
