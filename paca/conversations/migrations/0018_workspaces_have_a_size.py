from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0017_messages_can_be_withdrawn")]

    operations = [
        migrations.AddField(
            model_name="sandbox",
            name="workspace_bytes",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="sandbox",
            name="workspace_limit_bytes",
            field=models.BigIntegerField(null=True),
        ),
    ]
