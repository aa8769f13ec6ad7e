"""Present roles that read conversations, and so the cost of each, read usage too."""

from django.db import migrations

NEEDED, ADDED = "conversations:read", "usage:read"


def add(apps, schema_editor):
    roles = apps.get_model("projects", "Role").objects.using(schema_editor.connection.alias)
    for role in roles.iterator():
        if NEEDED in role.permissions and ADDED not in role.permissions:
            role.permissions = [*role.permissions, ADDED]
            role.save(update_fields=["permissions"])


class Migration(migrations.Migration):
    dependencies = [("projects", "0008_agents_are_stopped_by_unassignment")]

    # Without the permission's feature the name allows nothing, so it may stay.
    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
