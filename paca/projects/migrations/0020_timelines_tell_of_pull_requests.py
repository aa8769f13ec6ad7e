"""Timelines tell of pull requests."""

from importlib import import_module

from django.db import migrations, models

BEFORE = import_module("paca.projects.migrations.0007_agents_are_refused_comments")


class Migration(migrations.Migration):
    dependencies = [
        ("projects", "0019_projects_have_a_package_cache"),
    ]

    operations = [
        migrations.RunPython(BEFORE.remove_on_sqlite, BEFORE.install_on_sqlite),
        migrations.RemoveConstraint(
            model_name="activity",
            name="activity_kind_is_known",
        ),
        migrations.AlterField(
            model_name="activity",
            name="kind",
            field=models.CharField(
                choices=[
                    ("task.created", "Task Created"),
                    ("task.updated", "Task Updated"),
                    ("task.deleted", "Task Deleted"),
                    ("task.restored", "Task Restored"),
                    ("task.attachment.added", "Attachment Added"),
                    ("task.attachment.removed", "Attachment Removed"),
                    ("doc.created", "Doc Created"),
                    ("doc.updated", "Doc Updated"),
                    ("doc.deleted", "Doc Deleted"),
                    ("doc.restored", "Doc Restored"),
                    ("agent.session.started", "Agent Session Started"),
                    ("agent.session.stopped", "Agent Session Stopped"),
                    ("agent.comment.withheld", "Agent Comment Withheld"),
                    ("pull_request.merged", "Pull Request Merged"),
                    ("pull_request.closed", "Pull Request Closed"),
                ],
                max_length=30,
            ),
        ),
        migrations.AddConstraint(
            model_name="activity",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kind__in",
                        [
                            "task.created",
                            "task.updated",
                            "task.deleted",
                            "task.restored",
                            "task.attachment.added",
                            "task.attachment.removed",
                            "doc.created",
                            "doc.updated",
                            "doc.deleted",
                            "doc.restored",
                            "agent.session.started",
                            "agent.session.stopped",
                            "agent.comment.withheld",
                            "pull_request.merged",
                            "pull_request.closed",
                        ],
                    )
                ),
                name="activity_kind_is_known",
            ),
        ),
        migrations.RunPython(BEFORE.install_on_sqlite, BEFORE.remove_on_sqlite),
    ]
