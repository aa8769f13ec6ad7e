from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("conversations", "0005_usage_may_be_untold")]

    operations = [migrations.RemoveField("trigger", "available_at")]
