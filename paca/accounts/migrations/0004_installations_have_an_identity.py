from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0003_installation"),
    ]

    operations = [
        migrations.AddField(
            model_name="installation",
            name="identity",
            field=models.CharField(default="", editable=False, max_length=40),
        ),
    ]
