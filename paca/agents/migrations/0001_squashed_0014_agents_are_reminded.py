"""The tables of agents at once, for a new database. One that has some of the replaced migrations goes on with these."""

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
import paca.agents.models.agent
import paca.agents.models.skill
import uuid
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("agents", "0001_initial"),
        ("agents", "0002_text_tool_calls"),
        ("agents", "0003_sandbox_life"),
        ("agents", "0004_plain_help_texts"),
        ("agents", "0005_prompts_of_each_trigger"),
        ("agents", "0006_skills"),
        ("agents", "0007_agents_have_chosen_tools"),
        ("agents", "0008_agents_have_budgets"),
        ("agents", "0009_calls_wait_for_approval"),
        ("agents", "0010_agents_say_whether_calls_are_traced"),
        ("agents", "0011_conversations_begin_in_plan_mode"),
        ("agents", "0012_agents_have_a_fallback_and_efforts"),
        ("agents", "0013_keys_are_lent"),
        ("agents", "0014_agents_are_reminded"),
    ]

    dependencies = [
        ("projects", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Agent",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("name", models.CharField(max_length=100)),
                (
                    "handle",
                    models.CharField(
                        help_text="The name that others type after @.",
                        max_length=40,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9](?:[a-z0-9_-]*[a-z0-9_])?\\Z",
                                "Use small letters, digits, - and _ (no - or _ at the beginning, no - at the end).",
                            )
                        ],
                    ),
                ),
                (
                    "description",
                    models.TextField(
                        blank=True,
                        help_text="What the agent is good for. The agent reads it too.",
                        validators=[django.core.validators.MaxLengthValidator(2000)],
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("paused", "Paused"),
                            ("inactive", "Inactive"),
                        ],
                        default="active",
                        max_length=10,
                    ),
                ),
                (
                    "model",
                    models.CharField(
                        help_text="provider/model",
                        max_length=200,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Za-z0-9_.-]+/\\S+\\Z",
                                "Write provider/model, for example anthropic/claude-sonnet-4-5.",
                            )
                        ],
                    ),
                ),
                (
                    "base_url",
                    models.CharField(
                        blank=True,
                        help_text="Only for a server of your own or a gateway, such as http://127.0.0.1:11434/v1 for Ollama; else leave it empty. In your own network no key is needed.",
                        max_length=500,
                        validators=[paca.agents.models.agent.check_base_url],
                    ),
                ),
                ("encrypted_key", models.TextField(blank=True, editable=False)),
                ("key_last4", models.CharField(blank=True, editable=False, max_length=4)),
                ("parameters", models.JSONField(blank=True, default=dict)),
                (
                    "text_tool_calls",
                    models.BooleanField(
                        default=False,
                        help_text="For a model that cannot call tools: it writes its calls as text, and Paca runs them.",
                    ),
                ),
                (
                    "fallback_model",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="Answers where the model fails before it has shown anything. Empty: the turn pauses or fails.",
                        max_length=200,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[A-Za-z0-9_.-]+/\\S+\\Z",
                                "Write provider/model, for example anthropic/claude-sonnet-4-5.",
                            )
                        ],
                    ),
                ),
                (
                    "fallback_base_url",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        max_length=500,
                        validators=[paca.agents.models.agent.check_base_url],
                    ),
                ),
                (
                    "fallback_encrypted_key",
                    models.TextField(blank=True, db_default="", default="", editable=False),
                ),
                (
                    "fallback_key_last4",
                    models.CharField(
                        blank=True, db_default="", default="", editable=False, max_length=4
                    ),
                ),
                ("fallback_parameters", models.JSONField(blank=True, db_default={}, default=dict)),
                ("fallback_text_tool_calls", models.BooleanField(db_default=False, default=False)),
                (
                    "efforts",
                    models.JSONField(
                        blank=True,
                        db_default={},
                        default=dict,
                        help_text="What a message of the effort quick or determined changes, such as the model or its parameters.",
                    ),
                ),
                (
                    "tools",
                    models.JSONField(
                        blank=True,
                        default=None,
                        help_text="The names of the tools that it has. Null: all of them, also those of later versions.",
                        null=True,
                    ),
                ),
                (
                    "system_prompt",
                    models.TextField(
                        blank=True,
                        help_text="Describes who the agent is and how it works. {workspace} becomes the path of its files.",
                        validators=[django.core.validators.MaxLengthValidator(50000)],
                    ),
                ),
                (
                    "task_assigned_prompt",
                    models.TextField(
                        blank=True,
                        help_text="Replaces the default prompt when a task is assigned to it. Empty: the default.",
                        validators=[django.core.validators.MaxLengthValidator(20000)],
                    ),
                ),
                (
                    "comment_mention_prompt",
                    models.TextField(
                        blank=True,
                        help_text="Replaces the default prompt when a comment mentions it. Empty: the default.",
                        validators=[django.core.validators.MaxLengthValidator(20000)],
                    ),
                ),
                (
                    "chat_message_prompt",
                    models.TextField(
                        blank=True,
                        help_text="Replaces the default prompt when it is in a chat. Empty: the default.",
                        validators=[django.core.validators.MaxLengthValidator(20000)],
                    ),
                ),
                (
                    "description_write_prompt",
                    models.TextField(
                        blank=True,
                        help_text="Replaces the default prompt when it writes the description of a task. Empty: the default.",
                        validators=[django.core.validators.MaxLengthValidator(20000)],
                    ),
                ),
                (
                    "execute_prompt",
                    models.TextField(
                        blank=True,
                        help_text="Replaces the default prompt when a program or a schedule starts it. Empty: the default.",
                        validators=[django.core.validators.MaxLengthValidator(20000)],
                    ),
                ),
                (
                    "limit_steps",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Model calls in one turn. Empty: the server's default.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(1000),
                        ],
                    ),
                ),
                (
                    "limit_tokens",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="Tokens of a conversation. Empty: no limit.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(1000),
                            django.core.validators.MaxValueValidator(1000000000000),
                        ],
                    ),
                ),
                (
                    "limit_cost_usd",
                    models.DecimalField(
                        blank=True,
                        decimal_places=2,
                        help_text="US dollars a conversation may cost. Empty: no limit.",
                        max_digits=10,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(Decimal("0.01"))],
                    ),
                ),
                (
                    "limit_turn_tokens",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="Tokens of one turn. Empty: no limit.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(1000),
                            django.core.validators.MaxValueValidator(1000000000000),
                        ],
                    ),
                ),
                (
                    "limit_turn_cost_usd",
                    models.DecimalField(
                        blank=True,
                        decimal_places=2,
                        help_text="US dollars one turn may cost. Empty: no limit.",
                        max_digits=10,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(Decimal("0.01"))],
                    ),
                ),
                (
                    "limit_day_tokens",
                    models.PositiveBigIntegerField(
                        blank=True,
                        help_text="Tokens of all its conversations from midnight to midnight UTC. Empty: no limit.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(1000),
                            django.core.validators.MaxValueValidator(1000000000000),
                        ],
                    ),
                ),
                (
                    "limit_day_cost_usd",
                    models.DecimalField(
                        blank=True,
                        decimal_places=2,
                        help_text="US dollars all its conversations may cost from midnight to midnight UTC. Empty: no limit.",
                        max_digits=10,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(Decimal("0.01"))],
                    ),
                ),
                (
                    "limit_seconds",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Length of one turn. Empty: no limit.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(10),
                            django.core.validators.MaxValueValidator(86400),
                        ],
                    ),
                ),
                (
                    "limit_concurrent",
                    models.PositiveSmallIntegerField(
                        default=5,
                        help_text="The number of conversations it works in at the same time. Others wait.",
                        validators=[
                            django.core.validators.MinValueValidator(1),
                            django.core.validators.MaxValueValidator(10),
                        ],
                    ),
                ),
                (
                    "sandbox_memory_mib",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Empty: the server's default.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(64),
                            django.core.validators.MaxValueValidator(1048576),
                        ],
                    ),
                ),
                (
                    "sandbox_cpus",
                    models.DecimalField(
                        blank=True,
                        decimal_places=2,
                        help_text="Empty: the server's default.",
                        max_digits=5,
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(Decimal("0.1")),
                            django.core.validators.MaxValueValidator(Decimal("256")),
                        ],
                    ),
                ),
                (
                    "sandbox_life",
                    models.CharField(
                        choices=[
                            ("ephemeral", "Ephemeral: its processes end"),
                            ("persistent", "Persistent: its processes are paused, and end later"),
                        ],
                        default="ephemeral",
                        help_text="Its files are kept until the conversation or its files are deleted.",
                        max_length=10,
                    ),
                ),
                (
                    "approval",
                    models.CharField(
                        choices=[
                            ("auto", "Runs by itself: only catastrophic commands ask"),
                            ("unsafe", "Asks before unsafe calls"),
                            ("all", "Asks before each call"),
                        ],
                        db_default="auto",
                        default="auto",
                        help_text="Which of its tool calls wait until a person has approved them.",
                        max_length=10,
                    ),
                ),
                (
                    "tracing",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Whether its conversations keep the full requests and replies of their model calls.",
                    ),
                ),
                (
                    "plan_mode",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Its new conversations begin in plan mode: only tools that read run until a plan is approved.",
                    ),
                ),
                (
                    "verification",
                    models.CharField(
                        choices=[
                            ("off", "Never"),
                            (
                                "unattended",
                                "Where nobody watches: after an assignment, a mention or a program's call",
                            ),
                            ("always", "In every turn"),
                        ],
                        db_default="off",
                        default="off",
                        help_text="When it is asked to check its work, before a turn ends in which it has changed something. It costs at least one model call more.",
                        max_length=10,
                    ),
                ),
                (
                    "verification_prompt",
                    models.TextField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="What it is asked then. Empty: the default.",
                        validators=[django.core.validators.MaxLengthValidator(2000)],
                    ),
                ),
                (
                    "hint",
                    models.TextField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="A short text that it reads in each turn, behind the newest message. Empty: none.",
                        validators=[django.core.validators.MaxLengthValidator(1000)],
                    ),
                ),
                (
                    "git_name",
                    models.CharField(
                        default="paca-agent", help_text="Author of its commits.", max_length=100
                    ),
                ),
                (
                    "git_email",
                    models.EmailField(default="paca-agent@localhost.localdomain", max_length=254),
                ),
                ("deleted_at", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="agents",
                        to="projects.project",
                    ),
                ),
            ],
            options={
                "ordering": ["name", "id"],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at__isnull", True)),
                        fields=("project", "handle"),
                        name="agent_handle_is_unique_in_its_project",
                        violation_error_message="The project has an agent of this handle.",
                    ),
                    models.UniqueConstraint(
                        models.F("project"),
                        django.db.models.functions.text.Lower("name"),
                        condition=models.Q(("deleted_at__isnull", True)),
                        name="agent_name_is_unique_in_its_project",
                        violation_error_message="The project has an agent of this name.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("handle", ""), _negated=True),
                            ("handle", django.db.models.functions.text.Lower("handle")),
                        ),
                        name="agent_handle_is_not_empty_and_small",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["active", "paused", "inactive"])),
                        name="agent_is_active_paused_or_inactive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("sandbox_life__in", ["ephemeral", "persistent"])),
                        name="agent_sandbox_is_ephemeral_or_persistent",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("approval__in", ["auto", "unsafe", "all"])),
                        name="agent_approval_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("verification__in", ["off", "unattended", "always"])),
                        name="agent_verification_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("limit_steps", None), ("limit_steps__gte", 1), _connector="OR"
                            ),
                            models.Q(
                                ("limit_tokens", None), ("limit_tokens__gte", 1000), _connector="OR"
                            ),
                            models.Q(
                                ("limit_cost_usd", None),
                                ("limit_cost_usd__gte", Decimal("0.01")),
                                _connector="OR",
                            ),
                            models.Q(
                                ("limit_seconds", None), ("limit_seconds__gte", 10), _connector="OR"
                            ),
                        ),
                        name="agent_limits_are_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("limit_turn_tokens", None),
                                ("limit_turn_tokens__gte", 1000),
                                _connector="OR",
                            ),
                            models.Q(
                                ("limit_turn_cost_usd", None),
                                ("limit_turn_cost_usd__gte", Decimal("0.01")),
                                _connector="OR",
                            ),
                            models.Q(
                                ("limit_day_tokens", None),
                                ("limit_day_tokens__gte", 1000),
                                _connector="OR",
                            ),
                            models.Q(
                                ("limit_day_cost_usd", None),
                                ("limit_day_cost_usd__gte", Decimal("0.01")),
                                _connector="OR",
                            ),
                        ),
                        name="agent_budgets_are_positive",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("limit_concurrent__gte", 1), ("limit_concurrent__lte", 10)
                        ),
                        name="agent_works_in_one_to_ten_conversations",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("encrypted_key", ""), ("key_last4", "")),
                            models.Q(("encrypted_key", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="agent_key_and_its_last_four_go_together",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("fallback_model", ""), _negated=True),
                            models.Q(("fallback_encrypted_key", ""), ("fallback_key_last4", "")),
                            _connector="OR",
                        ),
                        name="agent_fallback_key_belongs_to_a_fallback",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ModelKey",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                ("provider", models.CharField(max_length=50)),
                (
                    "base_url",
                    models.CharField(
                        blank=True,
                        max_length=500,
                        validators=[paca.agents.models.agent.check_base_url],
                    ),
                ),
                ("encrypted_key", models.TextField(editable=False)),
                ("key_last4", models.CharField(blank=True, editable=False, max_length=4)),
                (
                    "project",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="model_keys",
                        to="projects.project",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="model_keys",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["provider", "base_url", "id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("user", None), ("project", None), _connector="OR"),
                        name="model_key_has_one_owner",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("user__isnull", False)),
                        fields=("user", "provider", "base_url"),
                        name="person_has_one_model_key_of_an_address",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("project__isnull", False)),
                        fields=("project", "provider", "base_url"),
                        name="project_has_one_model_key_of_an_address",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("project__isnull", True), ("user__isnull", True)),
                        fields=("provider", "base_url"),
                        name="server_has_one_model_key_of_an_address",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Skill",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("updated_at", models.DateTimeField(auto_now=True)),
                (
                    "name",
                    models.CharField(
                        max_length=64,
                        validators=[
                            django.core.validators.RegexValidator(
                                "^[a-z0-9]+(?:-[a-z0-9]+)*\\Z",
                                "Use small letters, digits and single - between them.",
                            ),
                            paca.agents.models.skill.check_not_reserved,
                        ],
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("inline", "Written here"),
                            ("template", "From a template"),
                            ("upload", "Uploaded"),
                        ],
                        default="inline",
                        max_length=10,
                    ),
                ),
                (
                    "description",
                    models.TextField(
                        help_text="What it is for and when to use it. The agent chooses by this text.",
                        validators=[django.core.validators.MaxLengthValidator(1024)],
                    ),
                ),
                (
                    "content",
                    models.TextField(
                        help_text="Markdown. The agent reads it when it opens the skill.",
                        validators=[django.core.validators.MaxLengthValidator(60000)],
                    ),
                ),
                (
                    "triggers",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="Keywords. A message with one of them opens the skill, as /name does.",
                        validators=[paca.agents.models.skill.check_triggers],
                    ),
                ),
                (
                    "always_on",
                    models.BooleanField(
                        default=False,
                        help_text="Its text is in every prompt; it need not be opened.",
                    ),
                ),
                ("enabled", models.BooleanField(default=True)),
                (
                    "agent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="skills",
                        to="agents.agent",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("agent", "name"),
                        name="skill_name_is_unique_for_its_agent",
                        violation_error_message="The agent has a skill of this name.",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("name", ""), _negated=True),
                            models.Q(("description", ""), _negated=True),
                            models.Q(("content", ""), _negated=True),
                        ),
                        name="skill_has_name_description_and_content",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("source__in", ["inline", "template", "upload"])),
                        name="skill_source_is_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SkillFile",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("path", models.CharField(max_length=200)),
                ("data", models.BinaryField()),
                ("size_bytes", models.PositiveIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                (
                    "skill",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="agents.skill",
                    ),
                ),
            ],
            options={
                "ordering": ["path"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("skill", "path"), name="skill_file_path_is_unique_in_its_skill"
                    )
                ],
            },
        ),
    ]
