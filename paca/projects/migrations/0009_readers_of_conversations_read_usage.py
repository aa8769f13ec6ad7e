"""Present roles that read conversations, and so the cost of each, read usage too."""

from django.db import migrations

READERS = {"conversations:read", "conversations:*"}
HOLDERS = {"usage:read", "usage:*", "*"}


def add(apps, schema_editor):
    roles = apps.get_model("projects", "Role").objects.using(schema_editor.connection.alias)
    for role in roles.iterator():
        held = set(role.permissions)
        if held & READERS and not held & HOLDERS:
            role.permissions = [*role.permissions, "usage:read"]
            role.save(update_fields=["permissions"])


class Migration(migrations.Migration):
    dependencies = [("projects", "0008_agents_are_stopped_by_unassignment")]

    # Without the permission's feature the name allows nothing, so it may stay.
    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
