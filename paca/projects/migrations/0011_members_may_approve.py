"""The roles Manager and Member of present projects may approve tool calls, as those of new projects."""

from django.db import migrations

APPROVE = "conversations:approve"


def change(apps, schema_editor, edit):
    roles = apps.get_model("projects", "Role").objects.using(schema_editor.connection.alias)
    roles = roles.filter(name__in=["Manager", "Member"])
    for role in roles.iterator():
        after = edit(set(role.permissions))
        if after != set(role.permissions):
            role.permissions = sorted(after)
            role.save(update_fields=["permissions"])


def grant(apps, schema_editor):
    change(
        apps,
        schema_editor,
        lambda held: held | {APPROVE} if "conversations:write" in held else held,
    )


def take_back(apps, schema_editor):
    change(apps, schema_editor, lambda held: held - {APPROVE})


class Migration(migrations.Migration):
    dependencies = [("projects", "0010_projects_have_budgets")]

    operations = [migrations.RunPython(grant, take_back)]
