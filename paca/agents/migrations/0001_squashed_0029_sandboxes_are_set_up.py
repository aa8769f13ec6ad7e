"""The tables of agents at once, for a new database. One that has some of the replaced migrations goes on with these."""

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
import paca.agents.models.agent_fields
import paca.agents.models.mcp_server
import paca.agents.models.skill
import paca.agents.models.tags
from paca.common.migrations import CreateModels
import paca.projects.models.allowed_commands
import paca.projects.models.environment
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
        ("agents", "0015_agents_are_sorted_into_a_catalogue"),
        ("agents", "0016_agents_have_mcp_servers"),
        ("agents", "0017_agents_remember"),
        ("agents", "0018_agents_limit_their_helpers"),
        ("agents", "0019_agents_have_a_persona"),
        ("agents", "0020_agents_lead_teams"),
        ("agents", "0021_agents_may_wait_for_a_start"),
        ("agents", "0022_agents_have_plugins"),
        ("agents", "0023_agents_have_a_network"),
        ("agents", "0024_agents_and_projects_have_variables"),
        ("agents", "0025_agents_have_an_image"),
        ("agents", "0026_sandboxes_have_quotas_and_allowed_commands"),
        ("agents", "0027_priority_counts_within_a_project"),
        ("agents", "0028_help_of_the_life_of_sandboxes"),
        ("agents", "0029_sandboxes_are_set_up"),
    ]

    dependencies = [
        ("projects", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        CreateModels(
            operations=[
                migrations.CreateModel(
                    name="Agent",
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
                                validators=[paca.agents.models.agent_fields.check_base_url],
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
                                validators=[paca.agents.models.agent_fields.check_base_url],
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
                        (
                            "fallback_parameters",
                            models.JSONField(blank=True, db_default={}, default=dict),
                        ),
                        (
                            "fallback_text_tool_calls",
                            models.BooleanField(db_default=False, default=False),
                        ),
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
                                validators=[
                                    django.core.validators.MinValueValidator(Decimal("0.01"))
                                ],
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
                                validators=[
                                    django.core.validators.MinValueValidator(Decimal("0.01"))
                                ],
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
                                validators=[
                                    django.core.validators.MinValueValidator(Decimal("0.01"))
                                ],
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
                                    (
                                        "persistent",
                                        "Persistent: its processes are paused, and end later",
                                    ),
                                ],
                                default="ephemeral",
                                help_text="Files are kept until they or the conversation are deleted; those of an ephemeral sandbox until the conversation has been in the archive for a while.",
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
                                default="paca-agent",
                                help_text="Author of its commits.",
                                max_length=100,
                            ),
                        ),
                        (
                            "git_email",
                            models.EmailField(
                                default="paca-agent@localhost.localdomain", max_length=254
                            ),
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
                        (
                            "agent_type",
                            models.CharField(
                                blank=True,
                                db_default="",
                                default="",
                                help_text="What kind of agent it is, such as developer. Known types have a template.",
                                max_length=40,
                                validators=[
                                    django.core.validators.RegexValidator(
                                        "^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\\Z",
                                        "Use small letters, digits and -, such as security-reviewer.",
                                    )
                                ],
                            ),
                        ),
                        (
                            "category",
                            models.CharField(
                                choices=[
                                    ("engineering", "Engineering"),
                                    ("product", "Product"),
                                    ("quality", "Quality"),
                                    ("operations", "Operations"),
                                    ("data", "Data"),
                                    ("writing", "Writing"),
                                    ("support", "Support"),
                                    ("assistant", "Assistant"),
                                    ("custom", "Custom"),
                                ],
                                db_default="custom",
                                default="custom",
                                help_text="The field of work that lists sort it into.",
                                max_length=20,
                            ),
                        ),
                        (
                            "priority",
                            models.PositiveSmallIntegerField(
                                choices=[(0, "Low"), (1, "Medium"), (2, "High"), (3, "Critical")],
                                db_default=1,
                                default=1,
                                help_text="A free worker begins the waiting work of an agent with a higher priority first, within its project.",
                            ),
                        ),
                        (
                            "tags",
                            paca.agents.models.tags.TagsField(
                                blank=True,
                                db_default="",
                                default=list,
                                validators=[paca.agents.models.tags.check_tags],
                            ),
                        ),
                        (
                            "memory",
                            models.CharField(
                                choices=[
                                    ("off", "No memory"),
                                    ("ask", "A person decides what is kept"),
                                    ("on", "It is kept at once"),
                                ],
                                db_default="ask",
                                default="ask",
                                help_text="What becomes of what it notes for later conversations: off (it reads and writes no memory), ask (a person decides) or on.",
                                max_length=5,
                            ),
                        ),
                        (
                            "remember_at_end",
                            models.BooleanField(
                                db_default=False,
                                default=False,
                                help_text="Whether its model is asked now and then, after a turn, what is worth keeping. It costs one model call.",
                            ),
                        ),
                        (
                            "limit_helpers",
                            models.PositiveSmallIntegerField(
                                db_default=4,
                                default=4,
                                help_text="Helpers that it may start with one call. 0: no tool for helpers.",
                                validators=[django.core.validators.MaxValueValidator(8)],
                            ),
                        ),
                        (
                            "predefined_persona",
                            models.CharField(
                                blank=True, db_default="", default="", editable=False, max_length=40
                            ),
                        ),
                        (
                            "own_persona",
                            models.ForeignKey(
                                blank=True,
                                editable=False,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="agents",
                                to="agents.persona",
                            ),
                        ),
                        (
                            "teams",
                            models.BooleanField(
                                db_default=False,
                                default=False,
                                help_text="Whether it may lead a team of up to five teammates. Its tools take about 900 tokens of each request.",
                            ),
                        ),
                        (
                            "auto_start",
                            models.BooleanField(
                                db_default=True,
                                default=True,
                                help_text="Whether it begins assigned tasks by itself. Else each waits until a person starts it.",
                            ),
                        ),
                        (
                            "sandbox_network",
                            models.CharField(
                                choices=[
                                    ("none", "No network"),
                                    ("restricted", "The hosts that the project lists"),
                                    ("open", "All public hosts"),
                                ],
                                db_default="restricted",
                                default="restricted",
                                help_text="The network of its sandbox, as far as its project allows one.",
                                max_length=10,
                            ),
                        ),
                        (
                            "sandbox_image",
                            models.CharField(
                                blank=True,
                                db_default="",
                                default="",
                                help_text="Docker only: one of AGENT_SANDBOX_IMAGES. Empty: the default.",
                                max_length=255,
                                validators=[paca.projects.models.environment.check_image],
                            ),
                        ),
                        (
                            "allowed_commands",
                            models.JSONField(
                                blank=True,
                                default=None,
                                help_text="The only commands that it may run, such as git or npm run *. Null: all.",
                                null=True,
                                validators=[paca.projects.models.allowed_commands.check_commands],
                            ),
                        ),
                        (
                            "sandbox_disk_mib",
                            models.PositiveIntegerField(
                                blank=True,
                                help_text="What its workspace may store. Empty: the server's default.",
                                null=True,
                                validators=[django.core.validators.MinValueValidator(16)],
                            ),
                        ),
                        (
                            "sandbox_files",
                            models.PositiveIntegerField(
                                blank=True,
                                help_text="Files and folders in its workspace. Empty: 128 for each MiB.",
                                null=True,
                                validators=[django.core.validators.MinValueValidator(100)],
                            ),
                        ),
                        (
                            "setup_commands",
                            models.TextField(
                                blank=True,
                                db_default="",
                                default="",
                                help_text="A script for bash that runs once. What it installs below /opt/setup is then in each sandbox.",
                                validators=[paca.projects.models.environment.check_setup],
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
                                condition=models.Q(
                                    ("status__in", ["active", "paused", "inactive"])
                                ),
                                name="agent_is_active_paused_or_inactive",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("sandbox_life__in", ["ephemeral", "persistent"])
                                ),
                                name="agent_sandbox_is_ephemeral_or_persistent",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("approval__in", ["auto", "unsafe", "all"])),
                                name="agent_approval_is_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("verification__in", ["off", "unattended", "always"])
                                ),
                                name="agent_verification_is_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(
                                        ("limit_steps", None),
                                        ("limit_steps__gte", 1),
                                        _connector="OR",
                                    ),
                                    models.Q(
                                        ("limit_tokens", None),
                                        ("limit_tokens__gte", 1000),
                                        _connector="OR",
                                    ),
                                    models.Q(
                                        ("limit_cost_usd", None),
                                        ("limit_cost_usd__gte", Decimal("0.01")),
                                        _connector="OR",
                                    ),
                                    models.Q(
                                        ("limit_seconds", None),
                                        ("limit_seconds__gte", 10),
                                        _connector="OR",
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
                                    models.Q(
                                        ("fallback_encrypted_key", ""), ("fallback_key_last4", "")
                                    ),
                                    _connector="OR",
                                ),
                                name="agent_fallback_key_belongs_to_a_fallback",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    (
                                        "category__in",
                                        [
                                            "engineering",
                                            "product",
                                            "quality",
                                            "operations",
                                            "data",
                                            "writing",
                                            "support",
                                            "assistant",
                                            "custom",
                                        ],
                                    )
                                ),
                                name="agent_category_is_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("priority__in", [0, 1, 2, 3])),
                                name="agent_priority_is_low_to_critical",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("memory__in", ["off", "ask", "on"])),
                                name="agent_memory_policy_is_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("predefined_persona", ""),
                                    ("own_persona__isnull", True),
                                    _connector="OR",
                                ),
                                name="agent_has_one_persona_or_none",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("sandbox_network__in", ["none", "restricted", "open"])
                                ),
                                name="agent_network_is_known",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="AgentPlugin",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        (
                            "agent",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="plugin_links",
                                to="agents.agent",
                            ),
                        ),
                        (
                            "plugin",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="links",
                                to="agents.plugin",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("plugin", "agent"), name="agent_has_a_plugin_once"
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="McpServer",
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
                                max_length=30,
                                validators=[
                                    django.core.validators.RegexValidator(
                                        "^[a-z0-9]+(?:[_-][a-z0-9]+)*\\Z",
                                        "Use small letters, digits and single - or _ between them.",
                                    )
                                ],
                            ),
                        ),
                        (
                            "transport",
                            models.CharField(
                                choices=[
                                    ("stdio", "A command in the sandbox"),
                                    ("http", "HTTP"),
                                    ("sse", "HTTP with SSE (older servers)"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("command", models.CharField(blank=True, max_length=1000)),
                        (
                            "args",
                            models.JSONField(
                                blank=True,
                                default=list,
                                validators=[paca.agents.models.mcp_server.check_args],
                            ),
                        ),
                        (
                            "url",
                            models.CharField(
                                blank=True,
                                max_length=2000,
                                validators=[paca.agents.models.mcp_server.check_url],
                            ),
                        ),
                        ("env_names", models.JSONField(blank=True, default=list, editable=False)),
                        ("encrypted_env", models.TextField(blank=True, editable=False)),
                        (
                            "header_names",
                            models.JSONField(blank=True, default=list, editable=False),
                        ),
                        ("encrypted_headers", models.TextField(blank=True, editable=False)),
                        (
                            "auth",
                            models.CharField(
                                choices=[
                                    ("none", "None, or a header"),
                                    ("oauth", "OAuth: a person signs in"),
                                ],
                                default="none",
                                max_length=10,
                            ),
                        ),
                        (
                            "oauth_client_id",
                            models.CharField(
                                blank=True,
                                help_text="Only where the server's sign-in service registers no clients by itself.",
                                max_length=500,
                            ),
                        ),
                        ("encrypted_oauth_secret", models.TextField(blank=True, editable=False)),
                        ("enabled", models.BooleanField(default=True)),
                        (
                            "private_addresses",
                            models.BooleanField(
                                default=False,
                                help_text="It may be in a private network, if the project allows that.",
                            ),
                        ),
                        (
                            "accept_first",
                            models.BooleanField(
                                default=False,
                                help_text="The tools of its first connection are accepted without asking. Later ones wait.",
                            ),
                        ),
                        (
                            "start_seconds",
                            models.PositiveIntegerField(
                                default=30,
                                help_text="For the connection and the list of its tools.",
                                validators=[
                                    django.core.validators.MinValueValidator(1),
                                    django.core.validators.MaxValueValidator(300),
                                ],
                            ),
                        ),
                        (
                            "call_seconds",
                            models.PositiveIntegerField(
                                default=60,
                                help_text="For one call of a tool.",
                                validators=[
                                    django.core.validators.MinValueValidator(1),
                                    django.core.validators.MaxValueValidator(3600),
                                ],
                            ),
                        ),
                        (
                            "health_state",
                            models.CharField(
                                choices=[
                                    ("unknown", "Not tried yet"),
                                    ("available", "Works"),
                                    ("unavailable", "Does not work"),
                                    ("sign_in_needed", "Needs a sign-in"),
                                ],
                                default="unknown",
                                editable=False,
                                max_length=20,
                            ),
                        ),
                        ("health_error", models.TextField(blank=True, editable=False)),
                        ("checked_at", models.DateTimeField(blank=True, editable=False, null=True)),
                        ("has_resources", models.BooleanField(default=False, editable=False)),
                        ("has_prompts", models.BooleanField(default=False, editable=False)),
                        (
                            "agent",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="mcp_servers",
                                to="agents.agent",
                            ),
                        ),
                        (
                            "plugin",
                            models.ForeignKey(
                                blank=True,
                                editable=False,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="servers",
                                to="agents.plugin",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["name"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("agent", "name"),
                                name="mcp_server_name_is_unique_for_its_agent",
                                violation_error_message="The agent has an MCP server of this name.",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(
                                        ("transport", "stdio"),
                                        ("url", ""),
                                        models.Q(("command", ""), _negated=True),
                                    ),
                                    models.Q(
                                        ("command", ""),
                                        ("transport__in", ["http", "sse"]),
                                        models.Q(("url", ""), _negated=True),
                                    ),
                                    _connector="OR",
                                ),
                                name="mcp_server_has_a_command_or_a_url",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("auth", "none"),
                                    models.Q(("auth", "oauth"), ("transport__in", ["http", "sse"])),
                                    _connector="OR",
                                ),
                                name="mcp_server_signs_in_over_http",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="McpSignIn",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("state_hash", models.CharField(max_length=64, unique=True)),
                        ("session_hash", models.CharField(max_length=64)),
                        ("encrypted_flow", models.TextField()),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "server",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="sign_ins",
                                to="agents.mcpserver",
                            ),
                        ),
                        (
                            "user",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Persona",
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
                            "category",
                            models.CharField(
                                choices=[
                                    ("engineering", "Engineering"),
                                    ("product", "Product"),
                                    ("quality", "Quality"),
                                    ("operations", "Operations"),
                                    ("data", "Data"),
                                    ("writing", "Writing"),
                                    ("support", "Support"),
                                    ("assistant", "Assistant"),
                                    ("custom", "Custom"),
                                ],
                                default="custom",
                                max_length=20,
                            ),
                        ),
                        (
                            "text",
                            models.TextField(
                                validators=[django.core.validators.MaxLengthValidator(20000)]
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="personas",
                                to="projects.project",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["name", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                models.F("project"),
                                django.db.models.functions.text.Lower("name"),
                                name="persona_name_is_unique_in_its_project",
                                violation_error_message="The project has a persona of this name.",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("name", ""), _negated=True),
                                    models.Q(("text", ""), _negated=True),
                                ),
                                name="persona_has_name_and_text",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    (
                                        "category__in",
                                        [
                                            "engineering",
                                            "product",
                                            "quality",
                                            "operations",
                                            "data",
                                            "writing",
                                            "support",
                                            "assistant",
                                            "custom",
                                        ],
                                    )
                                ),
                                name="persona_category_is_known",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Plugin",
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
                        ("slug", models.CharField(blank=True, max_length=40)),
                        ("name", models.CharField(blank=True, max_length=100)),
                        (
                            "description",
                            models.TextField(
                                blank=True,
                                validators=[django.core.validators.MaxLengthValidator(2000)],
                            ),
                        ),
                        ("skills", models.JSONField(blank=True, default=list)),
                        ("mcp_servers", models.JSONField(blank=True, default=dict)),
                        ("settings", models.JSONField(blank=True, default=dict)),
                        ("enabled", models.BooleanField(default=True)),
                        (
                            "agents",
                            models.ManyToManyField(
                                related_name="plugins",
                                through="agents.AgentPlugin",
                                to="agents.agent",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="plugins",
                                to="projects.project",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["created_at", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                condition=models.Q(("slug", ""), _negated=True),
                                fields=("project", "slug"),
                                name="built_in_plugin_is_once_in_a_project",
                            ),
                            models.UniqueConstraint(
                                models.F("project"),
                                django.db.models.functions.text.Lower("name"),
                                condition=models.Q(("slug", "")),
                                name="plugin_name_is_unique_in_its_project",
                                violation_error_message="The project has a plugin of this name.",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("slug", ""), models.Q(("name", ""), _negated=True)),
                                    models.Q(models.Q(("slug", ""), _negated=True), ("name", "")),
                                    _connector="OR",
                                ),
                                name="plugin_has_a_slug_or_a_name",
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
                                condition=models.Q(
                                    ("source__in", ["inline", "template", "upload"])
                                ),
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
                                fields=("skill", "path"),
                                name="skill_file_path_is_unique_in_its_skill",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="EnvVar",
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
                        ("encrypted_value", models.TextField(blank=True, editable=False)),
                        ("secret", models.BooleanField(default=True)),
                        (
                            "agent",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="variables",
                                to="agents.agent",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="variables",
                                to="projects.project",
                            ),
                        ),
                    ],
                    options={
                        "verbose_name": "environment variable",
                        "ordering": ["name", "id"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("agent", None), ("project__isnull", False)),
                                    models.Q(("agent__isnull", False), ("project", None)),
                                    _connector="OR",
                                ),
                                name="variable_belongs_to_an_agent_or_a_project",
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(("agent__isnull", False)),
                                fields=("agent", "name"),
                                name="agent_has_a_variable_once",
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(("project__isnull", False)),
                                fields=("project", "name"),
                                name="project_has_a_variable_once",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="McpGrant",
                    fields=[
                        (
                            "server",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="grant",
                                serialize=False,
                                to="agents.mcpserver",
                            ),
                        ),
                        ("issuer", models.TextField()),
                        ("token_endpoint", models.TextField()),
                        ("resource", models.TextField()),
                        ("client_id", models.TextField()),
                        ("token_auth", models.CharField(max_length=30)),
                        ("encrypted_client_secret", models.TextField(blank=True)),
                        ("encrypted_access_token", models.TextField(blank=True)),
                        ("encrypted_refresh_token", models.TextField(blank=True)),
                        ("scope", models.TextField(blank=True)),
                        ("expires_at", models.DateTimeField(null=True)),
                        ("granted_at", models.DateTimeField()),
                        ("renewal", models.UUIDField(null=True)),
                        ("renewal_until", models.DateTimeField(null=True)),
                        ("lost_reason", models.TextField(blank=True)),
                        (
                            "by",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to=settings.AUTH_USER_MODEL,
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="McpTool",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("name", models.CharField(max_length=200)),
                        ("description", models.TextField(blank=True)),
                        ("schema", models.JSONField(default=dict)),
                        ("says_read_only", models.BooleanField(default=False)),
                        ("says_destructive", models.BooleanField(default=False)),
                        ("hash", models.CharField(max_length=64)),
                        ("offered", models.BooleanField(default=True)),
                        ("accepted_hash", models.CharField(blank=True, max_length=64)),
                        ("accepted_text", models.TextField(blank=True)),
                        ("refused_hash", models.CharField(blank=True, max_length=64)),
                        ("safe", models.BooleanField(default=False)),
                        ("enabled", models.BooleanField(default=True)),
                        (
                            "server",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="tools",
                                to="agents.mcpserver",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["name"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("server", "name"),
                                name="mcp_tool_name_is_unique_for_its_server",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="ModelKey",
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
                        ("provider", models.CharField(max_length=50)),
                        (
                            "base_url",
                            models.CharField(
                                blank=True,
                                max_length=500,
                                validators=[paca.agents.models.agent_fields.check_base_url],
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
                                condition=models.Q(
                                    ("user", None), ("project", None), _connector="OR"
                                ),
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
                                condition=models.Q(
                                    ("project__isnull", True), ("user__isnull", True)
                                ),
                                fields=("provider", "base_url"),
                                name="server_has_one_model_key_of_an_address",
                            ),
                        ],
                    },
                ),
            ],
        ),
    ]
