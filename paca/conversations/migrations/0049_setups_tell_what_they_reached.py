from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("conversations", "0048_archive_says_whether_files_go"),
    ]

    operations = [
        migrations.AddField(
            model_name="sandboxsetup",
            name="network",
            field=models.JSONField(db_default=[], default=list),
        ),
    ]
