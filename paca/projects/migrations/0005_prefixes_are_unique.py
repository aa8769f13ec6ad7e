from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("projects", "0004_present_projects_get_prefixes_and_statuses")]

    operations = [
        migrations.AddConstraint(
            model_name="project",
            constraint=models.UniqueConstraint(
                condition=models.Q(("deleted_at__isnull", True)),
                fields=("workspace", "prefix"),
                name="project_prefix_is_unique_in_its_workspace",
                violation_error_message="The workspace has a project with this prefix.",
            ),
        ),
    ]
