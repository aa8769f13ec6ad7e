"""The tables of projects at once, for a new database. One that has some of the replaced migrations goes on with these."""

from importlib import import_module
import django.core.validators
import django.db.models.deletion
from paca.common.migrations import CreateModels
import paca.common.time_zones
import paca.projects.models.allowed_commands
import paca.projects.models.environment
import paca.projects.models.network
import uuid
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models

TIMELINES = import_module(
    "paca.projects.migrations.0004_present_projects_get_prefixes_and_statuses"
)
SEARCH = import_module("paca.projects.migrations.0006_search_entries_hold_words")


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("projects", "0002_agents_are_members"),
        ("projects", "0003_tasks_docs_and_comments"),
        ("projects", "0004_present_projects_get_prefixes_and_statuses"),
        ("projects", "0005_prefixes_are_unique"),
        ("projects", "0006_search_entries_hold_words"),
        ("projects", "0007_agents_are_refused_comments"),
        ("projects", "0008_agents_are_stopped_by_unassignment"),
        ("projects", "0009_readers_of_conversations_read_usage"),
        ("projects", "0010_projects_have_budgets"),
        ("projects", "0011_members_may_approve"),
        ("projects", "0012_members_may_read_traces"),
        ("projects", "0013_projects_have_a_time_zone"),
        ("projects", "0014_projects_allow_private_mcp_servers"),
        ("projects", "0015_projects_remember"),
        ("projects", "0016_projects_have_a_network"),
        ("projects", "0017_projects_have_an_image"),
        ("projects", "0018_commands_are_allowed"),
        ("projects", "0019_projects_have_a_package_cache"),
        ("projects", "0020_timelines_tell_of_pull_requests"),
        ("projects", "0021_sandboxes_are_set_up"),
    ]

    dependencies = [
        ("agents", "0001_squashed_0029_sandboxes_are_set_up"),
        ("projects", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="member",
            name="agent",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="member",
                to="agents.agent",
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="allowed_commands",
            field=models.JSONField(
                blank=True,
                default=None,
                help_text="The only commands that its agents may run, such as git or npm run *. Null: all.",
                null=True,
                validators=[paca.projects.models.allowed_commands.check_commands],
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="last_task_number",
            field=models.PositiveIntegerField(default=0, editable=False),
        ),
        migrations.AddField(
            model_name="project",
            name="limit_month_cost_usd",
            field=models.DecimalField(
                blank=True,
                decimal_places=2,
                help_text="US dollars that all its agents may cost in a month of UTC. Empty: no limit.",
                max_digits=10,
                null=True,
                validators=[django.core.validators.MinValueValidator(Decimal("0.01"))],
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="limit_month_tokens",
            field=models.PositiveBigIntegerField(
                blank=True,
                help_text="Tokens of all its agents in a month of UTC. Empty: no limit.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(1000),
                    django.core.validators.MaxValueValidator(1000000000000000),
                ],
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="memory",
            field=models.CharField(
                choices=[
                    ("off", "No memory"),
                    ("ask", "A person decides what is kept"),
                    ("on", "It is kept at once"),
                ],
                db_default="ask",
                default="ask",
                help_text="What becomes of what its agents note about the project: off, ask (a person decides) or on.",
                max_length=5,
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="network",
            field=models.CharField(
                choices=[
                    ("none", "No network"),
                    ("restricted", "Listed hosts only"),
                    ("open", "All public hosts"),
                ],
                db_default="none",
                default="none",
                help_text="The widest network of its agents' sandboxes: none, restricted (listed hosts) or open.",
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="network_hosts",
            field=models.JSONField(
                blank=True,
                db_default=[],
                default=list,
                help_text="More hosts that sandboxes may reach, such as example.org or *.example.org.",
                validators=[paca.projects.models.network.check_hosts],
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="network_presets",
            field=models.JSONField(
                blank=True,
                db_default=[],
                default=list,
                help_text="Groups of hosts that sandboxes may reach, such as python and npm.",
                validators=[paca.projects.models.network.check_presets],
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="package_cache",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Its sandboxes share the packages that they have downloaded.",
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="prefix",
            field=models.CharField(
                default=None,
                help_text="The beginning of the keys of its tasks: PACA gives PACA-1, PACA-2.",
                max_length=10,
                validators=[
                    django.core.validators.RegexValidator(
                        "^[A-Z][A-Z0-9]{0,9}\\Z",
                        "Use 1 to 10 capital letters and digits; begin with a letter.",
                    )
                ],
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="project",
            name="private_mcp_servers",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="MCP servers of its agents may be in the private network of this server.",
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="repository_setup",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="The .paca/setup.sh of a repository runs after its clone, where no approval is needed for commands.",
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="sandbox_image",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Docker only: one of AGENT_SANDBOX_IMAGES. Empty: the default.",
                max_length=255,
                validators=[paca.projects.models.environment.check_image],
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="setup_commands",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="A script for bash that runs once. What it installs below /opt/setup is then in each sandbox.",
                validators=[paca.projects.models.environment.check_setup],
            ),
        ),
        migrations.AddField(
            model_name="project",
            name="time_zone",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Hours of check-ins are meant in it, such as Europe/Berlin. Empty: the server's.",
                max_length=64,
                validators=[paca.common.time_zones.check],
            ),
        ),
        migrations.AddConstraint(
            model_name="member",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("agent__isnull", True), ("kind", "human"), ("user__isnull", False)),
                    models.Q(("agent__isnull", False), ("kind", "agent"), ("user__isnull", True)),
                    _connector="OR",
                ),
                name="member_is_one_human_or_one_agent",
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.UniqueConstraint(
                condition=models.Q(("deleted_at__isnull", True)),
                fields=("workspace", "prefix"),
                name="project_prefix_is_unique_in_its_workspace",
                violation_error_message="The workspace has a project with this prefix.",
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("limit_month_tokens", None),
                        ("limit_month_tokens__gte", 1000),
                        _connector="OR",
                    ),
                    models.Q(
                        ("limit_month_cost_usd", None),
                        ("limit_month_cost_usd__gte", Decimal("0.01")),
                        _connector="OR",
                    ),
                ),
                name="project_budgets_are_positive",
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(("memory__in", ["off", "ask", "on"])),
                name="project_memory_policy_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="project",
            constraint=models.CheckConstraint(
                condition=models.Q(("network__in", ["none", "restricted", "open"])),
                name="project_network_is_known",
            ),
        ),
        CreateModels(
            operations=[
                migrations.CreateModel(
                    name="Activity",
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
                            "kind",
                            models.CharField(
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
                        ("changes", models.JSONField(default=list)),
                        ("conversation_id", models.UUIDField(null=True)),
                        (
                            "actor",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="projects.member",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="activities",
                                to="projects.project",
                            ),
                        ),
                        (
                            "doc",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="activities",
                                to="projects.doc",
                            ),
                        ),
                        (
                            "task",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="activities",
                                to="projects.task",
                            ),
                        ),
                    ],
                    options={
                        "verbose_name_plural": "activities",
                        "ordering": ["created_at", "id"],
                        "indexes": [
                            models.Index(fields=["task", "created_at"], name="activity_of_task")
                        ],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("doc__isnull", True), ("task__isnull", False)),
                                    models.Q(("doc__isnull", False), ("task__isnull", True)),
                                    _connector="OR",
                                ),
                                name="activity_is_of_one_task_or_one_doc",
                            ),
                            models.CheckConstraint(
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
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Attachment",
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
                        ("name", models.CharField(max_length=200)),
                        ("content_type", models.CharField(max_length=100)),
                        ("size_bytes", models.PositiveIntegerField()),
                        ("sha256", models.CharField(max_length=64)),
                        (
                            "by",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="projects.member",
                            ),
                        ),
                        (
                            "task",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="attachments",
                                to="projects.task",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["created_at", "id"],
                    },
                ),
                migrations.CreateModel(
                    name="AttachmentPart",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("number", models.PositiveIntegerField()),
                        ("data", models.BinaryField()),
                        (
                            "attachment",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="parts",
                                to="projects.attachment",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["number"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("attachment", "number"),
                                name="attachment_part_number_is_unique",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Comment",
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
                            "text",
                            models.TextField(
                                validators=[django.core.validators.MaxLengthValidator(50000)]
                            ),
                        ),
                        (
                            "conversation_id",
                            models.UUIDField(blank=True, editable=False, null=True),
                        ),
                        ("edited_at", models.DateTimeField(blank=True, editable=False, null=True)),
                        ("deleted_at", models.DateTimeField(blank=True, editable=False, null=True)),
                        (
                            "author",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="comments",
                                to="projects.member",
                            ),
                        ),
                        (
                            "parent",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="answers",
                                to="projects.comment",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="comments",
                                to="projects.project",
                            ),
                        ),
                        (
                            "doc",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="comments",
                                to="projects.doc",
                            ),
                        ),
                        (
                            "task",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="comments",
                                to="projects.task",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["created_at", "id"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("doc__isnull", True), ("task__isnull", False)),
                                    models.Q(("doc__isnull", False), ("task__isnull", True)),
                                    _connector="OR",
                                ),
                                name="comment_is_on_one_task_or_one_doc",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="CommentVersion",
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
                        ("number", models.PositiveIntegerField()),
                        ("text", models.TextField()),
                        (
                            "comment",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="versions",
                                to="projects.comment",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["number"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("comment", "number"),
                                name="comment_version_is_numbered_once",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Doc",
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
                        ("title", models.CharField(max_length=200)),
                        (
                            "text",
                            models.TextField(
                                blank=True,
                                validators=[django.core.validators.MaxLengthValidator(500000)],
                            ),
                        ),
                        ("position", models.FloatField(default=0)),
                        ("version", models.PositiveIntegerField(default=1)),
                        ("deleted_at", models.DateTimeField(blank=True, editable=False, null=True)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="docs",
                                to="projects.project",
                            ),
                        ),
                        (
                            "updated_by",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="projects.member",
                            ),
                        ),
                        (
                            "folder",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="docs",
                                to="projects.docfolder",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["position", "title", "id"],
                        "indexes": [
                            models.Index(fields=["project", "-updated_at"], name="doc_last_changed")
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="DocFolder",
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
                        ("name", models.CharField(max_length=100)),
                        ("position", models.FloatField(default=0)),
                        (
                            "parent",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="folders",
                                to="projects.docfolder",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="doc_folders",
                                to="projects.project",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["position", "name", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("parent", "name"),
                                name="folder_name_is_unique_in_its_folder",
                                violation_error_message="There is a folder of this name here.",
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(("parent__isnull", True)),
                                fields=("project", "name"),
                                name="folder_name_is_unique_at_the_top",
                                violation_error_message="There is a folder of this name here.",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("parent__isnull", True),
                                    models.Q(("parent", models.F("id")), _negated=True),
                                    _connector="OR",
                                ),
                                name="folder_is_not_in_itself",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="DocVersion",
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
                        ("number", models.PositiveIntegerField()),
                        ("title", models.CharField(max_length=200)),
                        ("text", models.TextField(blank=True)),
                        (
                            "by",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="projects.member",
                            ),
                        ),
                        (
                            "doc",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="versions",
                                to="projects.doc",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-number"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("doc", "number"), name="doc_version_is_numbered_once"
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Invitation",
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
                            "secret_sha256",
                            models.CharField(editable=False, max_length=64, unique=True),
                        ),
                        ("note", models.CharField(blank=True, max_length=200)),
                        ("expires_at", models.DateTimeField()),
                        ("accepted_at", models.DateTimeField(null=True)),
                        ("revoked_at", models.DateTimeField(null=True)),
                        (
                            "accepted_by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "by",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="invitations",
                                to="projects.project",
                            ),
                        ),
                        (
                            "role",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="projects.role",
                            ),
                        ),
                        (
                            "workspace",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="invitations",
                                to="projects.workspace",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-created_at", "-id"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("project__isnull", True), ("role__isnull", True)),
                                    models.Q(("project__isnull", False), ("role__isnull", False)),
                                    _connector="OR",
                                ),
                                name="invitation_names_a_project_with_a_role",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="KeyedWrite",
                    fields=[
                        (
                            "key",
                            models.CharField(max_length=200, primary_key=True, serialize=False),
                        ),
                        ("result", models.TextField()),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="projects.project",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Label",
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
                        ("name", models.CharField(max_length=50)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="labels",
                                to="projects.project",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["name", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("project", "name"),
                                name="label_name_is_unique_in_its_project",
                                violation_error_message="The project has a label of this name.",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Mention",
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
                            "comment",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="mentions",
                                to="projects.comment",
                            ),
                        ),
                        (
                            "member",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="mentions",
                                to="projects.member",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["created_at", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("comment", "member"), name="comment_mentions_a_member_once"
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Notification",
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
                            "kind",
                            models.CharField(
                                choices=[
                                    ("assigned", "Assigned"),
                                    ("mentioned", "Mentioned"),
                                    ("approval", "Approval"),
                                    ("question", "Question"),
                                    ("finished", "Finished"),
                                    ("failed", "Failed"),
                                ],
                                max_length=20,
                            ),
                        ),
                        ("conversation_id", models.UUIDField(null=True)),
                        ("key", models.CharField(max_length=200)),
                        ("read_at", models.DateTimeField(null=True)),
                        (
                            "actor",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="projects.member",
                            ),
                        ),
                        (
                            "comment",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="projects.comment",
                            ),
                        ),
                        (
                            "doc",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="projects.doc",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="notifications",
                                to="projects.project",
                            ),
                        ),
                        (
                            "recipient",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="notifications",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                        (
                            "task",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="projects.task",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-created_at", "-id"],
                        "indexes": [
                            models.Index(
                                fields=["recipient", "-created_at"], name="notification_list"
                            ),
                            models.Index(
                                condition=models.Q(("read_at__isnull", True)),
                                fields=["recipient"],
                                name="notification_unread",
                            ),
                        ],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("recipient", "key"), name="notification_is_told_once"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    (
                                        "kind__in",
                                        [
                                            "assigned",
                                            "mentioned",
                                            "approval",
                                            "question",
                                            "finished",
                                            "failed",
                                        ],
                                    )
                                ),
                                name="notification_kind_is_known",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="SearchEntry",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        (
                            "kind",
                            models.CharField(
                                choices=[
                                    ("task", "Task"),
                                    ("doc", "Doc"),
                                    ("comment", "Comment"),
                                    ("conversation", "Conversation"),
                                ],
                                max_length=20,
                            ),
                        ),
                        ("object_id", models.UUIDField()),
                        ("about", models.CharField(max_length=20)),
                        ("place", models.CharField(max_length=50)),
                        ("title", models.CharField(blank=True, max_length=300)),
                        ("text", models.TextField(blank=True)),
                        ("title_words", models.TextField(blank=True)),
                        ("text_words", models.TextField(blank=True)),
                        ("updated_at", models.DateTimeField(auto_now=True)),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="projects.project",
                            ),
                        ),
                    ],
                    options={
                        "indexes": [
                            models.Index(
                                fields=["project", "kind"], name="search_entry_of_project"
                            ),
                            models.Index(
                                fields=["project", "about", "place"], name="search_entry_of_place"
                            ),
                        ],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("kind", "object_id"), name="search_entry_is_one_a_thing"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("kind__in", ["task", "doc", "comment", "conversation"])
                                ),
                                name="search_kind_is_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("about__in", ["task", "doc", "conversation"])),
                                name="search_hit_opens_a_place",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Sprint",
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
                        ("name", models.CharField(max_length=100)),
                        (
                            "goal",
                            models.TextField(
                                blank=True,
                                validators=[django.core.validators.MaxLengthValidator(10000)],
                            ),
                        ),
                        (
                            "status",
                            models.CharField(
                                choices=[
                                    ("planned", "Planned"),
                                    ("active", "Active"),
                                    ("completed", "Completed"),
                                ],
                                default="planned",
                                max_length=10,
                            ),
                        ),
                        ("start_date", models.DateField(blank=True, null=True)),
                        ("end_date", models.DateField(blank=True, null=True)),
                        (
                            "completed_at",
                            models.DateTimeField(blank=True, editable=False, null=True),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="sprints",
                                to="projects.project",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["created_at", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("project", "name"),
                                name="sprint_name_is_unique_in_its_project",
                                violation_error_message="The project has a sprint of this name.",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("status__in", ["planned", "active", "completed"])
                                ),
                                name="sprint_status_is_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("start_date__isnull", True),
                                    ("end_date__isnull", True),
                                    ("end_date__gte", models.F("start_date")),
                                    _connector="OR",
                                ),
                                name="sprint_ends_after_it_starts",
                                violation_error_message="A sprint ends on or after the day it starts.",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(
                                        ("completed_at__isnull", False), ("status", "completed")
                                    ),
                                    models.Q(
                                        models.Q(("status", "completed"), _negated=True),
                                        ("completed_at__isnull", True),
                                    ),
                                    _connector="OR",
                                ),
                                name="completed_sprint_has_its_time",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Task",
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
                        ("number", models.PositiveIntegerField(editable=False)),
                        ("title", models.CharField(max_length=200)),
                        (
                            "description",
                            models.TextField(
                                blank=True,
                                validators=[django.core.validators.MaxLengthValidator(100000)],
                            ),
                        ),
                        (
                            "priority",
                            models.PositiveSmallIntegerField(
                                choices=[
                                    (0, "None"),
                                    (1, "Low"),
                                    (2, "Medium"),
                                    (3, "High"),
                                    (4, "Urgent"),
                                ],
                                default=0,
                            ),
                        ),
                        ("position", models.FloatField(default=0)),
                        (
                            "story_points",
                            models.PositiveSmallIntegerField(
                                blank=True,
                                null=True,
                                validators=[django.core.validators.MaxValueValidator(1000)],
                            ),
                        ),
                        ("start_date", models.DateField(blank=True, null=True)),
                        ("due_date", models.DateField(blank=True, null=True)),
                        ("deleted_at", models.DateTimeField(blank=True, editable=False, null=True)),
                        (
                            "labels",
                            models.ManyToManyField(
                                blank=True, related_name="tasks", to="projects.label"
                            ),
                        ),
                        (
                            "parent",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="subtasks",
                                to="projects.task",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="tasks",
                                to="projects.project",
                            ),
                        ),
                        (
                            "reporter",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="reported_tasks",
                                to="projects.member",
                            ),
                        ),
                        (
                            "sprint",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="tasks",
                                to="projects.sprint",
                            ),
                        ),
                        (
                            "status",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="tasks",
                                to="projects.taskstatus",
                            ),
                        ),
                        (
                            "type",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="tasks",
                                to="projects.tasktype",
                            ),
                        ),
                        (
                            "assignees",
                            models.ManyToManyField(
                                blank=True,
                                related_name="assigned_tasks",
                                through="projects.TaskAssignee",
                                to="projects.member",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-number"],
                        "indexes": [
                            models.Index(
                                fields=["project", "status", "position"], name="task_board"
                            ),
                            models.Index(
                                fields=["project", "-updated_at"], name="task_last_changed"
                            ),
                        ],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("project", "number"),
                                name="task_number_is_unique_in_its_project",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("priority__in", [0, 1, 2, 3, 4])),
                                name="task_priority_is_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("parent__isnull", True),
                                    models.Q(("parent", models.F("id")), _negated=True),
                                    _connector="OR",
                                ),
                                name="task_is_not_its_own_parent",
                                violation_error_message="A task cannot be its own parent.",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("start_date__isnull", True),
                                    ("due_date__isnull", True),
                                    ("due_date__gte", models.F("start_date")),
                                    _connector="OR",
                                ),
                                name="task_is_due_after_it_starts",
                                violation_error_message="A task is due on or after the day it starts.",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="TaskAssignee",
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
                            "member",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="assignments",
                                to="projects.member",
                            ),
                        ),
                        (
                            "task",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="assignments",
                                to="projects.task",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["created_at", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("task", "member"), name="task_is_assigned_once_to_a_member"
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="TaskDependency",
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
                            "blocked_by",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="blocks",
                                to="projects.task",
                            ),
                        ),
                        (
                            "task",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="dependencies",
                                to="projects.task",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("task", "blocked_by"), name="dependency_is_named_once"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("task", models.F("blocked_by")), _negated=True),
                                name="task_does_not_block_itself",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="TaskStatus",
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
                        ("name", models.CharField(max_length=50)),
                        (
                            "category",
                            models.CharField(
                                choices=[
                                    ("backlog", "Backlog"),
                                    ("todo", "Todo"),
                                    ("in_progress", "In Progress"),
                                    ("done", "Done"),
                                ],
                                max_length=20,
                            ),
                        ),
                        ("position", models.PositiveIntegerField(default=0)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="statuses",
                                to="projects.project",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["position", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("project", "name"),
                                name="status_name_is_unique_in_its_project",
                                violation_error_message="The project has a status of this name.",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("category__in", ["backlog", "todo", "in_progress", "done"])
                                ),
                                name="status_category_is_known",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="TaskType",
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
                        ("name", models.CharField(max_length=50)),
                        ("position", models.PositiveIntegerField(default=0)),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="task_types",
                                to="projects.project",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["position", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("project", "name"),
                                name="task_type_name_is_unique_in_its_project",
                                violation_error_message="The project has a task type of this name.",
                            )
                        ],
                    },
                ),
            ],
        ),
        migrations.RunPython(TIMELINES.install, TIMELINES.remove),
        migrations.RunPython(SEARCH.install, SEARCH.remove),
    ]
