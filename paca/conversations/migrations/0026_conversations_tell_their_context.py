from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0025_model_calls_outlive_conversations")]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="context",
            field=models.JSONField(null=True, editable=False),
        ),
    ]
