import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0008_sandboxes_name_their_volume")]

    operations = [
        migrations.CreateModel(
            name="ReadySandbox",
            fields=[
                (
                    "volume",
                    models.CharField(max_length=120, primary_key=True, serialize=False),
                ),
                ("made_at", models.DateTimeField(auto_now_add=True)),
                (
                    "worker",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="ready_sandboxes",
                        to="conversations.worker",
                    ),
                ),
            ],
        ),
    ]
