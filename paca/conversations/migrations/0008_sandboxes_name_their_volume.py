from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("conversations", "0007_workers_count_what_they_remove")]

    operations = [
        migrations.AddField(
            model_name="sandbox",
            name="volume",
            field=models.CharField(blank=True, db_default="", max_length=120),
        ),
    ]
