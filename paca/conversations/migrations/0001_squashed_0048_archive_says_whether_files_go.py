"""The tables of conversations at once, for a new database. One that has some of the replaced migrations goes on with these."""

from importlib import import_module
import django.core.validators
import django.db.models.deletion
from paca.common.migrations import CreateModels
import paca.common.time_zones
import paca.conversations.models.check_ins
import uuid
from django.db import migrations, models

LAWS = import_module("paca.conversations.migrations.0002_laws")
APPROVALS = import_module("paca.conversations.migrations.0030_calls_wait_for_approval")
VERSIONS = import_module("paca.conversations.migrations.0046_workers_claim_what_they_know")


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("conversations", "0001_initial"),
        ("conversations", "0002_laws"),
        ("conversations", "0003_chat_is_begun_once"),
        ("conversations", "0004_workers_say_where_they_are"),
        ("conversations", "0005_usage_may_be_untold"),
        ("conversations", "0006_triggers_are_due_at_once"),
        ("conversations", "0007_workers_count_what_they_remove"),
        ("conversations", "0008_sandboxes_name_their_volume"),
        ("conversations", "0009_sandboxes_stand_ready"),
        ("conversations", "0010_claims_stay_quick"),
        ("conversations", "0011_statuses_are_known"),
        ("conversations", "0012_sandbox_states_are_known"),
        ("conversations", "0013_plain_words"),
        ("conversations", "0014_triggers_have_a_place_in_the_log"),
        ("conversations", "0015_every_trigger_has_a_place_in_the_log"),
        ("conversations", "0016_full_outputs_are_kept"),
        ("conversations", "0017_messages_can_be_withdrawn"),
        ("conversations", "0018_workspaces_have_a_size"),
        ("conversations", "0019_conversations_are_about_tasks_and_docs"),
        ("conversations", "0020_triggers_wait_for_their_delivery"),
        ("conversations", "0021_agents_suggest_descriptions"),
        ("conversations", "0022_ends_of_assignments_wait_for_their_delivery"),
        ("conversations", "0023_model_calls_have_a_purpose"),
        ("conversations", "0024_present_calls_get_their_project"),
        ("conversations", "0025_model_calls_outlive_conversations"),
        ("conversations", "0026_conversations_tell_their_context"),
        ("conversations", "0027_conversations_are_forked"),
        ("conversations", "0028_conversations_are_archived"),
        ("conversations", "0029_calls_hold_budgets"),
        ("conversations", "0030_calls_wait_for_approval"),
        ("conversations", "0031_conversations_have_a_todo_list"),
        ("conversations", "0032_calls_are_traced"),
        ("conversations", "0033_people_answer_questions_and_plans"),
        ("conversations", "0034_calls_say_whose_key_they_used"),
        ("conversations", "0035_agents_check_in"),
        ("conversations", "0036_status_changes_are_planned"),
        ("conversations", "0037_commands_run_in_the_background"),
        ("conversations", "0038_agents_remember"),
        ("conversations", "0039_conversations_have_helpers"),
        ("conversations", "0040_conversations_lead_teams"),
        ("conversations", "0041_assigned_work_may_wait_for_a_start"),
        ("conversations", "0042_conversations_tell_their_network"),
        ("conversations", "0043_conversations_have_branches"),
        ("conversations", "0044_conversations_show_their_branch"),
        ("conversations", "0045_people_ask_for_files"),
        ("conversations", "0046_workers_claim_what_they_know"),
        ("conversations", "0047_sandboxes_are_set_up"),
        ("conversations", "0048_archive_says_whether_files_go"),
    ]

    dependencies = [
        ("agents", "0001_squashed_0029_sandboxes_are_set_up"),
        ("projects", "0002_squashed_0021_sandboxes_are_set_up"),
        ("repositories", "0001_squashed_0002_reviews_come_from_known_accounts"),
    ]

    operations = [
        CreateModels(
            operations=[
                migrations.CreateModel(
                    name="Blob",
                    fields=[
                        (
                            "sha256",
                            models.CharField(max_length=64, primary_key=True, serialize=False),
                        ),
                        ("body", models.TextField()),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                ),
                migrations.CreateModel(
                    name="BudgetLock",
                    fields=[
                        (
                            "owner",
                            models.UUIDField(editable=False, primary_key=True, serialize=False),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Conversation",
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
                            "trigger_type",
                            models.CharField(
                                choices=[
                                    ("chat_message", "Chat Message"),
                                    ("task_assigned", "Task Assigned"),
                                    ("comment_mention", "Comment Mention"),
                                    ("description_write", "Description Write"),
                                    ("execute", "Execute"),
                                    ("check_in", "Check In"),
                                    ("helper", "Helper"),
                                    ("teammate", "Teammate"),
                                ],
                                max_length=20,
                            ),
                        ),
                        ("title", models.CharField(blank=True, max_length=200)),
                        (
                            "status",
                            models.CharField(
                                choices=[
                                    ("queued", "Queued"),
                                    ("running", "Running"),
                                    ("waiting", "Waiting"),
                                    ("paused", "Paused"),
                                    ("finished", "Finished"),
                                    ("failed", "Failed"),
                                    ("stopped", "Stopped"),
                                ],
                                default="queued",
                                max_length=10,
                            ),
                        ),
                        ("reason", models.CharField(blank=True, max_length=30)),
                        ("detail", models.TextField(blank=True)),
                        ("activity", models.CharField(blank=True, max_length=30)),
                        ("next_seq", models.BigIntegerField(default=1)),
                        ("turn_number", models.PositiveIntegerField(default=0)),
                        ("lease_owner", models.CharField(blank=True, max_length=100)),
                        ("lease_epoch", models.BigIntegerField(default=0)),
                        ("lease_until", models.DateTimeField(null=True)),
                        (
                            "lost_workers",
                            models.PositiveIntegerField(db_column="takeovers", default=0),
                        ),
                        ("input_tokens", models.BigIntegerField(default=0)),
                        ("output_tokens", models.BigIntegerField(default=0)),
                        ("cache_read_tokens", models.BigIntegerField(default=0)),
                        ("cache_write_tokens", models.BigIntegerField(default=0)),
                        ("cost_usd", models.FloatField(default=0)),
                        ("unpriced_calls", models.PositiveIntegerField(default=0)),
                        ("context", models.JSONField(editable=False, null=True)),
                        ("todo", models.JSONField(editable=False, null=True)),
                        (
                            "rest_approved_by",
                            models.CharField(blank=True, max_length=200, null=True),
                        ),
                        ("read_only", models.BooleanField(editable=False, null=True)),
                        ("tracing", models.BooleanField(editable=False, null=True)),
                        ("plan_mode", models.BooleanField(editable=False, null=True)),
                        ("plan", models.JSONField(editable=False, null=True)),
                        ("last_activity_at", models.DateTimeField(auto_now_add=True)),
                        ("started_at", models.DateTimeField(null=True)),
                        ("finished_at", models.DateTimeField(null=True)),
                        ("archived_at", models.DateTimeField(null=True)),
                        ("deleted_at", models.DateTimeField(null=True)),
                        (
                            "agent",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="conversations",
                                to="agents.agent",
                            ),
                        ),
                        (
                            "comment",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="projects.comment",
                            ),
                        ),
                        (
                            "doc",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="conversations",
                                to="projects.doc",
                            ),
                        ),
                        (
                            "forked_from",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="forks",
                                to="conversations.conversation",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="conversations",
                                to="projects.project",
                            ),
                        ),
                        (
                            "task",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="conversations",
                                to="projects.task",
                            ),
                        ),
                        (
                            "triggered_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="projects.member",
                            ),
                        ),
                        (
                            "session",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="all",
                                to="conversations.chatsession",
                            ),
                        ),
                        (
                            "background_running",
                            models.PositiveIntegerField(editable=False, null=True),
                        ),
                        ("allowance", models.JSONField(editable=False, null=True)),
                        (
                            "helper_kind",
                            models.CharField(
                                choices=[
                                    ("general", "general"),
                                    ("explore", "explore"),
                                    ("plan", "plan"),
                                    ("code", "code"),
                                    ("research", "research"),
                                ],
                                editable=False,
                                max_length=20,
                                null=True,
                            ),
                        ),
                        (
                            "parent",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="children",
                                to="conversations.conversation",
                            ),
                        ),
                        ("parent_call", models.CharField(editable=False, max_length=64, null=True)),
                        ("piece", models.PositiveSmallIntegerField(editable=False, null=True)),
                        ("settled_at", models.DateTimeField(editable=False, null=True)),
                        ("teams", models.BooleanField(editable=False, null=True)),
                        ("held", models.BooleanField(editable=False, null=True)),
                        ("branch", models.CharField(editable=False, max_length=255, null=True)),
                        ("pr_url", models.CharField(editable=False, max_length=1000, null=True)),
                        (
                            "least_worker",
                            models.PositiveSmallIntegerField(editable=False, null=True),
                        ),
                        ("queued_at", models.DateTimeField(editable=False, null=True)),
                        ("files_go", models.BooleanField(editable=False, null=True)),
                    ],
                    options={
                        "indexes": [
                            models.Index(
                                fields=["project", "-last_activity_at"], name="conversation_list"
                            ),
                            models.Index(
                                condition=models.Q(
                                    ("status__in", ["queued", "running", "waiting"])
                                ),
                                fields=["status", "lease_until"],
                                name="conversation_claim",
                            ),
                            models.Index(fields=["agent", "status"], name="conversation_of_agent"),
                            models.Index(
                                fields=["status", "reason", "deleted_at"], name="conversation_state"
                            ),
                            models.Index(
                                condition=models.Q(
                                    ("parent__isnull", False), ("settled_at__isnull", True)
                                ),
                                fields=["status"],
                                name="conversation_unsettled",
                            ),
                            models.Index(
                                condition=models.Q(("status__in", ["running", "waiting"])),
                                fields=["project", "lease_until"],
                                name="conversation_at_work",
                            ),
                        ],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    (
                                        "status__in",
                                        [
                                            "queued",
                                            "running",
                                            "waiting",
                                            "paused",
                                            "finished",
                                            "failed",
                                            "stopped",
                                        ],
                                    )
                                ),
                                name="conversation_status_is_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("next_seq__gte", 1)),
                                name="conversation_seq_starts_at_one",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("task__isnull", True), ("doc__isnull", True), _connector="OR"
                                ),
                                name="conversation_is_about_one_task_or_one_doc",
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(
                                    ("deleted_at__isnull", True),
                                    ("task__isnull", False),
                                    ("trigger_type__in", ["task_assigned", "comment_mention"]),
                                ),
                                fields=("agent", "task"),
                                name="agent_has_one_conversation_on_a_task",
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(
                                    ("deleted_at__isnull", True),
                                    ("doc__isnull", False),
                                    ("trigger_type__in", ["task_assigned", "comment_mention"]),
                                ),
                                fields=("agent", "doc"),
                                name="agent_has_one_conversation_on_a_doc",
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(("parent__isnull", False)),
                                fields=("parent", "parent_call", "piece"),
                                name="piece_of_work_has_one_helper",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="ToolCall",
                    fields=[
                        ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                        ("turn", models.PositiveIntegerField()),
                        ("tool", models.CharField(max_length=100)),
                        ("arguments_hash", models.CharField(max_length=64)),
                        ("effect", models.CharField(max_length=20)),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("called", "Called"),
                                    ("started", "Started"),
                                    ("done", "Done"),
                                    ("failed", "Failed"),
                                    ("unknown", "Unknown"),
                                ],
                                default="called",
                                max_length=10,
                            ),
                        ),
                        ("cause", models.CharField(blank=True, max_length=20)),
                        ("exit_code", models.IntegerField(null=True)),
                        ("boot_id", models.CharField(blank=True, max_length=64)),
                        ("epoch", models.BigIntegerField()),
                        ("called_at", models.DateTimeField()),
                        ("started_at", models.DateTimeField(null=True)),
                        ("finished_at", models.DateTimeField(null=True)),
                        (
                            "conversation",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="tool_calls",
                                to="conversations.conversation",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    (
                                        "state__in",
                                        ["called", "started", "done", "failed", "unknown"],
                                    )
                                ),
                                name="tool_call_state_is_known",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="FullOutputPart",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("number", models.PositiveIntegerField()),
                        ("data", models.BinaryField()),
                        (
                            "output",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="parts",
                                to="conversations.fulloutput",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("output", "number"),
                                name="full_output_part_number_is_unique",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="TracedCall",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("call_id", models.UUIDField(unique=True)),
                        ("number", models.PositiveIntegerField()),
                        ("first_number", models.PositiveIntegerField()),
                        ("turn", models.PositiveIntegerField()),
                        ("attempt", models.PositiveIntegerField()),
                        (
                            "purpose",
                            models.CharField(
                                choices=[
                                    ("turn", "Turn"),
                                    ("title", "Title"),
                                    ("memory", "Memory"),
                                    ("compaction", "Compaction"),
                                    ("helper", "Helper"),
                                    ("connection_test", "Connection Test"),
                                ],
                                max_length=20,
                            ),
                        ),
                        ("model", models.CharField(max_length=200)),
                        ("outcome", models.CharField(max_length=10)),
                        ("asked_at", models.DateTimeField(db_index=True)),
                        ("first_byte_seconds", models.FloatField(null=True)),
                        ("first_token_seconds", models.FloatField(null=True)),
                        ("last_byte_seconds", models.FloatField(null=True)),
                        ("http_status", models.PositiveIntegerField(null=True)),
                        ("request_id", models.CharField(blank=True, max_length=200)),
                        ("request_bytes", models.BigIntegerField(default=0)),
                        ("omitted_bytes", models.BigIntegerField(default=0)),
                        ("contents", models.BinaryField()),
                        (
                            "trace",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="calls",
                                to="conversations.trace",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("trace", "number"), name="traced_call_number_is_unique"
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Worker",
                    fields=[
                        ("id", models.CharField(max_length=100, primary_key=True, serialize=False)),
                        ("host", models.CharField(max_length=100)),
                        (
                            "pid_namespace",
                            models.CharField(db_column="place", default="", max_length=200),
                        ),
                        ("pid", models.PositiveIntegerField()),
                        ("process_started", models.CharField(max_length=40)),
                        ("concurrency", models.PositiveIntegerField()),
                        ("draining", models.BooleanField(default=False)),
                        ("sandbox", models.CharField(blank=True, default="", max_length=20)),
                        ("sandbox_fault", models.TextField(blank=True, default="")),
                        ("sandboxes_reaped", models.PositiveIntegerField(default=0)),
                        ("started_at", models.DateTimeField(auto_now_add=True)),
                        ("heartbeat_at", models.DateTimeField()),
                        ("version", models.PositiveSmallIntegerField(db_default=0, default=0)),
                    ],
                ),
                migrations.CreateModel(
                    name="ChatSession",
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
                        ("client_id", models.CharField(blank=True, max_length=100)),
                        (
                            "agent",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="sessions",
                                to="agents.agent",
                            ),
                        ),
                        (
                            "member",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="chat_sessions",
                                to="projects.member",
                            ),
                        ),
                        (
                            "conversation",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="conversations.conversation",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(
                                condition=models.Q(("client_id", ""), _negated=True),
                                fields=("agent", "member", "client_id"),
                                name="chat_is_begun_once_by_its_client_id",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="CheckIn",
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
                            "prompt",
                            models.TextField(
                                help_text="What the agent looks after.",
                                validators=[django.core.validators.MaxLengthValidator(20000)],
                            ),
                        ),
                        ("enabled", models.BooleanField(default=True)),
                        (
                            "every_minutes",
                            models.PositiveIntegerField(
                                blank=True,
                                help_text="The time between two slots. Empty: daily at the hours of daily_at.",
                                null=True,
                                validators=[
                                    django.core.validators.MinValueValidator(5),
                                    django.core.validators.MaxValueValidator(10080),
                                ],
                            ),
                        ),
                        (
                            "daily_at",
                            models.JSONField(
                                blank=True,
                                default=list,
                                help_text="Hours of the day, such as 09:30.",
                                validators=[paca.conversations.models.check_ins.check_daily_at],
                            ),
                        ),
                        (
                            "weekdays",
                            models.JSONField(
                                default=paca.conversations.models.check_ins.all_weekdays,
                                help_text="1 is Monday, 7 is Sunday.",
                                validators=[paca.conversations.models.check_ins.check_weekdays],
                            ),
                        ),
                        ("active_from", models.TimeField(blank=True, null=True)),
                        ("active_to", models.TimeField(blank=True, null=True)),
                        (
                            "time_zone",
                            models.CharField(
                                blank=True,
                                help_text="Empty: the project's, or else the server's.",
                                max_length=64,
                                validators=[paca.common.time_zones.check],
                            ),
                        ),
                        (
                            "auto_act",
                            models.BooleanField(
                                default=False,
                                help_text="Off: the agent has read-only tools and can change nothing.",
                            ),
                        ),
                        (
                            "with_tasks",
                            models.BooleanField(
                                default=False,
                                help_text="The message names up to three open tasks assigned to the agent.",
                            ),
                        ),
                        ("next_at", models.DateTimeField(editable=False, null=True)),
                        (
                            "agent",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="check_ins",
                                to="agents.agent",
                            ),
                        ),
                        (
                            "doc",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="projects.doc",
                            ),
                        ),
                        (
                            "task",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="projects.task",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["created_at", "id"],
                        "indexes": [
                            models.Index(
                                condition=models.Q(("next_at__isnull", False)),
                                fields=["next_at"],
                                name="check_in_due",
                            )
                        ],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("name", ""), _negated=True),
                                    models.Q(("prompt", ""), _negated=True),
                                ),
                                name="check_in_has_name_and_prompt",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("every_minutes", None),
                                    models.Q(
                                        ("every_minutes__gte", 5), ("every_minutes__lte", 10080)
                                    ),
                                    _connector="OR",
                                ),
                                name="check_in_interval_is_five_minutes_to_a_week",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("active_from", None), ("active_to", None)),
                                    models.Q(
                                        ("active_from__isnull", False),
                                        ("active_to__isnull", False),
                                        models.Q(
                                            ("active_from", models.F("active_to")), _negated=True
                                        ),
                                    ),
                                    _connector="OR",
                                ),
                                name="check_in_has_both_active_hours_or_none",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("task__isnull", True), ("doc__isnull", True), _connector="OR"
                                ),
                                name="check_in_reports_to_one_place",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("enabled", True), ("next_at", None), _connector="OR"
                                ),
                                name="check_in_that_is_off_has_no_slot",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="SetupUse",
                    fields=[
                        (
                            "conversation",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="+",
                                serialize=False,
                                to="conversations.conversation",
                            ),
                        ),
                        ("used_at", models.DateTimeField()),
                        (
                            "setup",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="uses",
                                to="conversations.sandboxsetup",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="Trace",
                    fields=[
                        (
                            "conversation",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="trace",
                                serialize=False,
                                to="conversations.conversation",
                            ),
                        ),
                        ("encrypted_key", models.TextField()),
                        ("next_number", models.PositiveIntegerField(default=1)),
                        ("stored_bytes", models.BigIntegerField(default=0)),
                        ("dropped_calls", models.PositiveIntegerField(default=0)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                ),
                migrations.CreateModel(
                    name="CheckInRun",
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
                        ("slot_at", models.DateTimeField(null=True)),
                        (
                            "outcome",
                            models.CharField(
                                choices=[("started", "Started"), ("skipped", "Skipped")],
                                max_length=10,
                            ),
                        ),
                        (
                            "reason",
                            models.CharField(
                                blank=True,
                                choices=[
                                    ("missed", "No worker was running at that time"),
                                    ("agent_paused", "The agent was paused"),
                                    ("agent_inactive", "The agent was inactive"),
                                    ("busy", "The former check-in was not finished"),
                                    ("outside_hours", "It came late, outside of the active hours"),
                                    ("budget_reached", "The budget was used up"),
                                    (
                                        "report_deleted",
                                        "The task or doc that gets the report is deleted",
                                    ),
                                    (
                                        "failed",
                                        "It could not be started; the log of the worker says why",
                                    ),
                                ],
                                max_length=20,
                            ),
                        ),
                        ("count", models.PositiveIntegerField(default=1)),
                        ("started_by", models.CharField(blank=True, max_length=200)),
                        (
                            "check_in",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="runs",
                                to="conversations.checkin",
                            ),
                        ),
                        (
                            "conversation",
                            models.OneToOneField(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="check_in_run",
                                to="conversations.conversation",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-created_at", "-id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("check_in", "slot_at"), name="check_in_slot_runs_once"
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("outcome", "started"), ("reason", "")),
                                    models.Q(
                                        ("outcome", "skipped"),
                                        models.Q(("reason", ""), _negated=True),
                                    ),
                                    _connector="OR",
                                ),
                                name="check_in_run_is_started_or_says_why_not",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="BackgroundCommand",
                    fields=[
                        ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                        ("handle", models.CharField(max_length=20)),
                        ("command", models.TextField()),
                        ("boot_id", models.CharField(blank=True, max_length=64)),
                        (
                            "state",
                            models.CharField(
                                choices=[("running", "Running"), ("ended", "Ended")],
                                default="running",
                                max_length=10,
                            ),
                        ),
                        ("exit_code", models.IntegerField(null=True)),
                        ("cause", models.CharField(blank=True, db_default="", max_length=20)),
                        ("output", models.TextField(blank=True, db_default="")),
                        ("file", models.CharField(blank=True, db_default="", max_length=200)),
                        ("stop_by", models.CharField(blank=True, db_default="", max_length=200)),
                        ("stop_requested_at", models.DateTimeField(null=True)),
                        ("wake_due", models.BooleanField(db_default=False, default=False)),
                        ("look_at", models.DateTimeField()),
                        ("started_at", models.DateTimeField()),
                        ("deadline_at", models.DateTimeField()),
                        ("finished_at", models.DateTimeField(null=True)),
                        (
                            "conversation",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="background_commands",
                                to="conversations.conversation",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-started_at", "-id"],
                        "indexes": [
                            models.Index(
                                condition=models.Q(
                                    ("state", "running"), ("wake_due", True), _connector="OR"
                                ),
                                fields=["look_at"],
                                name="background_command_watched",
                            )
                        ],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("state__in", ["running", "ended"])),
                                name="background_command_state_is_known",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="ConversationBranch",
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
                        ("branch", models.CharField(max_length=255)),
                        ("base_branch", models.CharField(blank=True, default="", max_length=255)),
                        ("base", models.CharField(blank=True, default="", max_length=64)),
                        ("pushed", models.CharField(blank=True, default="", max_length=64)),
                        ("pr_number", models.PositiveBigIntegerField(blank=True, null=True)),
                        ("pr_url", models.CharField(blank=True, default="", max_length=1000)),
                        (
                            "state",
                            models.CharField(
                                blank=True,
                                choices=[
                                    ("open", "Open"),
                                    ("merged", "Merged"),
                                    ("closed", "Closed without a merge"),
                                ],
                                default="",
                                max_length=10,
                            ),
                        ),
                        (
                            "conversation",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="branches",
                                to="conversations.conversation",
                            ),
                        ),
                        (
                            "repository",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="branches",
                                to="repositories.repository",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-updated_at", "-id"],
                        "indexes": [
                            models.Index(
                                condition=models.Q(("pr_number__isnull", False)),
                                fields=["repository", "pr_number"],
                                name="branch_by_pull_request",
                            )
                        ],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("conversation", "repository", "branch"),
                                name="branch_is_one_row_for_each_conversation",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("pr_number", None), ("pr_url", ""), ("state", "")),
                                    models.Q(
                                        ("pr_number__isnull", False),
                                        ("state__in", ["open", "merged", "closed"]),
                                        models.Q(("pr_url", ""), _negated=True),
                                    ),
                                    _connector="OR",
                                ),
                                name="pull_request_has_a_number_an_address_and_a_state",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Event",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("seq", models.BigIntegerField()),
                        ("type", models.CharField(max_length=60)),
                        ("source", models.CharField(max_length=60)),
                        ("turn", models.PositiveIntegerField(null=True)),
                        ("epoch", models.BigIntegerField(default=0)),
                        ("at", models.DateTimeField()),
                        ("payload", models.TextField(blank=True)),
                        (
                            "blob",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="conversations.blob",
                            ),
                        ),
                        (
                            "conversation",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="events",
                                to="conversations.conversation",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("conversation", "seq"),
                                name="event_seq_is_unique_in_conversation",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("seq__gte", 1)), name="event_seq_starts_at_one"
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="FileRequest",
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
                        ("op", models.CharField(max_length=20)),
                        ("arguments", models.JSONField(default=dict)),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("waiting", "Waiting"),
                                    ("taken", "Taken"),
                                    ("streaming", "Streaming"),
                                    ("done", "Done"),
                                    ("failed", "Failed"),
                                ],
                                default="waiting",
                                max_length=10,
                            ),
                        ),
                        ("worker", models.CharField(blank=True, db_default="", max_length=100)),
                        ("answer", models.JSONField(null=True)),
                        ("error_code", models.CharField(blank=True, db_default="", max_length=50)),
                        ("error_detail", models.TextField(blank=True, db_default="")),
                        ("read_parts", models.PositiveIntegerField(db_default=0, default=0)),
                        ("created_at", models.DateTimeField()),
                        ("expires_at", models.DateTimeField()),
                        (
                            "conversation",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="file_requests",
                                to="conversations.conversation",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["created_at", "id"],
                        "indexes": [
                            models.Index(
                                condition=models.Q(("state", "waiting")),
                                fields=["created_at"],
                                name="file_request_waiting",
                            )
                        ],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    (
                                        "state__in",
                                        ["waiting", "taken", "streaming", "done", "failed"],
                                    )
                                ),
                                name="file_request_state_is_known",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="FileRequestPart",
                    fields=[
                        ("id", models.BigAutoField(primary_key=True, serialize=False)),
                        ("number", models.PositiveIntegerField()),
                        ("data", models.BinaryField()),
                        (
                            "request",
                            models.ForeignKey(
                                db_index=False,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="parts",
                                to="conversations.filerequest",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("request", "number"),
                                name="file_request_part_number_is_unique",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="FullOutput",
                    fields=[
                        (
                            "call",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                primary_key=True,
                                related_name="full_output",
                                serialize=False,
                                to="conversations.toolcall",
                            ),
                        ),
                        ("size_bytes", models.BigIntegerField(null=True)),
                        ("stored_bytes", models.BigIntegerField(default=0)),
                        ("created_at", models.DateTimeField(auto_now_add=True)),
                    ],
                ),
                migrations.CreateModel(
                    name="MemoryEntry",
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
                                blank=True,
                                validators=[django.core.validators.MaxLengthValidator(500)],
                            ),
                        ),
                        ("fingerprint", models.CharField(editable=False, max_length=64)),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("waiting", "Waits for a person"),
                                    ("accepted", "In the memory"),
                                    ("refused", "Refused"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("pinned", models.BooleanField(default=False)),
                        ("accepted_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "agent",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="memory_entries",
                                to="agents.agent",
                            ),
                        ),
                        (
                            "author",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="projects.member",
                            ),
                        ),
                        (
                            "checked_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="projects.member",
                            ),
                        ),
                        (
                            "conversation",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="conversations.conversation",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="memory_entries",
                                to="projects.project",
                            ),
                        ),
                        (
                            "replaces",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="replacements",
                                to="conversations.memoryentry",
                            ),
                        ),
                    ],
                    options={
                        "verbose_name_plural": "memory entries",
                        "ordering": ["created_at", "id"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("agent__isnull", False), ("project__isnull", True)),
                                    models.Q(("agent__isnull", True), ("project__isnull", False)),
                                    _connector="OR",
                                ),
                                name="memory_belongs_to_one_agent_or_one_project",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("state__in", ["waiting", "accepted", "refused"])
                                ),
                                name="memory_state_is_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("text", ""), _negated=True),
                                    models.Q(
                                        ("replaces__isnull", False),
                                        models.Q(("state", "accepted"), _negated=True),
                                    ),
                                    _connector="OR",
                                ),
                                name="memory_without_a_text_takes_an_entry_out",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("accepted_at__isnull", False), ("state", "accepted")),
                                    models.Q(
                                        models.Q(("state", "accepted"), _negated=True),
                                        ("accepted_at__isnull", True),
                                        ("pinned", False),
                                    ),
                                    _connector="OR",
                                ),
                                name="memory_is_accepted_at_a_time",
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(("agent__isnull", False)),
                                fields=("agent", "fingerprint"),
                                name="memory_of_an_agent_has_each_text_once",
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(("project__isnull", False)),
                                fields=("project", "fingerprint"),
                                name="memory_of_a_project_has_each_text_once",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="ModelCall",
                    fields=[
                        ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                        (
                            "purpose",
                            models.CharField(
                                choices=[
                                    ("turn", "Turn"),
                                    ("title", "Title"),
                                    ("memory", "Memory"),
                                    ("compaction", "Compaction"),
                                    ("helper", "Helper"),
                                    ("connection_test", "Connection Test"),
                                ],
                                db_default="turn",
                                default="turn",
                                max_length=20,
                            ),
                        ),
                        ("turn", models.PositiveIntegerField(blank=True, null=True)),
                        ("attempt", models.PositiveIntegerField(default=1)),
                        ("model", models.CharField(max_length=200)),
                        (
                            "key_source",
                            models.CharField(blank=True, db_default="", default="", max_length=10),
                        ),
                        (
                            "status",
                            models.CharField(
                                choices=[
                                    ("started", "Started"),
                                    ("done", "Done"),
                                    ("failed", "Failed"),
                                    ("cancelled", "Cancelled"),
                                    ("abandoned", "Abandoned"),
                                ],
                                default="started",
                                max_length=10,
                            ),
                        ),
                        ("input_tokens", models.BigIntegerField(default=0, null=True)),
                        ("output_tokens", models.BigIntegerField(default=0, null=True)),
                        ("cache_read_tokens", models.BigIntegerField(default=0, null=True)),
                        ("cache_write_tokens", models.BigIntegerField(default=0, null=True)),
                        ("cost_usd", models.FloatField(null=True)),
                        ("held_tokens", models.BigIntegerField(db_default=0, default=0)),
                        ("held_usd", models.FloatField(db_default=0.0, default=0)),
                        ("epoch", models.BigIntegerField(default=0)),
                        ("started_at", models.DateTimeField()),
                        ("finished_at", models.DateTimeField(null=True)),
                        (
                            "agent",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.PROTECT,
                                related_name="+",
                                to="agents.agent",
                            ),
                        ),
                        (
                            "conversation",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="model_calls",
                                to="conversations.conversation",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                db_index=False,
                                null=True,
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="projects.project",
                            ),
                        ),
                    ],
                    options={
                        "indexes": [
                            models.Index(
                                fields=["project", "started_at"], name="model_call_of_day"
                            ),
                            models.Index(
                                fields=["agent", "started_at"], name="model_call_of_agent"
                            ),
                        ],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    (
                                        "status__in",
                                        ["started", "done", "failed", "cancelled", "abandoned"],
                                    )
                                ),
                                name="model_call_status_is_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    (
                                        "purpose__in",
                                        [
                                            "turn",
                                            "title",
                                            "memory",
                                            "compaction",
                                            "helper",
                                            "connection_test",
                                        ],
                                    )
                                ),
                                name="model_call_purpose_is_known",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="NetworkBook",
                    fields=[
                        (
                            "id",
                            models.CharField(
                                editable=False, max_length=32, primary_key=True, serialize=False
                            ),
                        ),
                        ("read_bytes", models.PositiveBigIntegerField(default=0)),
                        (
                            "conversation",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="network_books",
                                to="conversations.conversation",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="NetworkUse",
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
                        ("host", models.CharField(blank=True, max_length=253)),
                        ("port", models.PositiveIntegerField()),
                        ("reason", models.CharField(blank=True, max_length=20)),
                        ("connections", models.PositiveIntegerField(default=0)),
                        ("sent_bytes", models.PositiveBigIntegerField(default=0)),
                        ("received_bytes", models.PositiveBigIntegerField(default=0)),
                        ("first_at", models.DateTimeField()),
                        ("last_at", models.DateTimeField()),
                        (
                            "conversation",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="network_uses",
                                to="conversations.conversation",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-last_at", "-id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("conversation", "host", "port", "reason"),
                                name="network_use_is_one_row_for_each_host_port_and_reason",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="PendingTrigger",
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
                                    ("task_assigned", "Task Assigned"),
                                    ("comment_mention", "Comment Mention"),
                                    ("task_unassigned", "Task Unassigned"),
                                ],
                                max_length=20,
                            ),
                        ),
                        ("hops", models.PositiveSmallIntegerField(default=0)),
                        ("due_at", models.DateTimeField()),
                        ("attempts", models.PositiveIntegerField(default=0)),
                        ("last_error", models.TextField(blank=True)),
                        (
                            "agent",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="agents.agent",
                            ),
                        ),
                        (
                            "by",
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
                        "ordering": ["created_at", "id"],
                        "indexes": [models.Index(fields=["due_at"], name="pending_trigger_due")],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("doc__isnull", True), ("task__isnull", False)),
                                    models.Q(("doc__isnull", False), ("task__isnull", True)),
                                    _connector="OR",
                                ),
                                name="pending_trigger_is_about_one_task_or_one_doc",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="PersonRequest",
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
                                    ("approval", "Approval"),
                                    ("question", "Question"),
                                    ("plan", "Plan"),
                                ],
                                db_default="approval",
                                default="approval",
                                max_length=10,
                            ),
                        ),
                        ("call_id", models.CharField(editable=False, max_length=64, unique=True)),
                        ("turn", models.PositiveIntegerField()),
                        ("tool", models.CharField(max_length=100)),
                        ("arguments", models.JSONField()),
                        ("subject", models.TextField(blank=True)),
                        ("rule", models.CharField(max_length=50)),
                        ("why", models.TextField(blank=True)),
                        ("effect", models.CharField(max_length=20)),
                        ("undo", models.TextField(blank=True)),
                        ("diff", models.TextField(blank=True)),
                        ("deadline", models.DateTimeField()),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("open", "Open"),
                                    ("approved", "Approved"),
                                    ("denied", "Denied"),
                                    ("answered", "Answered"),
                                    ("expired", "Expired"),
                                    ("superseded", "Superseded"),
                                ],
                                default="open",
                                max_length=10,
                            ),
                        ),
                        ("decided_at", models.DateTimeField(null=True)),
                        ("reason", models.TextField(blank=True)),
                        ("changed_arguments", models.JSONField(null=True)),
                        (
                            "conversation",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="person_requests",
                                to="conversations.conversation",
                            ),
                        ),
                        (
                            "decided_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="projects.member",
                            ),
                        ),
                    ],
                    options={
                        "db_table": "conversations_approval",
                        "ordering": ["-created_at", "-id"],
                        "indexes": [
                            models.Index(
                                condition=models.Q(("state", "open")),
                                fields=["deadline"],
                                name="approval_due",
                            )
                        ],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    (
                                        "state__in",
                                        [
                                            "open",
                                            "approved",
                                            "denied",
                                            "answered",
                                            "expired",
                                            "superseded",
                                        ],
                                    )
                                ),
                                name="approval_state_is_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("kind__in", ["approval", "question", "plan"])),
                                name="person_request_kind_is_known",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("decided_at", None), ("state", "open")),
                                    models.Q(
                                        models.Q(("state", "open"), _negated=True),
                                        ("decided_at__isnull", False),
                                    ),
                                    _connector="OR",
                                ),
                                name="approval_is_open_or_decided",
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(("state", "open")),
                                fields=("conversation",),
                                name="conversation_waits_for_one_approval",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Sandbox",
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
                        ("backend", models.CharField(max_length=20)),
                        ("boot_id", models.CharField(max_length=64)),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("running", "Running"),
                                    ("paused", "Paused"),
                                    ("ended", "Ended"),
                                    ("freeing", "Files To Delete"),
                                ],
                                default="running",
                                max_length=10,
                            ),
                        ),
                        ("volume", models.CharField(blank=True, db_default="", max_length=120)),
                        ("last_used_at", models.DateTimeField()),
                        ("workspace_bytes", models.BigIntegerField(null=True)),
                        ("workspace_limit_bytes", models.BigIntegerField(null=True)),
                        (
                            "conversation",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="sandbox",
                                to="conversations.conversation",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("state__in", ["running", "paused", "ended", "freeing"])
                                ),
                                name="sandbox_state_is_known",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="SandboxSetup",
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
                        ("key", models.CharField(max_length=64)),
                        ("image", models.CharField(blank=True, max_length=100)),
                        ("backend", models.CharField(max_length=20)),
                        ("place", models.CharField(max_length=64)),
                        ("files", models.UUIDField(unique=True)),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("building", "Building"),
                                    ("ready", "Ready"),
                                    ("failed", "Failed"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("worker", models.CharField(max_length=100)),
                        ("lease_until", models.DateTimeField()),
                        ("output", models.TextField(blank=True)),
                        ("reason", models.TextField(blank=True)),
                        ("started_at", models.DateTimeField()),
                        ("ended_at", models.DateTimeField(null=True)),
                        ("last_used_at", models.DateTimeField()),
                        ("retired_at", models.DateTimeField(null=True)),
                        (
                            "agent",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="agents.agent",
                            ),
                        ),
                        (
                            "project",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="projects.project",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-started_at", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                condition=models.Q(("retired_at", None)),
                                fields=("key", "image", "place"),
                                name="setup_is_built_once",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("state__in", ["building", "ready", "failed"])),
                                name="setup_state_is_known",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Suggestion",
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
                        ("turn", models.PositiveIntegerField()),
                        ("text", models.TextField()),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("open", "Open"),
                                    ("kept", "Kept"),
                                    ("discarded", "Discarded"),
                                ],
                                default="open",
                                max_length=10,
                            ),
                        ),
                        (
                            "conversation",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="suggestion",
                                to="conversations.conversation",
                            ),
                        ),
                        (
                            "decided_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="projects.member",
                            ),
                        ),
                        (
                            "task",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="suggestions",
                                to="projects.task",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["-updated_at", "-id"],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(("state__in", ["open", "kept", "discarded"])),
                                name="suggestion_state_is_known",
                            )
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Teammate",
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
                        ("name", models.CharField(max_length=30)),
                        ("role", models.CharField(max_length=500)),
                        ("place", models.PositiveSmallIntegerField()),
                        ("plans_first", models.BooleanField(default=False)),
                        ("told_turn", models.PositiveIntegerField(default=0)),
                        ("told_tokens", models.BigIntegerField(default=0)),
                        ("told_usd", models.FloatField(default=0)),
                        (
                            "stopping",
                            models.CharField(
                                blank=True,
                                choices=[("alone", "Alone"), ("with_lead", "With Lead")],
                                max_length=10,
                            ),
                        ),
                        ("ended_at", models.DateTimeField(null=True)),
                        (
                            "end_reason",
                            models.CharField(
                                blank=True,
                                choices=[
                                    ("idle", "Idle"),
                                    ("shutdown", "Shutdown"),
                                    ("stopped", "Stopped"),
                                    ("failed", "Failed"),
                                    ("limit", "Limit"),
                                    ("unreviewed", "Unreviewed"),
                                ],
                                max_length=20,
                            ),
                        ),
                        (
                            "conversation",
                            models.OneToOneField(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="teammate",
                                to="conversations.conversation",
                            ),
                        ),
                        (
                            "lead",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="teammates",
                                to="conversations.conversation",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["created_at", "id"],
                        "indexes": [
                            models.Index(
                                condition=models.Q(("ended_at", None)),
                                fields=["lead"],
                                name="teammate_live",
                            )
                        ],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("lead", "name"), name="teammate_name_is_unique_in_its_team"
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(("ended_at", None)),
                                fields=("lead", "place"),
                                name="place_in_a_team_has_one_teammate",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(("place__gte", 1), ("place__lte", 5)),
                                name="team_has_five_places",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("end_reason", ""), ("ended_at", None)),
                                    models.Q(
                                        ("ended_at__isnull", False),
                                        models.Q(("end_reason", ""), _negated=True),
                                    ),
                                    _connector="OR",
                                ),
                                name="teammate_that_has_ended_says_why",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="TeamRequest",
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
                                choices=[("shutdown", "Shutdown"), ("plan_review", "Plan Review")],
                                max_length=20,
                            ),
                        ),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("open", "Open"),
                                    ("approved", "Approved"),
                                    ("rejected", "Rejected"),
                                    ("expired", "Expired"),
                                    ("ended", "Ended"),
                                ],
                                default="open",
                                max_length=10,
                            ),
                        ),
                        ("text", models.TextField(blank=True)),
                        ("answer", models.TextField(blank=True)),
                        ("deadline", models.DateTimeField()),
                        ("resolved_at", models.DateTimeField(null=True)),
                        ("told_at", models.DateTimeField(null=True)),
                        (
                            "teammate",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="requests",
                                to="conversations.teammate",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["created_at", "id"],
                        "indexes": [
                            models.Index(
                                condition=models.Q(("state", "open")),
                                fields=["deadline"],
                                name="team_request_due",
                            )
                        ],
                        "constraints": [
                            models.UniqueConstraint(
                                condition=models.Q(("state", "open")),
                                fields=("teammate", "kind"),
                                name="teammate_has_one_open_request_of_a_kind",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("resolved_at", None), ("state", "open")),
                                    models.Q(
                                        models.Q(("state", "open"), _negated=True),
                                        ("resolved_at__isnull", False),
                                    ),
                                    _connector="OR",
                                ),
                                name="team_request_is_open_or_resolved",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="TeamTask",
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
                        ("claimed_at", models.DateTimeField(null=True)),
                        ("closed_at", models.DateTimeField(null=True)),
                        (
                            "lead",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="team_tasks",
                                to="conversations.conversation",
                            ),
                        ),
                        (
                            "task",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="+",
                                to="projects.task",
                            ),
                        ),
                        (
                            "teammate",
                            models.ForeignKey(
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="tasks",
                                to="conversations.teammate",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["created_at", "id"],
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("lead", "task"), name="task_is_in_a_team_plan_once"
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(
                                    ("claimed_at__isnull", False), ("closed_at", None)
                                ),
                                fields=("task",),
                                name="task_is_claimed_once",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("closed_at", None),
                                    ("claimed_at__isnull", False),
                                    _connector="OR",
                                ),
                                name="team_task_is_claimed_before_it_is_closed",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Trigger",
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
                        ("kind", models.CharField(max_length=20)),
                        (
                            "control",
                            models.CharField(
                                blank=True,
                                choices=[
                                    ("", "None"),
                                    ("interrupt", "Interrupt"),
                                    ("stop", "Stop"),
                                    ("pause", "Pause"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("source", models.CharField(max_length=20)),
                        ("idempotency_key", models.CharField(blank=True, max_length=200)),
                        ("by", models.CharField(blank=True, max_length=200)),
                        ("event_seq", models.BigIntegerField(default=0)),
                        ("attempts", models.PositiveIntegerField(default=0)),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("new", "New"),
                                    ("withdrawn", "Withdrawn"),
                                    ("claimed", "Claimed"),
                                    ("done", "Done"),
                                    ("dead", "Dead"),
                                ],
                                default="new",
                                max_length=10,
                            ),
                        ),
                        ("turn", models.PositiveIntegerField(null=True)),
                        ("last_error", models.TextField(blank=True)),
                        ("hops", models.PositiveSmallIntegerField(db_default=0, default=0)),
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
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="projects.comment",
                            ),
                        ),
                        (
                            "conversation",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="triggers",
                                to="conversations.conversation",
                            ),
                        ),
                    ],
                    options={
                        "indexes": [
                            models.Index(
                                condition=models.Q(("state", "new")),
                                fields=["conversation", "control"],
                                name="trigger_new",
                            )
                        ],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("state__in", ["new", "withdrawn", "claimed", "done", "dead"])
                                ),
                                name="trigger_state_is_known",
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(("idempotency_key", ""), _negated=True),
                                fields=("conversation", "source", "kind", "idempotency_key"),
                                name="trigger_key_starts_one_turn",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="Turn",
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
                        (
                            "status",
                            models.CharField(
                                choices=[
                                    ("running", "Running"),
                                    ("finished", "Finished"),
                                    ("paused", "Paused"),
                                    ("failed", "Failed"),
                                    ("stopped", "Stopped"),
                                ],
                                default="running",
                                max_length=10,
                            ),
                        ),
                        ("reason", models.CharField(blank=True, max_length=30)),
                        ("steps", models.PositiveIntegerField(default=0)),
                        ("started_at", models.DateTimeField()),
                        ("finished_at", models.DateTimeField(null=True)),
                        (
                            "conversation",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="turns",
                                to="conversations.conversation",
                            ),
                        ),
                    ],
                    options={
                        "constraints": [
                            models.UniqueConstraint(
                                fields=("conversation", "number"),
                                name="turn_number_is_unique_in_conversation",
                            ),
                            models.UniqueConstraint(
                                condition=models.Q(("status", "running")),
                                fields=("conversation",),
                                name="conversation_has_one_running_turn",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    (
                                        "status__in",
                                        ["running", "finished", "paused", "failed", "stopped"],
                                    )
                                ),
                                name="turn_status_is_known",
                            ),
                        ],
                    },
                ),
                migrations.CreateModel(
                    name="ReadySandbox",
                    fields=[
                        (
                            "volume",
                            models.CharField(max_length=120, primary_key=True, serialize=False),
                        ),
                        ("made_at", models.DateTimeField(auto_now_add=True)),
                        (
                            "worker",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="ready_sandboxes",
                                to="conversations.worker",
                            ),
                        ),
                    ],
                ),
                migrations.CreateModel(
                    name="AgentStatusChange",
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
                            "status",
                            models.CharField(
                                choices=[
                                    ("active", "Active"),
                                    ("paused", "Paused"),
                                    ("inactive", "Inactive"),
                                ],
                                max_length=10,
                            ),
                        ),
                        (
                            "mode",
                            models.CharField(
                                choices=[
                                    ("graceful", "Running turns finish, nothing new begins"),
                                    ("immediate", "Running turns are stopped"),
                                ],
                                max_length=10,
                            ),
                        ),
                        ("due_at", models.DateTimeField()),
                        (
                            "time_zone",
                            models.CharField(
                                max_length=64, validators=[paca.common.time_zones.check]
                            ),
                        ),
                        (
                            "state",
                            models.CharField(
                                choices=[
                                    ("planned", "Planned"),
                                    ("done", "Done"),
                                    ("cancelled", "Cancelled"),
                                    ("failed", "Failed"),
                                ],
                                default="planned",
                                max_length=10,
                            ),
                        ),
                        ("made_by_name", models.CharField(blank=True, max_length=200)),
                        ("ended_at", models.DateTimeField(blank=True, null=True)),
                        (
                            "agent",
                            models.ForeignKey(
                                on_delete=django.db.models.deletion.CASCADE,
                                related_name="status_changes",
                                to="agents.agent",
                            ),
                        ),
                        (
                            "made_by",
                            models.ForeignKey(
                                blank=True,
                                null=True,
                                on_delete=django.db.models.deletion.SET_NULL,
                                related_name="+",
                                to="projects.member",
                            ),
                        ),
                    ],
                    options={
                        "ordering": ["due_at", "id"],
                        "indexes": [
                            models.Index(
                                condition=models.Q(("state", "planned")),
                                fields=["due_at"],
                                name="status_change_due",
                            )
                        ],
                        "constraints": [
                            models.UniqueConstraint(
                                condition=models.Q(("state", "planned")),
                                fields=("agent",),
                                name="agent_has_one_planned_status_change",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("mode__in", ["graceful", "immediate"]),
                                    ("state__in", ["planned", "done", "cancelled", "failed"]),
                                    ("status__in", ["active", "paused", "inactive"]),
                                ),
                                name="status_change_has_known_values",
                            ),
                            models.CheckConstraint(
                                condition=models.Q(
                                    models.Q(("ended_at", None), ("state", "planned")),
                                    models.Q(
                                        models.Q(("state", "planned"), _negated=True),
                                        ("ended_at__isnull", False),
                                    ),
                                    _connector="OR",
                                ),
                                name="status_change_that_is_planned_has_no_end",
                            ),
                        ],
                    },
                ),
            ],
        ),
        migrations.RunPython(LAWS.install, LAWS.remove),
        migrations.RunPython(APPROVALS.install, APPROVALS.remove),
        migrations.RunPython(VERSIONS.install, VERSIONS.remove),
    ]
