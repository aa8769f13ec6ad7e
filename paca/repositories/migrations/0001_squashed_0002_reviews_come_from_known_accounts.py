"""The tables of repositories at once, for a new database. One that has some of the replaced migrations goes on with these."""

import django.core.validators
import django.db.models.deletion
from paca.common.migrations import CreateModels
import paca.repositories.models.addresses
import paca.repositories.models.repository
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("repositories", "0001_projects_have_repositories"),
        ("repositories", "0002_reviews_come_from_known_accounts"),
    ]

    dependencies = [
        ("agents", "0001_squashed_0029_sandboxes_are_set_up"),
        ("projects", "0002_squashed_0021_sandboxes_are_set_up"),
    ]

    operations = [
        CreateModels(
            operations=[
                migrations.CreateModel(
                    name="GitConnection",
                    fields=[
                        (
                            "id",
                            models.UUIDField(
                                default=uuid.uuid4,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("updated_at", models.DateTimeField(auto_now=True)),
                        ("name", models.CharField(max_length=60)),
                        (
                            "kind",
                            models.CharField(
                                choices=[
                                    ("git", "Any git server"),
                                    ("github", "GitHub"),
                                    ("gitea", "Gitea or Forgejo"),
                                ],
                                max_length=10,
                            ),
                        ),
                        (
                            "base_url",
                            models.CharField(
                                max_length=500,
                                validators=[paca.repositories.models.addresses.check_server_url],
                            ),
                        ),
                        (
                            "auth",
                            models.CharField(
                                choices=[
                                    ("none", "No credentials"),
                                    ("token", "Token"),
                                    ("basic", "Name and password"),
                                    ("github_app", "GitHub app"),
                                ],
                                default="none",
                                max_length=12,
                            ),
                        ),
                        ("username", models.CharField(blank=True, max_length=200)),
                        ("app_id", models.CharField(blank=True, max_length=100)),
                        ("installation_id", models.CharField(blank=True, max_length=30)),
                        ("encrypted_secret", models.TextField(blank=True, editable=False)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="git_connections",
                                to="projects.project",
                            ),
                        ),
                        (
                            "account",
                            models.CharField(
                                blank=True,
                                db_default="",
                                default="",
                                editable=False,
                                max_length=200,
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["name", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("project", "name"),
                                name="git_connection_name_is_unique_in_its_project",
                                violation_error_message="The project has a connection of this name.",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("auth", "none"), ("encrypted_secret", "")),
                                    models.Q(
                                        models.Q(("auth", "none"), _negated=True),
                                        models.Q(("encrypted_secret", ""), _negated=True),
                                    ),
                                    _connector="OR",
                                ),
                                name="git_connection_has_a_secret_unless_without_credentials",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("auth", "github_app"), _negated=True),
                                    models.Q(
                                        ("kind", "github"),
                                        models.Q(("app_id", ""), _negated=True),
                                        models.Q(("installation_id", ""), _negated=True),
                                    ),
                                    _connector="OR",
                                ),
                                name="git_connection_of_a_github_app_is_to_github",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Repository",
                    fields=[
                        (
                            "id",
                            models.UUIDField(
                                default=uuid.uuid4,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        ("updated_at", models.DateTimeField(auto_now=True)),
                        (
                            "name",
                            models.CharField(
                                max_length=60,
                                validators=[
                                    django.core.validators.RegexValidator(
                                        "^[a-z0-9]+(?:[._-][a-z0-9]+)*\\Z",
                                        "Use small letters, digits and single -, _ or . between them.",
                                    )
                                ],
                            ),
                        ),
                        (
                            "url",
                            models.CharField(
                                max_length=500,
                                validators=[paca.repositories.models.addresses.check_clone_url],
                            ),
                        ),
                        ("default_branch", models.CharField(blank=True, max_length=255)),
                        (
                            "allow_default_branch",
                            models.BooleanField(
                                db_default=False,
                                default=False,
                                help_text="Agents may push to the default branch.",
                            ),
                        ),
                        (
                            "clone_at_start",
                            models.BooleanField(
                                db_default=False,
                                default=False,
                                help_text="It is cloned into each new sandbox of an agent that may use it.",
                            ),
                        ),
                        (
                            "reviews",
                            models.CharField(
                                choices=[
                                    ("nobody", "Nobody's"),
                                    ("listed", "Those of the listed accounts"),
                                    (
                                        "members",
                                        "Those of people who may write to the repository, and of the listed accounts",
                                    ),
                                ],
                                db_default="members",
                                default="members",
                                help_text="Whose reviews on a pull request its agent works on.",
                                max_length=10,
                            ),
                        ),
                        ("encrypted_webhook_secret", models.TextField(blank=True, editable=False)),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("unknown", "Not tried yet"),
                                    ("works", "Works"),
                                    ("fails", "Does not work"),
                                ],
                                default="unknown",
                                editable=False,
                                max_length=10,
                            ),
                        ),
                        ("problem", models.TextField(blank=True, editable=False)),
                        (
                            "contacted_at",
                            models.DateTimeField(blank=True, editable=False, null=True),
                        ),
                        (
                            "connection",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.RESTRICT,
                                related_name="repositories",
                                to="repositories.gitconnection",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="repositories",
                                to="projects.project",
                            ),
                        ),
                        (
                            "reviewers",
                            models.JSONField(
                                blank=True,
                                db_default=[],
                                default=list,
                                help_text="Accounts of the git server whose reviews count too.",
                                validators=[paca.repositories.models.repository.check_reviewers],
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["name", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("project", "name"),
                                name="repository_name_is_unique_in_its_project",
                                violation_error_message="The project has a repository of this name.",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("state__in", ["unknown", "works", "fails"])),
                                name="repository_state_is_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("reviews__in", ["nobody", "listed", "members"])
                                ),
                                name="repository_review_policy_is_known",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="AgentRepositories",
                    fields=[
                        (
                            "agent",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="repository_setting",
                                serialize=False,
                                to="agents.agent",
                            ),
                        ),
                        (
                            "access",
                            models.CharField(
                                choices=[
                                    ("all", "All of the project"),
                                    ("none", "None"),
                                    ("chosen", "Chosen ones"),
                                ],
                                default="all",
                                max_length=10,
                            ),
                        ),
                        (
                            "chosen",
                            models.ManyToManyField(
                                blank=True, related_name="chosen_by", to="repositories.repository"
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("access__in", ["all", "none", "chosen"])),
                                name="repository_access_is_known",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="WebhookDelivery",
                    fields=[
                        (
                            "id",
                            models.BigAutoField(
                                auto_created=True,
                                primary_key=True,
                                serialize=False,
                                verbose_name="ID",
                            ),
                        ),
                        ("digest", models.CharField(max_length=64)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "repository",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="deliveries",
                                to="repositories.repository",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("repository", "digest"),
                                name="webhook_delivery_has_its_effect_once",
                            )
                        ],
                    },
                ),
            ],
        ),
    ]
