"""The guards that Paca's promises hang on: how each is taken out, and the tests that must fail then.

To add one:

1. Write ``# guard: part-and-what-it-guards`` on the line above the statement in ``paca/``.
2. Add a ``Mutant`` here with that name, a change from ``tests/mutants/changes.py`` and the tests.
3. Run ``make mutants ONLY=part-and-what-it-guards``: the mutant must be killed.

A marker without a mutant and a mutant without a marker fail in ``tests/mutants/test_guards.py``.
"""

from dataclasses import dataclass

from tests.mutants.changes import (
    Change,
    always,
    filter_dropped,
    last_context_dropped,
    last_operand_dropped,
    never,
    removed,
    value,
    without_keyword,
)


@dataclass(frozen=True)
class Mutant:
    """The statement below the marker ``guard`` after ``change``; at least one of ``tests`` must fail.

    ``on_services``: the tests show it on PostgreSQL and Valkey only.
    """

    guard: str
    change: Change
    tests: tuple[str, ...]
    on_services: bool = False


APPROVALS = "tests/conversations/test_approvals.py"
ASKING = "tests/engine/approvals/test_approvals.py"
PLANS = "tests/engine/approvals/test_plans.py"
QUESTIONS = "tests/conversations/test_questions_and_plans.py"
QUESTIONS_OF_ENGINE = "tests/engine/approvals/test_questions.py"
ALLOWED = "tests/engine/approvals/test_allowed_commands.py"
SANDBOX_LIMITS = "tests/agents/test_sandbox_limits.py"
DELEGATE = "tests/engine/approvals/test_delegate.py"
HELPERS = "tests/conversations/test_helpers.py"
SECRET_REMOVAL = "tests/common/test_secret_removal.py"
EVENT_MASKING = "tests/worker/test_event_masking.py"
SHARED_STREAMS = "tests/sandbox/test_shared_streams.py"
ASSIGNMENTS = "tests/conversations/test_assignments.py"
CHOICE = "tests/engine/test_model_choice.py"
COMPACTION = "tests/engine/test_compaction.py"
PLUGINS = "tests/agents/test_plugins.py"
LOCK_ORDER = "tests/database/test_lock_order.py"
HELD = "tests/conversations/test_held_work.py"
CHECK_INS = "tests/conversations/test_check_ins.py"
CLOUDS = "tests/engine/llm/test_clouds.py"
SKILL_LOOKS = "tests/repositories/skill_sources/test_looking.py"
SKILL_FOLDERS = "tests/repositories/skill_sources/test_folders.py"
SKILL_TAKING = "tests/repositories/skill_sources/test_taking.py"
BROKER_FETCHES = "tests/repositories/broker/test_fetches.py"
BROKER_PUSHES = "tests/repositories/broker/test_pushes.py"
BROKER_ATTACKS = "tests/repositories/broker/test_push_attacks.py"
BROKER_CONTROL = "tests/repositories/broker/test_control.py"
MIRRORS = "tests/repositories/broker/test_mirrors.py"
REACHABLE = "tests/repositories/broker/test_reachable.py"
REPOSITORY_TOOLS = "tests/repositories/test_repository_tools.py"
PUSH_SEARCH = "tests/repositories/test_push_search.py"
REPOSITORY_ACCESS = "tests/repositories/test_selectors.py"
HOSTS = "tests/repositories/test_hosts.py"
REPOSITORY_API = "tests/repositories/test_api.py"
WEBHOOKS = "tests/repositories/test_webhooks.py"
PULL_REQUEST_TOOL = "tests/repositories/test_pull_request_tool.py"
MCP_SERVERS = "tests/agents/mcp/test_mcp_servers.py"
MCP_TOOLS = "tests/agents/mcp/test_mcp_tools.py"
FILE_REQUESTS = "tests/conversations/test_file_requests.py"
FILES_FLOW = "tests/flows/test_files.py"
WORKSPACE_FILES = "tests/sandbox/test_workspace_files.py"
GATE = "tests/sandbox/egress/test_gate.py"
TAKEOVER = "tests/sandbox/egress/test_takeover.py"
GATE_FILTER = "tests/sandbox/egress/test_seccomp_filter.py"
GATE_DECISIONS = "tests/sandbox/egress/test_decisions.py"
NETWORK_USE = "tests/conversations/test_network_use.py"
OAUTH = "tests/engine/mcp/test_oauth.py"
SIGN_INS = "tests/agents/mcp/test_mcp_sign_in.py"
MODEL_KEYS = "tests/agents/test_model_keys.py"
VARIABLES = "tests/agents/test_variables.py"
REPOSITORY_SETUP = "tests/engine/tools/test_repository_setup.py"
MODEL_SETTINGS = "tests/agents/test_model_settings.py"
OPENAI_STREAM = "tests/engine/llm/test_openai_stream.py"
ODDITIES = "tests/engine/llm/oddities/test_oddities.py"
TEAMS = "tests/conversations/test_teams.py"
TEAM_BOUNDS = "tests/conversations/test_team_bounds.py"
TEAM_PAUSES = "tests/conversations/test_team_pauses.py"
TEAM_BUDGETS = "tests/conversations/test_team_budgets.py"
TODO = "tests/engine/test_todo_list.py"
BACKGROUND = "tests/conversations/test_background.py"
BACKGROUND_LOOKS = "tests/worker/test_background_looks.py"
BACKGROUND_OF_ENGINE = "tests/engine/test_background.py"
REMINDERS = "tests/engine/test_reminders.py"
UNCHECKED = (
    "tests/conversations/test_reminders.py::test_answer_that_no_limit_let_check_is_the_final_one"
)
MEMORY = "tests/conversations/test_memory.py"
MEMORY_API = "tests/conversations/test_memory_api.py"
MEMORY_FLOWS = "tests/flows/test_memory.py"
MEMORY_TEXT = "tests/engine/context/test_memory.py"
REVIEWS = "tests/conversations/test_memory_reviews.py"
TITLES = "tests/conversations/test_generated_titles.py"
TITLE_FLOWS = "tests/flows/test_titles.py"
SETTINGS = "tests/agents/test_settings_have_effect.py"
PLACES = "tests/worker/test_places.py"
FAIR_CLAIMS = "tests/worker/test_fair_claims.py"
WORKER_VERSIONS = "tests/worker/test_worker_versions.py"
PAUSES = "tests/conversations/test_agent_pauses.py"
STATUS = "tests/conversations/test_agent_status.py"
SPENDING = "tests/engine/test_spending.py"
TASKS = "tests/projects/test_tasks.py"
TRACES = "tests/conversations/test_traces.py"
TRACE_FAULTS = "tests/conversations/test_trace_faults.py"
USAGE = "tests/conversations/test_usage.py"
USAGE_FAULTS = "tests/conversations/test_usage_faults.py"
TREE_COPY = "tests/sandbox/test_tree_copy.py"
COPY_CLAIMS = "tests/sandbox/test_copy_claims.py"
FILE_COPIES = "tests/sandbox/test_file_copies.py"
MUTANTS = (
    Mutant(
        "secrets-leave-a-text", always, (f"{SECRET_REMOVAL}::test_secret_is_removed_in_each_form",)
    ),
    Mutant(
        "short-form-of-a-secret-is-no-secret",
        filter_dropped,
        (f"{SECRET_REMOVAL}::test_short_values_remove_nothing",),
    ),
    Mutant(
        "beginning-of-a-secret-waits",
        never,
        (f"{SECRET_REMOVAL}::test_stream_shows_at_once_what_begins_no_secret",),
    ),
    Mutant(
        "parts-of-secrets-at-a-cut",
        always,
        (f"{SECRET_REMOVAL}::test_parts_of_a_secret_that_a_cut_has_left_are_removed",),
    ),
    Mutant(
        "secrets-that-overlap",
        never,
        (f"{SECRET_REMOVAL}::test_secret_that_begins_within_another_is_removed_whole",),
    ),
    Mutant(
        "masks-are-not-written-over-secrets",
        never,
        ("tests/engine/tools/test_files.py::test_write_file_never_puts_masks_over_secrets",),
    ),
    Mutant(
        "plain-settings-of-servers-are-no-secrets",
        never,
        ("tests/agents/mcp/test_mcp_servers.py::test_plain_settings_of_servers_are_not_masked",),
    ),
    Mutant(
        "name-of-the-database-is-no-secret",
        never,
        (
            "tests/agents/mcp/test_mcp_servers.py::test_password_that_is_the_name_of_the_database_is_not_masked",
        ),
    ),
    Mutant(
        "shown-files-hold-no-secret",
        value("packed"),
        (
            "tests/worker/test_file_masking.py::test_worker_stores_answers_without_the_secrets_of_the_conversation",
        ),
    ),
    Mutant(
        "answers-without-secrets-stay",
        always,
        ("tests/worker/test_file_masking.py::test_preview_list_and_changes_show_no_secret",),
    ),
    Mutant(
        "log-holds-no-secret",
        value("entries"),
        (f"{EVENT_MASKING}::test_events_of_a_run_are_masked_before_they_are_stored",),
    ),
    Mutant(
        "live-output-shows-no-secret",
        value("event"),
        (f"{EVENT_MASKING}::test_live_output_is_masked_wherever_it_is_cut",),
    ),
    Mutant(
        "full-outputs-hold-no-secret",
        removed,
        (f"{EVENT_MASKING}::test_full_output_is_masked_before_it_is_kept",),
    ),
    Mutant(
        "background-output-holds-no-secret",
        removed,
        (f"{EVENT_MASKING}::test_idle_conversation_has_its_background_output_masked",),
    ),
    Mutant(
        "names-of-hosts-hold-no-secret",
        removed,
        (f"{NETWORK_USE}::test_secret_in_the_name_of_a_host_is_not_shown",),
    ),
    Mutant(
        "logs-hold-no-known-secret",
        value("shown"),
        (f"{EVENT_MASKING}::test_logs_mask_what_this_process_has_met",),
    ),
    Mutant(
        "cut-log-line-ends-before-a-secret",
        value("text"),
        (f"{EVENT_MASKING}::test_cut_line_of_the_log_holds_no_part_of_a_secret",),
    ),
    Mutant(
        "values-of-stored-objects-are-secrets",
        removed,
        (f"{EVENT_MASKING}::test_logs_mask_what_this_process_has_met",),
    ),
    Mutant(
        "requests-hold-no-secret",
        value("request"),
        (f"{EVENT_MASKING}::test_request_holds_no_secret_and_what_was_masked_before_is_kept",),
    ),
    Mutant(
        "summaries-keep-the-mark",
        value("summary.strip()"),
        (
            "tests/engine/context/test_shortened_history.py::test_summary_is_marked_as_data_and_cannot_end_its_mark",
        ),
    ),
    Mutant(
        "mcp-calls-beside-secrets-ask",
        value("False"),
        ("tests/engine/mcp/test_approvals.py",),
    ),
    Mutant(
        "what-leaves-asks-with-every-policy",
        never,
        (f"{ASKING}::test_tool_that_sends_work_out_asks_with_every_policy",),
    ),
    Mutant(
        "rooms-give-their-secrets",
        value("frozenset()"),
        (f"{MCP_SERVERS}::test_secrets_of_rooms_are_known_to_what_masks_traces",),
    ),
    Mutant(
        "trace-hides-credentials-in-headers",
        value("[[name, value] for name, value in pairs]"),
        (f"{TRACES}::test_secrets_of_the_call_and_its_credentials_are_not_stored",),
    ),
    Mutant(
        "token-exchange-is-not-traced",
        value("_current.set(_current.get())"),
        (f"{CLOUDS}::test_exchange_of_a_key_for_a_token_is_not_traced",),
    ),
    Mutant(
        "deleted-conversation-gets-no-trace",
        removed,
        (f"{TRACES}::test_deleted_conversation_keeps_no_trace_and_gets_none",),
    ),
    Mutant(
        "trace-has-a-size-limit",
        never,
        (f"{TRACES}::test_full_trace_drops_its_oldest_calls_and_the_rest_stays_readable",),
    ),
    Mutant(
        "trace-survives-the-loss-of-its-beginning",
        never,
        (f"{TRACES}::test_old_calls_are_removed_also_while_the_conversation_is_used",),
    ),
    Mutant(
        "trace-of-the-conversation",
        without_keyword("trace"),
        (f"{TRACES}::test_trace_of_another_conversation_or_project_is_not_found",),
    ),
    Mutant(
        "installation-forbids-traces",
        never,
        (f"{TRACES}::test_forbidden_traces_are_neither_shown_nor_begun",),
    ),
    Mutant(
        "unreadable-refusal-is-not-kept",
        never,
        (f"{TRACE_FAULTS}::test_refusal_that_cannot_be_read_is_not_kept",),
    ),
    Mutant(
        "cut-refusal-ends-before-a-secret",
        never,
        (f"{TRACE_FAULTS}::test_cut_refusal_ends_with_no_beginning_of_a_key",),
    ),
    Mutant(
        "token-of-a-header-is-a-secret-without-its-scheme",
        removed,
        (
            f"{TRACE_FAULTS}::test_secrets_of_the_installation_are_known_without_what_stands_around_them",
        ),
    ),
    Mutant(
        "exported-bodies-have-a-limit",
        never,
        (f"{TRACE_FAULTS}::test_exported_requests_have_a_limit_and_the_newest_are_kept",),
    ),
    Mutant(
        "fault-of-telemetry-keeps-nothing-back",
        without_keyword("robust"),
        (
            f"{TRACE_FAULTS}::test_fault_of_a_listener_keeps_nothing_back_that_follows_the_end_of_a_turn",
        ),
    ),
    Mutant(
        "deletion-waits-for-the-trace",
        removed,
        (f"{TRACE_FAULTS}::test_deletion_locks_the_trace_first",),
        on_services=True,
    ),
    Mutant(
        "spans-hold-no-secrets",
        removed,
        ("tests/flows/test_telemetry.py::test_contents_are_sent_on_request_without_secrets",),
    ),
    Mutant("telemetry-is-dropped-and-not-waited-for", never, ("tests/worker/test_telemetry.py",)),
    Mutant(
        "fork-has-the-trace-of-its-moment",
        never,
        (f"{TRACES}::test_tracing_is_switched_over_the_api_and_kept_by_a_fork",),
    ),
    Mutant("slow-database-drops-traces", never, ("tests/worker/test_run_traces.py",)),
    Mutant(
        "engine-reported-cost-wins",
        never,
        (
            "tests/engine/llm/test_prices.py::test_cost_that_the_provider_reports_wins_over_the_table",
        ),
    ),
    Mutant(
        "engine-usage-of-an-unanswered-request-is-unknown",
        value("Usage()"),
        (
            "tests/engine/llm/test_retrying.py"
            "::test_usage_of_a_request_that_was_never_answered_is_unknown",
        ),
    ),
    Mutant(
        "engine-own-key-costs-the-bill-too",
        value("cost"),
        (f"{OPENAI_STREAM}::test_openai_usage_has_the_cost_that_the_server_reports",),
    ),
    Mutant(
        "engine-reported-cost-is-money",
        value("float(value)"),
        (f"{OPENAI_STREAM}::test_openai_usage_has_the_cost_that_the_server_reports",),
    ),
    Mutant(
        "usage-failure-of-a-row-is-counted",
        removed,
        (f"{USAGE_FAULTS}::test_log_is_stored_whatever_becomes_of_the_row_of_a_call",),
    ),
    Mutant(
        "usage-failure-of-a-price-is-tolerated",
        removed,
        (f"{USAGE_FAULTS}::test_price_that_cannot_be_found_leaves_the_cost_unknown",),
    ),
    Mutant(
        "usage-failure-of-totals-is-tolerated",
        last_context_dropped,
        (f"{USAGE_FAULTS}::test_turn_ends_without_totals_if_they_cannot_be_read",),
        on_services=True,
    ),
    Mutant(
        "usage-failure-of-a-test-is-tolerated",
        removed,
        (f"{USAGE_FAULTS}::test_connection_test_succeeds_if_it_cannot_be_counted",),
    ),
    Mutant(
        "usage-unknown-cost-is-not-zero",
        value("self.priced_cost_usd"),
        (f"{USAGE}::test_report_has_the_sums_of_each_group_and_their_total",),
    ),
    Mutant(
        "usage-csv-holds-no-formula",
        value("text"),
        (f"{USAGE}::test_csv_has_no_text_that_a_spreadsheet_would_run",),
    ),
    Mutant(
        "usage-page-says-what-is-not-priced",
        always,
        (
            "tests/web/test_usage_page.py"
            "::test_page_flags_calls_without_a_price_and_never_shows_them_as_zero",
        ),
    ),
    Mutant(
        "projects-are-those-that-allow",
        filter_dropped,
        (f"{USAGE}::test_usage_of_all_projects_has_those_whose_role_allows_it",),
    ),
    Mutant(
        "approval-unreadable-commands-ask",
        never,
        ("tests/engine/approvals/test_command_rules.py",),
    ),
    Mutant("verification-after-a-change", value("self"), (REMINDERS,)),
    Mutant("engine-one-hint-a-turn", always, (REMINDERS,)),
    Mutant("engine-verification-is-off-by-default", never, (REMINDERS,)),
    Mutant("engine-verification-where-nobody-watches", never, (REMINDERS,)),
    Mutant("engine-one-verification", value("progress.reminders.changed"), (REMINDERS,)),
    Mutant("engine-verification-needs-room", value("True"), (REMINDERS,)),
    Mutant("engine-limit-takes-no-answer", never, (REMINDERS,)),
    Mutant("answer-that-was-not-checked", never, (UNCHECKED,)),
    Mutant("memory-of-agents-waits", never, (MEMORY,)),
    Mutant("memory-stricter-policy-counts", value("agent_policy"), (MEMORY,)),
    Mutant("memory-few-entries-wait", never, (MEMORY,)),
    Mutant("memory-pinned-is-of-people", never, (MEMORY,)),
    Mutant("memory-keeps-its-size", always, (MEMORY,)),
    Mutant("memory-pins-take-half-at-most", never, (MEMORY,)),
    Mutant("memory-holds-no-secret", never, (MEMORY,)),
    Mutant("memory-hides-nothing", never, (MEMORY,)),
    Mutant("memory-hides-nothing-in-joiners", value("True"), (MEMORY,)),
    Mutant("memory-that-a-person-has-changed-waits-as-it-is", never, (MEMORY,)),
    Mutant(
        "memory-is-decided-as-it-was-seen",
        removed,
        (f"{MEMORY_API}::test_entry_that_was_changed_since_it_was_seen_is_not_decided",),
    ),
    Mutant(
        "memory-replacement-is-decided-as-it-was-seen",
        removed,
        (f"{MEMORY_API}::test_entry_that_was_changed_since_it_was_seen_is_not_decided",),
    ),
    Mutant(
        "memory-names-conversations-to-their-readers",
        never,
        (f"{MEMORY_API}::test_page_names_conversations_to_those_who_may_read_them_only",),
    ),
    Mutant("memory-is-switched-off", never, (MEMORY,)),
    Mutant("memory-of-the-project-is-switched-off", value("project.pk"), (MEMORY,)),
    Mutant(
        "memory-of-its-owner-only",
        value("MemoryEntry.objects.all()"),
        (f"{MEMORY_API}::test_entry_of_one_memory_is_not_found_in_another",),
    ),
    Mutant("memory-fits-a-small-window", never, (MEMORY_TEXT,)),
    Mutant(
        "memory-tool-is-switched-off",
        never,
        (f"{MEMORY_FLOWS}::test_agent_without_a_memory_has_no_tool_for_it",),
    ),
    Mutant("memory-of-read-only-runs-stays", never, (REVIEWS,)),
    Mutant("memory-is-looked-for-seldom", never, (REVIEWS,)),
    Mutant("memory-review-asks-the-role", never, (REVIEWS,)),
    Mutant(
        "memory-review-is-switched-off",
        always,
        (f"{MEMORY_FLOWS}::test_longer_work_that_nobody_wants_looked_back_at_is_not",),
    ),
    Mutant("title-is-asked-for-once", never, (TITLES,)),
    Mutant("title-of-a-person-stays", value("bool(title)"), (TITLES,)),
    Mutant(
        "title-claims-no-message",
        value("any(isinstance(entry, ModelCallStarted) for entry in entries)"),
        (TITLES,),
    ),
    Mutant("title-is-no-activity", never, (TITLES,)),
    Mutant(
        "titles-are-switched-off",
        always,
        (f"{TITLE_FLOWS}::test_chat_gets_a_title_after_its_first_answer_and_once",),
    ),
    Mutant("lost-title-calls-are-marked", value("Q(conversation=None)"), (TITLES,)),
    Mutant("demo-writes-no-titles", never, (SETTINGS,)),
    Mutant("title-model-of-the-same-provider", never, (SETTINGS,)),
    Mutant("waiting-for-a-person-leaves-its-place", value("found"), (PLACES,)),
    Mutant("decided-work-waits-for-a-place", never, (PLACES,)),
    Mutant("decided-work-hides-no-other-work", value("Q(status__in=ACTIVE_STATUSES)"), (PLACES,)),
    Mutant("budget-counts-an-unanswered-request", never, (SPENDING,)),
    Mutant("budget-of-a-server-that-hangs", always, (SPENDING,)),
    Mutant(
        "fork-has-no-background-work-of-its-origin",
        value("self"),
        (f"{BACKGROUND_OF_ENGINE}::test_a_fork_has_no_background_work_of_its_origin",),
    ),
    Mutant(
        "background-output-is-data",
        value("f'{said} {event.output}'"),
        (f"{BACKGROUND_OF_ENGINE}::test_the_note_of_an_end_is_read_by_the_next_call_as_data",),
    ),
    Mutant("background-commands-are-capped", never, (BACKGROUND_OF_ENGINE,)),
    Mutant(
        "background-commands-of-bash-are-capped",
        value("context.may_run_on"),
        (BACKGROUND_OF_ENGINE,),
    ),
    Mutant(
        "background-command-ends-once",
        never,
        (f"{BACKGROUND}::test_the_first_end_of_a_command_counts",),
    ),
    Mutant(
        "background-command-is-lost-with-its-sandbox",
        value("False"),
        (f"{BACKGROUND}::test_commands_are_lost_with_their_sandbox",),
    ),
    Mutant(
        "background-wakes-are-bounded",
        never,
        (f"{BACKGROUND}::test_an_agent_is_woken_five_times_in_a_row_at_most",),
    ),
    Mutant(
        "background-wakes-after-an-answer-only",
        never,
        (f"{BACKGROUND}::test_an_end_wakes_nobody_who_knows_of_it_or_who_waits_for_a_person",),
    ),
    Mutant(
        "background-end-that-is-read-wakes-nobody",
        value("False"),
        (f"{BACKGROUND}::test_an_end_that_a_model_call_has_read_wakes_nobody",),
    ),
    Mutant(
        "stop-ends-background-work",
        removed,
        (
            f"{BACKGROUND}::"
            "test_stop_of_the_conversation_ends_its_background_work_also_after_the_answer",
        ),
    ),
    Mutant(
        "background-work-keeps-its-sandbox",
        value("Q(pk=None)"),
        (f"{BACKGROUND}::test_a_sandbox_is_kept_while_its_background_work_may_run",),
    ),
    Mutant(
        "background-work-is-not-paused",
        value("rows"),
        (f"{BACKGROUND}::test_a_sandbox_with_background_work_is_not_paused",),
    ),
    Mutant(
        "one-worker-looks-at-a-time",
        never,
        (f"{BACKGROUND}::test_two_workers_that_read_the_same_rows_look_once",),
    ),
    Mutant(
        "background-command-of-an-ended-sandbox-is-lost",
        value("tuple(commands)"),
        (f"{BACKGROUND}::test_a_command_of_a_sandbox_that_an_older_worker_has_ended_is_lost",),
    ),
    Mutant(
        "background-work-is-watched-beside-helpers",
        value('Q(conversation__status="")'),
        (
            f"{BACKGROUND}::"
            "test_commands_of_a_conversation_that_waits_for_its_helpers_are_looked_at",
        ),
    ),
    Mutant(
        "background-command-of-another-start-is-lost",
        value("[]"),
        (f"{BACKGROUND_LOOKS}::test_commands_of_another_start_of_the_sandbox_are_lost",),
    ),
    Mutant(
        "late-stop-ends-background-work",
        removed,
        (f"{BACKGROUND}::test_a_stop_ends_what_its_turn_starts_before_it_hears_of_it",),
    ),
    Mutant(
        "inactive-agent-runs-nothing-on",
        removed,
        (f"{BACKGROUND}::test_an_agent_that_is_made_inactive_at_once_runs_nothing_on",),
    ),
    Mutant(
        "unassigned-agent-runs-nothing-on",
        removed,
        (
            "tests/conversations/test_unassignment.py::"
            "test_what_an_unassigned_agent_runs_in_the_background_is_to_end",
        ),
    ),
    Mutant("todo-at-most-twenty", never, (TODO,)),
    Mutant("todo-one-in-progress", never, (TODO,)),
    Mutant("todo-texts-are-short", never, (TODO,)),
    Mutant("todo-time-of-the-present-item", value("False"), (TODO,)),
    Mutant("carried-todo-list", value('""'), (TODO,)),
    Mutant("approval-unknown-decision-denies", value("True"), (ASKING,)),
    Mutant("approval-first-decision-counts", never, (ASKING,)),
    Mutant("approval-message-ends-the-reply", never, (ASKING,)),
    Mutant("approval-message-ends-one-reply", value("self"), (QUESTIONS_OF_ENGINE,)),
    Mutant("plan-unknown-decision-rejects", never, (PLANS,)),
    Mutant("plan-unknown-decision-runs-nothing", always, (PLANS,)),
    Mutant("plan-mode-runs-only-reads", always, (PLANS,)),
    Mutant("plan-mode-holds-for-a-call-that-began-in-it", last_operand_dropped, (PLANS,)),
    Mutant("what-a-person-takes-back-holds-from-the-next-call", never, (PLANS,)),
    Mutant(
        "revocation-holds-for-a-call-that-began-after-it",
        value("False"),
        ("tests/engine/approvals/test_approvals.py",),
    ),
    Mutant("question-ends-the-reply", never, (QUESTIONS_OF_ENGINE, PLANS)),
    Mutant("plan-mode-left-out-needs-approval", never, (QUESTIONS,)),
    Mutant("fork-of-nothing-begins-as-the-agent-says", removed, (QUESTIONS,)),
    Mutant("context-keeps-answers-of-people", never, (QUESTIONS_OF_ENGINE,)),
    Mutant("request-of-its-kind", without_keyword("kind"), (QUESTIONS,)),
    Mutant("question-is-answered-by-people", never, (QUESTIONS,)),
    Mutant("plan-known-decisions", never, (QUESTIONS,)),
    Mutant("plan-mode-off-needs-approval", never, (QUESTIONS,)),
    Mutant("approval-rest", last_operand_dropped, (ASKING,)),
    Mutant("approval-of-the-rest-is-not-forked", value("self"), (ASKING,)),
    Mutant("approval-not-asked-a-third-time", value("False"), (ASKING,)),
    Mutant("approval-opaque-tools-are-unsafe", value("True"), (ASKING,)),
    Mutant("waiting-for-a-person-is-not-claimed", value("found"), (APPROVALS,)),
    Mutant("waiting-for-a-person-has-no-lease", never, (APPROVALS,)),
    Mutant("approvals-move-as-allowed", value("self"), (APPROVALS,)),
    Mutant("worker-goes-on-after-a-decision", value("False"), (APPROVALS,)),
    Mutant("approval-decided-once", never, (APPROVALS,)),
    Mutant("approval-not-after-the-deadline", never, (APPROVALS,)),
    Mutant("approval-known-decisions", never, (APPROVALS,)),
    Mutant("agents-never-approve", never, (APPROVALS,)),
    Mutant("wait-reads-the-inbox", always, (APPROVALS,)),
    Mutant(
        "approvals-of-ones-projects", value("PersonRequest.objects.with_details()"), (APPROVALS,)
    ),
    Mutant(
        "task-names-rows-of-its-project",
        never,
        (f"{TASKS}::test_objects_of_another_project_are_refused",),
    ),
    Mutant(
        "task-is-assigned-to-members",
        never,
        (f"{TASKS}::test_removed_member_keeps_the_task_but_gets_no_new_one",),
    ),
    Mutant("task-parents-are-no-circle", never, (f"{TASKS}::test_parents_cannot_be_a_circle",)),
    Mutant(
        "task-dependencies-are-no-circle",
        never,
        (f"{TASKS}::test_dependencies_cannot_be_a_circle_even_over_a_deleted_task",),
    ),
    Mutant(
        "task-writers-wait-for-one-another",
        removed,
        ("tests/projects/test_task_writers.py",),
        on_services=True,
    ),
    Mutant(
        "bulk-changes-all-or-none",
        never,
        (
            "tests/projects/test_task_bulk.py::test_refused_bulk_change_changes_nothing_and_names_each_problem",
        ),
    ),
    Mutant(
        "attachment-size",
        never,
        ("tests/projects/test_attachments.py::test_file_above_a_limit_leaves_nothing",),
    ),
    Mutant(
        "store-lease-epoch",
        removed,
        ("tests/conversations/test_store.py::test_superseded_worker_writes_nothing",),
    ),
    Mutant(
        "store-lease-owner",
        removed,
        ("tests/conversations/test_store.py::test_worker_that_released_its_claim_writes_nothing",),
    ),
    Mutant(
        "toolbox-fits-a-small-window",
        removed,
        (
            "tests/flows/test_preview.py::test_model_with_a_small_window_gets_the_tools_that_work_needs_most",
        ),
    ),
    Mutant(
        "tools-require-the-lease",
        removed,
        (
            "tests/projects/tools/test_writes_happen_once.py::test_worker_without_the_lease_writes_nothing",
        ),
    ),
    Mutant(
        "tools-write-once",
        never,
        (
            "tests/projects/tools/test_writes_happen_once.py::test_repeated_call_gives_the_same_text_and_writes_nothing",
        ),
    ),
    Mutant("tools-ask-the-role", never, ("tests/projects/tools/test_rights.py",)),
    Mutant(
        "comment-is-edited-by-its-author",
        never,
        ("tests/projects/test_comments.py::test_comment_is_edited_by_its_author_only",),
    ),
    Mutant(
        "invitation-needs-the-rights-of-its-inviter",
        never,
        (
            "tests/projects/test_invitations.py::test_link_gives_nothing_that_its_inviter_could_not_give_now",
        ),
    ),
    Mutant(
        "comment-is-edited-so-often",
        never,
        ("tests/projects/test_comments.py::test_comment_is_edited_so_often_only",),
    ),
    Mutant(
        "comment-mention-counts-once",
        never,
        (
            "tests/projects/test_comments.py::test_mention_that_an_edit_adds_counts_and_one_that_was_there_does_not",
        ),
    ),
    Mutant(
        "comment-of-others-is-deleted-by-moderators",
        never,
        (
            "tests/projects/test_api_comments.py::test_only_the_author_edits_and_deletes_and_who_changes_the_project_deletes_too",
        ),
    ),
    Mutant(
        "notification-of-what-one-may-read",
        never,
        ("tests/projects/test_notifications.py::test_person_is_told_only_of_what_they_may_read",),
    ),
    Mutant(
        "runner-call-table",
        never,
        (
            "tests/sandbox/test_attachments.py::test_a_command_outlives_a_killed_worker_and_runs_once",
        ),
    ),
    Mutant(
        "agent-hops",
        never,
        (f"{ASSIGNMENTS}::test_agents_call_one_another_three_times_in_a_row",),
    ),
    Mutant(
        "agent-calls-per-hour",
        never,
        (f"{ASSIGNMENTS}::test_agents_call_one_another_on_a_task_so_often_in_an_hour",),
    ),
    Mutant(
        "agent-calls-per-hour-in-project",
        never,
        (f"{ASSIGNMENTS}::test_agents_that_make_a_task_for_each_call_are_limited_in_the_project",),
    ),
    Mutant(
        "answer-posted-once",
        never,
        (
            "tests/conversations/test_answers.py::test_end_of_a_turn_that_is_told_twice_is_one_comment",
        ),
    ),
    Mutant(
        "stopped-requests-stay-closed",
        value("answered"),
        (
            "tests/conversations/test_answers.py::test_stop_of_a_paused_conversation_ends_its_request",
        ),
    ),
    Mutant(
        "suggestion-decided-once",
        never,
        (
            "tests/conversations/test_instructions.py::test_suggestion_that_is_decided_cannot_be_decided_otherwise",
        ),
    ),
    Mutant("fork-of-a-deleted-conversation", never, ("tests/conversations/test_forks.py",)),
    Mutant(
        "fork-closes-open-calls",
        removed,
        (
            "tests/conversations/test_forks.py::test_fork_at_any_event_has_a_valid_history_without_open_calls",
        ),
    ),
    Mutant(
        "full-output-of-the-log",
        last_operand_dropped,
        ("tests/conversations/test_full_outputs.py",),
    ),
    Mutant("held-work-is-not-begun", removed, (f"{HELD}::test_assignment_waits_and_says_so",)),
    Mutant(
        "assignment-waits-for-a-start",
        value("False"),
        (f"{HELD}::test_assignment_waits_and_says_so",),
    ),
    Mutant(
        "continue-starts-held-work",
        never,
        (f"{HELD}::test_continue_starts_it_once_and_the_timeline_tells_it",),
    ),
    Mutant("archive-holds-no-work", removed, ("tests/conversations/test_archive.py",)),
    Mutant("engine-promised-work-in-a-chat", never, ("tests/engine/test_promised_work.py",)),
    Mutant(
        "fork-leaves-the-calls-of-its-origin",
        value('{"id": uuid_parameter(call_id)}'),
        (
            "tests/conversations/test_forks.py::test_fork_from_the_middle_of_a_running_turn_ends_the_turn_in_the_copy_alone",
        ),
    ),
    Mutant(
        "mention-that-was-edited-away",
        value("pending.comment is not None"),
        (f"{ASSIGNMENTS}::test_mention_that_is_edited_away_before_its_delivery_starts_nothing",),
    ),
    Mutant(
        "mention-comes-after-the-stop",
        value("False"),
        (
            "tests/conversations/test_unassignment.py::test_mention_after_the_unassignment_is_not_lost_if_it_is_delivered_first",
        ),
    ),
    Mutant(
        "status-change-is-made-once",
        never,
        (f"{STATUS}::test_change_that_was_taken_between_the_read_and_the_write_is_made_once",),
    ),
    Mutant(
        "status-change-is-confirmed",
        never,
        (f"{STATUS}::test_change_that_touches_work_needs_a_confirmation_with_the_counts",),
    ),
    Mutant(
        "planned-status-change-needs-the-rights-of-its-author",
        never,
        (f"{STATUS}::test_planned_change_of_somebody_who_may_not_make_it_any_more_does_not_come",),
    ),
    Mutant(
        "one-planned-status-change",
        never,
        (f"{STATUS}::test_second_planned_change_is_refused_by_the_service_and_the_database",),
    ),
    Mutant(
        "skipped-hour-is-no-time",
        never,
        (f"{STATUS}::test_time_that_the_clocks_skip_is_refused",),
    ),
    Mutant(
        "agent-that-is-not-active-begins-nothing",
        never,
        (f"{STATUS}::test_agent_that_became_inactive_after_the_worker_looked_begins_nothing",),
    ),
    Mutant(
        "no-turn-follows-if-the-agent-is-not-active",
        last_operand_dropped,
        (f"{STATUS}::test_graceful_change_lets_the_turn_finish_and_begins_nothing_new",),
    ),
    Mutant(
        "own-skill-comes-before-that-of-a-plugin",
        always,
        (f"{PLUGINS}::test_list_replaces_the_former_one_and_leaves_what_people_added",),
    ),
    Mutant(
        "plugin-in-use-is-confirmed",
        never,
        (f"{PLUGINS}::test_disabling_counts_first_and_takes_it_from_its_agents",),
    ),
    Mutant(
        "plugin-is-enabled-in-the-project",
        never,
        (f"{PLUGINS}::test_disabling_counts_first_and_takes_it_from_its_agents",),
    ),
    Mutant(
        "servers-of-a-plugin-go-with-it",
        removed,
        (f"{PLUGINS}::test_list_replaces_the_former_one_and_leaves_what_people_added",),
    ),
    Mutant(
        "plugin-has-no-secrets",
        removed,
        (f"{PLUGINS}::test_bad_content_is_refused",),
    ),
    Mutant(
        "skill-of-a-plugin-has-the-types-of-a-skill",
        never,
        (f"{PLUGINS}::test_bad_content_is_refused",),
    ),
    Mutant(
        "server-of-a-plugin-is-its-plugins",
        never,
        (f"{PLUGINS}::test_server_of_a_plugin_is_changed_and_deleted_with_the_plugin_only",),
    ),
    Mutant(
        "persona-in-use-stays",
        never,
        ("tests/agents/test_personas.py::test_persona_that_an_agent_has_is_not_deleted",),
    ),
    Mutant(
        "persona-of-the-project",
        never,
        ("tests/agents/test_personas.py::test_unknown_or_foreign_persona_is_refused",),
    ),
    Mutant(
        "bulk-makes-all-or-none",
        never,
        ("tests/agents/test_bulk.py::test_one_bad_row_makes_no_agent_and_each_problem_is_named",),
    ),
    Mutant(
        "helper-begins-although-its-agent-is-paused",
        value("Q(agent__status=Agent.Status.ACTIVE)"),
        (f"{PAUSES}::test_graceful_change_lets_the_helpers_of_a_turn_begin",),
    ),
    Mutant(
        "every-change-of-a-status-is-told",
        never,
        (f"{PAUSES}::test_agent_that_is_active_again_goes_on_whichever_way_it_came",),
    ),
    Mutant(
        "active-agent-goes-on",
        never,
        (f"{STATUS}::test_immediate_pause_pauses_at_the_next_step_and_goes_on_with_the_agent",),
    ),
    Mutant(
        "pause-of-a-person-stays",
        never,
        (f"{PAUSES}::test_pause_of_a_person_beside_that_of_the_status_stays",),
    ),
    Mutant(
        "pause-that-was-taken-back-is-none",
        never,
        (f"{PAUSES}::test_turn_that_obeys_a_pause_which_was_taken_back_meanwhile_goes_on",),
    ),
    Mutant(
        "admin-form-keeps-a-status-that-changed-meanwhile",
        never,
        (
            "tests/agents/test_admin.py::test_admin_form_that_was_open_keeps_a_status_that_changed_meanwhile",
        ),
    ),
    Mutant("task-search-is-short", never, ("tests/projects/test_task_bad_input.py",)),
    Mutant(
        "agent-filters-are-short",
        never,
        ("tests/agents/test_lists.py::test_bad_filter_of_agents_is_refused",),
    ),
    Mutant(
        "higher-priority-begins-first",
        value("Case(has_aged, default=Value(0), output_field=IntegerField()).desc()"),
        (f"{PLACES}::test_work_of_an_agent_with_a_higher_priority_is_begun_first",),
    ),
    Mutant("waiting-work-ages", value("When(pk=None, then=Value(0))"), (FAIR_CLAIMS,)),
    Mutant("projects-take-turns", value('F("waiting_since")'), (FAIR_CLAIMS,)),
    Mutant("older-worker-claims-what-it-knows", value("found"), (WORKER_VERSIONS,)),
    Mutant("new-work-names-its-least-worker", value("None"), (WORKER_VERSIONS,)),
    Mutant("changed-work-names-its-least-worker", never, (WORKER_VERSIONS,)),
    Mutant("work-with-newer-settings-names-its-least-worker", never, (WORKER_VERSIONS,)),
    Mutant(
        "type-chooses-the-category",
        never,
        (
            "tests/agents/test_lists.py::test_type_chooses_the_category_and_a_category_keeps_the_type",
        ),
    ),
    Mutant(
        "unassigned-work-is-not-begun",
        value("Conversation.objects.claimable()"),
        (
            "tests/conversations/test_unassignment.py::test_unassigned_work_is_not_begun_before_the_stop_is_delivered",
        ),
    ),
    Mutant(
        "tool-that-is-switched-off",
        never,
        (
            "tests/engine/tools/test_registry.py::test_tool_that_is_switched_off_is_refused_and_not_shown",
        ),
    ),
    Mutant(
        "suggestion-that-was-seen",
        never,
        (
            "tests/conversations/test_instructions.py::test_newer_suggestion_than_the_one_that_a_person_has_seen_is_not_decided",
        ),
    ),
    Mutant(
        "trigger-of-a-task-starts-one-turn",
        without_keyword("idempotency_key"),
        (
            "tests/worker/test_external_work.py::test_entries_of_different_ids_are_different_triggers",
        ),
    ),
    Mutant("runner-written-files", never, ("tests/sandbox/test_files.py",)),
    Mutant("runner-attachment-epoch", last_operand_dropped, ("tests/sandbox/test_attachments.py",)),
    Mutant("runner-text-encoding", removed, ("tests/engine/tools/test_text_forms.py",)),
    Mutant("runner-expected-digest", never, ("tests/sandbox/test_files.py",)),
    Mutant(
        "engine-unknown-outcome",
        value("False"),
        ("tests/engine/test_cancellation.py",),
    ),
    Mutant(
        "worker-inbox-at-turn-end",
        never,
        (
            "tests/flows/test_interruptions.py::"
            "test_message_during_the_final_reply_gets_a_turn_of_its_own",
        ),
    ),
    Mutant("engine-polling-is-no-loop", value("0.0"), ("tests/engine/test_loop_guard.py",)),
    Mutant(
        "engine-number-of-polls",
        value("self.polled >= seconds"),
        ("tests/engine/test_loop_guard.py",),
    ),
    Mutant("web-refused-body-is-read", value("False"), ("tests/web/test_body_size_limit.py",)),
    Mutant("engine-polling-limit", value("False"), ("tests/engine/test_loop_guard.py",)),
    Mutant(
        "engine-output-cannot-end-its-mark",
        value("digest[:8]"),
        ("tests/engine/context/test_history.py",),
    ),
    Mutant("engine-results-are-data", always, ("tests/engine/context/test_history.py",)),
    Mutant(
        "continue-once-a-click",
        never,
        (
            "tests/realtime/test_commands.py"
            "::test_continue_command_sent_again_gives_no_second_portion",
        ),
    ),
    Mutant("engine-next-budget", value("self.tokens"), ("tests/engine/test_limits.py",)),
    Mutant("engine-limits-are-read-again", never, ("tests/engine/test_loop.py",)),
    Mutant("engine-limits-of-an-attempt", never, ("tests/engine/test_loop.py",)),
    Mutant("engine-time-limit", value("None"), ("tests/engine/test_loop.py",)),
    Mutant("history-keeps-a-cut-off-reply", never, ("tests/engine/context/test_history.py",)),
    Mutant(
        "trigger-id-starts-one-conversation", never, ("tests/worker/test_external_triggers.py",)
    ),
    Mutant(
        "queued-message-is-changed-once", never, ("tests/conversations/test_queued_messages.py",)
    ),
    Mutant("trigger-client-id-is-one-text", never, ("tests/worker/test_external_triggers.py",)),
    Mutant(
        "store-call-claims-messages", never, ("tests/worker/test_messages_are_answered_once.py",)
    ),
    Mutant(
        "worker-call-reads-claimed-messages",
        filter_dropped,
        ("tests/worker/test_run_log.py",),
    ),
    Mutant(
        "worker-stop-ends-older-messages-only",
        removed,
        ("tests/worker/test_messages_are_answered_once.py",),
    ),
    Mutant(
        "worker-newer-messages-are-given-back",
        removed,
        ("tests/worker/test_claim.py",),
    ),
    Mutant(
        "worker-commands-wait-for-their-phase", never, ("tests/worker/test_control_protocol.py",)
    ),
    Mutant("worker-stronger-request-wins", always, ("tests/worker/test_control_protocol.py",)),
    Mutant(
        "turns-and-calls-move-as-allowed",
        never,
        ("tests/conversations/test_status_moves.py::test_turn_ends_only_while_it_runs",),
    ),
    Mutant(
        "triggers-move-as-allowed",
        value("self"),
        ("tests/conversations/test_status_moves.py::test_trigger_moves_only_as_the_table_allows",),
    ),
    Mutant("sandbox-moves-as-allowed", never, ("tests/conversations/test_sandbox_lifecycle.py",)),
    Mutant("worker-late-stop-ends-older-messages-only", never, ("tests/worker/test_claim.py",)),
    Mutant("worker-parked-stop-leaves-newer-messages", never, ("tests/worker/test_claim.py",)),
    Mutant("worker-parks-deadly-step", never, ("tests/worker/test_claim.py",)),
    Mutant(
        "worker-reused-pid",
        value('process_start_time(pid) == ""'),
        ("tests/worker/test_worker_registry.py::test_process_whose_pid_was_reused_has_ended",),
    ),
    Mutant(
        "worker-lease-skips-locked-rows",
        without_keyword("skip_locked"),
        ("tests/worker/test_leases.py",),
        on_services=True,
    ),
    Mutant(
        "realtime-watch-before-replay",
        last_context_dropped,
        ("tests/realtime/test_replay_and_follow.py",),
    ),
    Mutant("mcp-gate", never, ("tests/mcp_server/test_access.py",)),
    Mutant("mcp-origin", always, ("tests/mcp_server/test_bad_input.py",)),
    Mutant(
        "mcp-agent-that-is-not-active-does-not-work",
        never,
        (
            "tests/mcp_server/test_waiting.py::test_wait_for_an_agent_that_is_not_active_ends_and_says_who_can_go_on",
        ),
    ),
    Mutant(
        "mcp-waits-after-the-end",
        never,
        (
            "tests/mcp_server/test_waiting.py::test_wait_that_begins_after_the_web_server_has_ended_all_is_over_at_once",
        ),
    ),
    Mutant("mcp-waits-per-token", never, ("tests/mcp_server/test_waiting.py",)),
    Mutant("realtime-origin", value("True"), ("tests/realtime/test_access.py",)),
    Mutant(
        "realtime-membership",
        value("principal.user.memberships.first()"),
        ("tests/realtime/test_access.py",),
    ),
    Mutant(
        "conversation-of-the-project",
        without_keyword("project"),
        ("tests/security/test_access_matrix.py",),
    ),
    Mutant(
        "history-each-call-has-a-result",
        value(
            "tuple(known[block.call_id] for block in reply"
            " if isinstance(block, ToolUse) and block.call_id in known)"
        ),
        ("tests/engine/context/test_history.py",),
    ),
    Mutant("history-first-result-counts", removed, ("tests/engine/context/test_history.py",)),
    Mutant("api-idempotency-key", always, ("tests/accounts/test_idempotency.py",)),
    Mutant(
        "docker-installation-label",
        # Only containers of tests: the daemon may have others, which must be left alone.
        value(
            "[each for each in self._engine.call_sync(lambda client: client.containers(all=True))"
            " if each['Labels'].get(container.INSTALL_LABEL, '').startswith('tests-')]"
        ),
        (
            "tests/sandbox/test_docker.py::"
            "test_a_container_of_another_installation_with_a_name_of_this_one_is_ignored",
        ),
    ),
    Mutant("engine-promised-work", always, ("tests/engine/test_promised_work.py",)),
    Mutant("engine-text-call-correction", never, ("tests/engine/test_text_tool_calls.py",)),
    Mutant("engine-unknown-price", always, ("tests/engine/test_loop.py",)),
    Mutant("engine-summary-at-a-limit", never, ("tests/engine/test_budgets.py",)),
    Mutant(
        "engine-one-summary",
        never,
        (
            "tests/engine/test_budgets.py",
            "tests/engine/test_limits.py",
            "tests/engine/test_loop.py",
        ),
    ),
    Mutant("engine-summary-fits-into-the-budget", value("True"), ("tests/engine/test_budgets.py",)),
    Mutant(
        "engine-shared-budget-is-no-portion",
        value("event.which"),
        ("tests/engine/test_budgets.py",),
    ),
    Mutant("budget-is-asked-when-a-call-starts", never, ("tests/conversations/test_budgets.py",)),
    Mutant(
        "budget-calls-wait-for-one-another",
        removed,
        ("tests/conversations/test_budgets.py",),
        on_services=True,
    ),
    Mutant("budget-holds-an-unanswered-request", never, ("tests/conversations/test_budgets.py",)),
    Mutant(
        "engine-fork-has-a-budget-of-its-own", value("False"), ("tests/engine/test_budgets.py",)
    ),
    Mutant("engine-limit-outlives-its-summary", always, ("tests/engine/test_budgets.py",)),
    Mutant("engine-limits-after-a-refusal", never, ("tests/engine/test_budgets.py",)),
    Mutant("refused-call-loses-no-entry", value("[]"), ("tests/worker/test_budget_pauses.py",)),
    Mutant("engine-first-call-of-a-portion", never, ("tests/engine/test_budgets.py",)),
    Mutant("budget-counts-what-a-call-may-take", never, ("tests/engine/test_budgets.py",)),
    Mutant("budget-counts-what-a-call-may-cost", never, ("tests/engine/test_budgets.py",)),
    Mutant("engine-writes-in-order", always, ("tests/engine/test_loop.py",)),
    Mutant("engine-intent-before-call", never, ("tests/engine/test_loop.py",)),
    Mutant("engine-outcome-at-stop", removed, ("tests/engine/test_cancellation.py",)),
    Mutant("engine-retry-reads-messages", removed, ("tests/engine/test_cancellation.py",)),
    Mutant("engine-discarded-text", never, ("tests/engine/test_loop.py",)),
    Mutant("engine-empty-reply", removed, ("tests/engine/test_loop.py",)),
    Mutant("engine-longest-retry-wait", never, ("tests/engine/llm/test_retrying.py",)),
    Mutant("engine-step-limit", never, ("tests/engine/test_limits.py",)),
    Mutant("engine-warning-of-steps", value("[]"), ("tests/engine/test_limits.py",)),
    Mutant("engine-one-warning", value("near"), ("tests/engine/test_limits.py",)),
    Mutant(
        "engine-warning-of-a-new-repetition", value("after"), ("tests/engine/test_loop_guard.py",)
    ),
    Mutant(
        "engine-arguments-without-nan",
        without_keyword("parse_constant"),
        ("tests/engine/llm/test_anthropic_stream.py",),
    ),
    Mutant(
        "engine-argument-depth",
        never,
        ("tests/engine/llm/test_anthropic_stream.py",),
    ),
    Mutant(
        "history-messages-until-seen", filter_dropped, ("tests/engine/context/test_history.py",)
    ),
    Mutant("engine-loop-stuck", never, ("tests/engine/test_repeated_steps.py",)),
    Mutant(
        "model-answer-length",
        never,
        (
            "tests/engine/llm/test_anthropic_client.py::"
            "test_anthropic_adapter_ends_an_answer_that_is_too_long",
        ),
    ),
    Mutant(
        "engine-reply-after-results",
        never,
        (
            "tests/engine/llm/test_openai_client.py::"
            "test_openai_adapter_puts_a_reply_between_results_and_a_persons_words_for_mistral",
        ),
    ),
    Mutant("engine-strictest-form", always, ("tests/engine/llm/test_plain_history.py",)),
    Mutant(
        "engine-no-blind-repeat",
        value("StreamBroken"),
        ("tests/engine/llm/test_response_body.py",),
    ),
    Mutant("engine-patience-while-loading", value("False"), ("tests/engine/llm/test_retrying.py",)),
    Mutant(
        "engine-newest-results-are-kept",
        value("[results for results in by_message if results]"),
        ("tests/engine/context/test_boundaries.py",),
    ),
    Mutant("engine-shorten-after-refusal", always, ("tests/engine/test_context_window.py",)),
    Mutant(
        "engine-limits-of-a-side-call",
        never,
        (f"{COMPACTION}::test_a_failed_attempt_of_a_summary_counts_for_the_budget",),
    ),
    Mutant(
        "context-compact-at",
        always,
        (f"{COMPACTION}::test_a_conversation_near_the_window_goes_on_with_a_summary",),
    ),
    Mutant("context-implausible-count", never, ("tests/engine/test_context_window.py",)),
    Mutant(
        "context-refused-window-counts",
        never,
        (f"{COMPACTION}::test_a_wrong_window_is_corrected_by_the_refusal_and_the_turn_ends_well",),
    ),
    Mutant(
        "context-refused-settings-of-the-agent",
        always,
        (f"{COMPACTION}::test_the_agent_writes_the_summary_itself_if_the_model_for_it_fails",),
    ),
    Mutant(
        "context-outage-costs-no-history",
        never,
        (f"{COMPACTION}::test_an_outage_pauses_the_turn_and_costs_no_history",),
    ),
    Mutant(
        "context-each-portion-gets-on",
        always,
        (
            f"{COMPACTION}::test_a_summary_in_parts_that_takes_more_than_a_portion_gets_on_with_each",
        ),
    ),
    Mutant(
        "context-newest-step-of-a-refusal",
        value("()"),
        (f"{COMPACTION}::test_the_newest_result_outlasts_a_refusal_or_is_carried_over_shortened",),
    ),
    Mutant("fallback-never-after-a-shown-token", last_operand_dropped, (CHOICE,)),
    Mutant("fallback-reserves-anew", never, (CHOICE,)),
    Mutant("fallback-of-unknown-price", value("False"), (CHOICE,)),
    Mutant("fallback-time-may-help-the-first-model", never, (CHOICE,)),
    Mutant("fallback-asks-a-failed-model-once", never, (CHOICE,)),
    Mutant("fallback-key-goes-with-the-fallback", never, (MODEL_SETTINGS,)),
    Mutant("effort-strongest-message-wins", value("self.messages[-1].effort"), (CHOICE,)),
    Mutant("effort-of-a-message-read-with-the-call", never, (CHOICE,)),
    Mutant("effort-has-a-step-limit-of-its-own", never, (CHOICE,)),
    Mutant("effort-of-unknown-price", never, (CHOICE,)),
    Mutant(
        "fork-keeps-the-effort-of-the-message",
        never,
        (
            "tests/conversations/test_forks.py::test_changed_message_has_the_effort_of_the_one_in_whose_place_it_is_sent",
        ),
    ),
    Mutant("engine-unknown-price-of-a-later-step", never, (CHOICE,)),
    Mutant("fallback-keeps-the-steps-of-the-effort", value("None"), (MODEL_SETTINGS,)),
    Mutant("effort-gets-no-key-of-another-provider", never, (MODEL_SETTINGS,)),
    Mutant("effort-has-the-window-of-its-model", never, (MODEL_SETTINGS,)),
    Mutant("effort-of-a-message-is-known", never, (MODEL_SETTINGS,)),
    Mutant("key-of-a-person-is-for-that-person", value("False"), (CHOICE,)),
    Mutant("key-of-a-person-needs-one-beginner", never, (MODEL_KEYS,)),
    Mutant("key-of-a-person-who-is-a-member", never, (MODEL_KEYS,)),
    Mutant("lent-key-goes-to-its-server-only", never, (MODEL_KEYS,)),
    Mutant("lent-key-of-the-very-address-first", always, (MODEL_KEYS,)),
    Mutant(
        "compaction-model-of-the-same-provider",
        never,
        ("tests/agents/test_settings_have_effect.py",),
    ),
    Mutant(
        "compaction-model-gets-no-key-of-another-provider",
        always,
        ("tests/security/test_bad_input.py",),
    ),
    Mutant(
        "context-summary-must-win",
        never,
        (f"{COMPACTION}::test_a_summary_that_wins_less_than_a_quarter_is_not_used",),
    ),
    Mutant(
        "history-replaces-whole-pairs",
        removed,
        ("tests/engine/context/test_boundaries.py",),
    ),
    Mutant("summary-is-requested-once", always, ("tests/conversations/test_summaries.py",)),
    Mutant("engine-strictest-form-is-left", removed, ("tests/engine/llm/test_plain_history.py",)),
    Mutant("engine-no-repeat-behind-a-proxy", never, ("tests/engine/llm/test_response_body.py",)),
    Mutant("engine-attached-growth", never, ("tests/engine/llm/test_openai_attachments.py",)),
    Mutant("engine-embedded-addresses", never, ("tests/engine/llm/test_addresses.py",)),
    Mutant("engine-tags-in-code", never, (ODDITIES,)),
    Mutant(
        "bus-first-id-of-an-entry",
        value("entry[0].decode()"),
        (
            "tests/bus/test_trigger_stream.py::"
            "test_entry_that_a_stopping_worker_requeues_is_handled_under_its_first_id",
        ),
        on_services=True,
    ),
    Mutant("engine-private-addresses", value("True"), ("tests/engine/llm/test_addresses.py",)),
    Mutant(
        "engine-internal-names-are-not-proxied",
        value("False"),
        (
            "tests/engine/llm/test_addresses.py::test_internal_name_that_is_not_known_here_is_asked_of_no_proxy",
        ),
    ),
    Mutant(
        "engine-loopback-is-not-proxied",
        last_operand_dropped,
        ("tests/engine/llm/test_addresses.py",),
    ),
    Mutant("engine-key-in-answers", always, ("tests/engine/llm/test_secret_masking.py",)),
    Mutant("common-storable-errors", value("detail or ''"), ("tests/common/test_errors.py",)),
    Mutant("engine-words-of-private-servers", always, ("tests/engine/llm/test_server_words.py",)),
    Mutant("engine-ibm-key-stays", never, (CLOUDS,)),
    Mutant("engine-cloud-region", never, (CLOUDS,)),
    Mutant("engine-aws-region", never, (CLOUDS,)),
    Mutant("engine-prediction-id", never, (CLOUDS,)),
    Mutant("engine-byte-order-mark", removed, (ODDITIES,)),
    Mutant("engine-unknown-lines-are-told", never, (ODDITIES,)),
    Mutant("engine-arguments-encoded-twice", never, (ODDITIES,)),
    Mutant("engine-reasoning-tags", never, (ODDITIES,)),
    Mutant("engine-end-mark", always, (ODDITIES,)),
    Mutant(
        "engine-attached-to-its-family",
        value("next(iter(block.attached.values()), {})"),
        ("tests/engine/llm/test_openai_attachments.py",),
    ),
    Mutant("engine-attached-bytes", never, ("tests/engine/llm/test_openai_attachments.py",)),
    Mutant("engine-request-read-in-part", always, ("tests/engine/test_odd_replies.py",)),
    Mutant("engine-unreadable-arguments", never, ("tests/engine/test_odd_replies.py",)),
    Mutant("engine-unreadable-steps", value("False"), ("tests/engine/test_odd_replies.py",)),
    Mutant("engine-only-reasoning", never, ("tests/engine/test_odd_replies.py",)),
    Mutant("web-body-length", always, ("tests/web/test_body_size_limit.py",)),
    Mutant(
        "log-lines-of-strangers",
        always,
        (
            "tests/common/test_log_limits.py::test_lines_of_strangers_are_limited_and_their_number_is_told",
        ),
    ),
    Mutant("connections-per-address", never, ("tests/ops/test_connection_table.py",)),
    Mutant("connections-in-all", never, ("tests/ops/test_connection_table.py",)),
    Mutant("connections-time", removed, ("tests/ops/test_connection_table.py",)),
    Mutant(
        "connections-downloads-last",
        value("next(iter(waiting))"),
        ("tests/ops/test_connection_table.py",),
    ),
    Mutant("web-head-bytes", never, ("tests/installation/test_connection_limits.py",)),
    Mutant("web-trailers", always, ("tests/ops/test_http_protocol.py",)),
    Mutant("web-pipelined-body", never, ("tests/installation/test_connection_limits.py",)),
    Mutant("web-closed-sockets", removed, ("tests/ops/test_http_protocol.py",)),
    Mutant("api-cursor-position", never, ("tests/security/test_odd_input.py",)),
    Mutant("sign-in-failures", never, ("tests/accounts/test_sign_in.py",)),
    Mutant("web-probes-any-host", never, ("tests/ops/test_health.py",)),
    Mutant("web-forwarded-headers", always, ("tests/web/test_forwarded_headers.py",)),
    Mutant(
        "daphne-body-length",
        never,
        ("tests/ops/test_daphne.py::test_daphne_serves_pages_api_and_sockets",),
    ),
    Mutant("daphne-slow-reader", always, ("tests/ops/test_daphne_connections.py",)),
    Mutant("full-output-is-whole", never, ("tests/conversations/test_full_outputs.py",)),
    Mutant("daphne-unsent-bytes", always, ("tests/ops/test_daphne.py",)),
    Mutant(
        "skill-front-matter-without-aliases",
        never,
        ("tests/agents/test_skill_archive.py::test_document_that_cannot_be_read_is_refused",),
    ),
    Mutant(
        "skill-front-matter-is-storable",
        never,
        ("tests/agents/test_skill_archive.py::test_document_that_cannot_be_read_is_refused",),
    ),
    Mutant(
        "skill-front-matter-depth",
        never,
        ("tests/agents/test_skill_archive.py::test_document_that_cannot_be_read_is_refused",),
    ),
    Mutant(
        "skill-archive-size",
        never,
        ("tests/agents/test_skill_archive.py::test_zip_of_much_data_is_refused",),
    ),
    Mutant(
        "skill-archive-paths",
        never,
        ("tests/agents/test_skill_archive.py::test_zip_with_a_path_that_leads_out_is_refused",),
    ),
    Mutant(
        "skill-archive-one-name",
        never,
        ("tests/agents/test_skill_archive.py::test_zip_that_gives_a_file_two_names_is_refused",),
    ),
    Mutant(
        "skill-archive-links",
        never,
        ("tests/agents/test_skill_archive.py::test_zip_with_a_link_is_refused",),
    ),
    Mutant(
        "skill-is-loaded-once",
        value("list(found)"),
        ("tests/conversations/test_skill_loading.py::test_skill_is_opened_once_in_a_conversation",),
    ),
    Mutant(
        "instructions-are-shown-once",
        last_operand_dropped,
        ("tests/engine/tools/test_instructions_file.py",),
    ),
    Mutant(
        "sandbox-file-paths",
        never,
        ("tests/sandbox/test_skill_files.py::test_path_that_leads_out_is_refused",),
    ),
    Mutant("copy-checks-its-way-back", never, (TREE_COPY,)),
    Mutant("copy-of-a-removed-folder", never, (TREE_COPY,)),
    Mutant("copy-within-the-limit-of-bytes", never, (TREE_COPY,)),
    Mutant("copy-within-the-limit-of-files", never, (TREE_COPY,)),
    Mutant("copy-leaves-space-on-the-disk", never, (TREE_COPY,)),
    Mutant("failed-copy-is-not-used", never, (TREE_COPY,)),
    Mutant("superseded-copy-leaves-the-files", last_operand_dropped, (COPY_CLAIMS,)),
    Mutant("superseded-copy-leaves-the-volumes", never, (COPY_CLAIMS,)),
    Mutant(
        "copy-of-the-right-sandbox",
        never,
        (f"{FILE_COPIES}::test_copy_of_a_process_that_took_the_place_of_the_sandbox_is_refused",),
    ),
    Mutant(
        "copy-of-no-new-volume",
        never,
        (f"{FILE_COPIES}::test_volume_that_docker_makes_for_a_deleted_origin_is_no_copy",),
    ),
    Mutant(
        "files-are-copied-once",
        removed,
        (
            "tests/engine/context/test_history.py::"
            "test_files_of_a_fork_are_copied_once_and_told_to_the_model",
        ),
    ),
    Mutant(
        "fork-leaves-the-summary-of-its-origin",
        value("self"),
        (
            "tests/conversations/test_summaries.py::"
            "test_summary_that_the_origin_waits_for_is_not_made_in_a_fork",
        ),
    ),
    Mutant(
        "custom-tools-threads-are-bounded",
        never,
        (
            "tests/engine/tools/test_custom_tools.py::test_handlers_that_never_end_use_up_their_threads_and_no_others",
        ),
    ),
    Mutant(
        "custom-tools-timeout-tells-the-truth",
        never,
        (
            "tests/engine/tools/test_custom_tools.py::test_time_limit_ends_the_call_and_says_that_the_handler_may_run_on",
        ),
    ),
    Mutant(
        "custom-tools-output-is-bounded",
        value("text, False"),
        (
            "tests/engine/tools/test_custom_tools.py::test_long_answer_is_shortened_as_that_of_a_command",
        ),
    ),
    Mutant(
        "custom-tools-opaque-is-never-safe",
        never,
        (
            "tests/engine/tools/test_custom_tools.py::test_class_that_is_no_tool_is_refused_with_what_to_change",
        ),
    ),
    Mutant(
        "custom-tools-are-installed",
        last_operand_dropped,
        (
            "tests/engine/tools/test_installed_tools.py::test_folder_that_nothing_has_installed_does_not_count",
        ),
    ),
    Mutant(
        "custom-tools-leave-the-names-of-mcp",
        value("{tool.name for tool in _own_tools()}"),
        (
            "tests/engine/tools/test_installed_tools.py::test_package_has_no_name_of_a_tool_that_comes_with_mcp_servers",
        ),
    ),
    Mutant(
        "custom-tools-replace-no-other",
        never,
        (
            "tests/engine/tools/test_installed_tools.py::test_broken_package_is_reported_and_the_others_work",
        ),
    ),
    Mutant(
        "custom-tools-gone-block-no-setting",
        never,
        ("tests/flows/test_custom_tools.py",),
    ),
    Mutant(
        "missed-slots-are-not-piled-up",
        removed,
        ("tests/conversations/test_check_in_slots.py::test_missed_slots_become_one",),
    ),
    Mutant(
        "check-in-of-the-project",
        without_keyword("agent__project"),
        (
            "tests/conversations/test_check_in_api.py::test_check_in_is_not_found_in_another_project",
        ),
    ),
    Mutant(
        "check-in-reads-only",
        value("False"),
        (f"{CHECK_INS}::test_run_reads_only_unless_its_check_in_may_act",),
    ),
    Mutant(
        "slot-is-taken-once",
        without_keyword("next_at"),
        (f"{CHECK_INS}::test_row_that_was_read_before_another_worker_took_the_slot_takes_nothing",),
    ),
    Mutant(
        "slot-that-is-planned-again",
        never,
        (f"{CHECK_INS}::test_slot_that_a_change_plans_again_does_not_run_again",),
    ),
    Mutant(
        "late-slot-outside-of-the-active-hours",
        never,
        (f"{CHECK_INS}::test_late_slot_outside_of_the_active_hours_does_not_run",),
    ),
    Mutant(
        "check-in-waits-for-the-former-one",
        never,
        (f"{CHECK_INS}::test_slot_is_skipped_while_the_former_run_is_not_finished",),
    ),
    Mutant(
        "check-in-reports-in-its-project",
        never,
        (f"{CHECK_INS}::test_report_goes_to_no_other_project",),
    ),
    Mutant(
        "read-only-tools-change-nothing",
        value("False"),
        (
            "tests/engine/tools/test_registry.py::test_read_only_toolbox_refuses_and_hides_each_tool_that_changes_something",
        ),
    ),
    Mutant(
        "runner-pipes-end-with-their-worker",
        removed,
        ("tests/sandbox/test_pipes.py::test_processes_with_a_pipe_end_when_the_worker_detaches",),
    ),
    Mutant(
        "mcp-tools-that-are-switched-off-are-not-called",
        never,
        (
            "tests/engine/mcp/test_servers.py::test_a_tool_that_is_switched_off_is_not_called_within_the_turn",
        ),
    ),
    Mutant(
        "mcp-servers-that-are-switched-off-are-not-read",
        never,
        (
            "tests/engine/mcp/test_servers.py::test_a_server_that_is_deleted_is_neither_called_nor_read_within_the_turn",
        ),
    ),
    Mutant(
        "mcp-tools-that-are-safe-no-more-ask",
        never,
        (
            "tests/engine/mcp/test_servers.py::test_calls_of_a_tool_that_is_safe_no_more_do_not_run_and_the_next_step_asks",
        ),
    ),
    Mutant(
        "mcp-names-do-not-collide",
        value("is_changed"),
        ("tests/engine/mcp/test_offers.py::test_names_are_valid_short_and_never_shared",),
    ),
    Mutant(
        "mcp-descriptions-hide-nothing",
        filter_dropped,
        (
            "tests/engine/mcp/test_offers.py::test_a_description_hides_nothing_from_the_person_who_accepts_it",
        ),
    ),
    Mutant(
        "mcp-arguments-hide-nothing",
        never,
        (
            "tests/engine/mcp/test_offers.py::test_a_bad_description_leaves_its_tool_out_and_says_why",
        ),
    ),
    Mutant(
        "mcp-schemas-hide-nothing",
        value("len(value) <= MAX_FIELD_TEXT_CHARACTERS"),
        (
            "tests/engine/mcp/test_offers.py::test_values_of_a_schema_hide_nothing_and_can_be_stored",
        ),
    ),
    Mutant(
        "mcp-diff-shows-each-line",
        value('[each for each in diff.split("\\n") if not each.startswith(("--- ", "+++ "))]'),
        (f"{MCP_TOOLS}::test_changed_line_is_shown_on_the_page_whatever_it_begins_with",),
    ),
    Mutant(
        "mcp-long-texts-are-not-compared",
        never,
        (f"{MCP_TOOLS}::test_long_texts_are_shown_one_after_the_other_and_not_compared",),
    ),
    Mutant(
        "mcp-results-repeat-no-token",
        removed,
        ("tests/engine/mcp/test_http.py::test_a_token_that_its_server_repeats_is_in_no_result",),
    ),
    Mutant(
        "mcp-schemas-are-bounded",
        never,
        (
            "tests/engine/mcp/test_offers.py::test_a_bad_description_leaves_its_tool_out_and_says_why",
        ),
    ),
    Mutant(
        "mcp-redirects-are-refused",
        never,
        ("tests/engine/mcp/test_http.py::test_what_the_client_refuses_is_said",),
    ),
    Mutant(
        "mcp-answers-are-bounded",
        never,
        ("tests/engine/mcp/test_http.py::test_a_bad_answer_to_a_call_is_a_result",),
    ),
    Mutant(
        "mcp-expired-session-is-renewed",
        never,
        (
            "tests/engine/mcp/test_http.py::test_a_session_that_the_server_has_forgotten_is_begun_again",
        ),
    ),
    Mutant(
        "mcp-lines-are-bounded",
        never,
        (
            "tests/engine/mcp/test_servers.py::test_a_server_that_is_lost_in_mid_call_is_connected_again",
        ),
    ),
    Mutant(
        "mcp-long-lists-are-cut",
        never,
        (
            "tests/engine/mcp/test_offers.py::test_of_a_list_without_end_only_the_beginning_is_looked_at",
        ),
    ),
    Mutant(
        "mcp-server-that-hangs-is-begun-again",
        never,
        (
            "tests/engine/mcp/test_servers.py::test_a_call_that_takes_too_long_ends_and_the_next_one_works",
        ),
    ),
    Mutant(
        "mcp-unasked-messages-end",
        value("_Count()"),
        (
            "tests/engine/mcp/test_http.py::test_what_a_server_sends_unasked_counts_over_all_its_streams",
        ),
    ),
    Mutant(
        "mcp-lists-of-tools-end",
        never,
        (
            "tests/engine/mcp/test_http.py::test_a_list_of_tools_without_end_is_read_no_further_than_needed",
        ),
    ),
    Mutant(
        "mcp-images-have-few-pixels",
        never,
        (
            "tests/engine/mcp/test_results.py::test_a_picture_that_a_browser_would_unpack_to_gigabytes_is_not_shown",
        ),
    ),
    Mutant(
        "refused-images-are-left-out",
        always,
        (
            "tests/engine/llm/test_anthropic_client.py::test_anthropic_adapter_drops_images_that_the_provider_refuses",
            "tests/engine/llm/test_openai_client.py::test_openai_adapter_drops_images_that_the_server_refuses",
        ),
    ),
    Mutant(
        "mcp-answers-to-a-server-allow-no-more",
        always,
        ("tests/engine/mcp/test_servers.py::test_a_server_that_asks_and_asks_is_ended",),
    ),
    Mutant(
        "mcp-streams-are-not-begun-for-ever",
        never,
        (
            "tests/engine/mcp/test_http.py::test_streams_that_a_server_breaks_off_are_not_begun_for_ever",
        ),
    ),
    Mutant(
        "mcp-event-streams-end",
        never,
        ("tests/engine/mcp/test_http.py::test_a_stream_of_ever_more_events_is_ended",),
    ),
    Mutant(
        "oauth-new-token-is-not-renewed-again",
        always,
        (
            "tests/engine/mcp/test_http.py::test_a_token_that_another_request_has_renewed_is_not_renewed_again",
        ),
    ),
    Mutant(
        "oauth-scopes-are-plain",
        never,
        ("tests/engine/mcp/test_oauth.py::test_metadata_that_do_not_fit_are_refused",),
    ),
    Mutant(
        "oauth-client-is-plain",
        never,
        ("tests/engine/mcp/test_oauth.py::test_client_that_cannot_be_stored_or_sent_is_refused",),
    ),
    Mutant(
        "mcp-report-of-a-former-server-stores-nothing",
        last_operand_dropped,
        (
            "tests/agents/mcp/test_mcp_tools.py::test_report_of_what_stood_in_the_place_of_the_server_before_accepts_nothing",
        ),
    ),
    Mutant(
        "mcp-floods-end",
        never,
        (
            "tests/engine/mcp/test_servers.py::test_a_server_that_is_lost_in_mid_call_is_connected_again",
        ),
    ),
    Mutant(
        "mcp-results-are-bounded",
        value("joined, False"),
        ("tests/engine/mcp/test_results.py::test_a_long_text_is_cut_like_other_outputs",),
    ),
    Mutant(
        "mcp-images-are-images",
        never,
        ("tests/engine/mcp/test_results.py::test_what_is_no_image_is_not_shown",),
    ),
    Mutant(
        "mcp-tools-are-unsafe-until-a-person-says-otherwise",
        value("True"),
        ("tests/engine/mcp/test_approvals.py::test_approval_of_a_call",),
    ),
    Mutant(
        "mcp-destructive-tools-ask",
        value("False"),
        ("tests/engine/mcp/test_approvals.py::test_approval_of_a_call",),
    ),
    Mutant(
        "mcp-changed-tools-are-not-called",
        always,
        (
            "tests/engine/mcp/test_servers.py::test_a_tool_that_has_changed_is_not_called_until_a_person_accepts_it",
        ),
    ),
    Mutant(
        "mcp-lost-calls-tell-the-truth",
        value('""'),
        (
            "tests/engine/mcp/test_servers.py::test_a_server_that_is_lost_in_mid_call_is_connected_again",
        ),
    ),
    Mutant(
        "mcp-reads-listed-resources-only",
        never,
        ("tests/engine/mcp/test_servers.py::test_resources_and_prompts_are_read_by_three_tools",),
    ),
    Mutant(
        "mcp-metadata-addresses",
        never,
        ("tests/engine/mcp/test_addresses.py::test_metadata_services_are_never_allowed",),
    ),
    Mutant(
        "mcp-private-addresses",
        never,
        ("tests/engine/mcp/test_addresses.py",),
    ),
    Mutant(
        "mcp-private-addresses-of-the-operator",
        value("True"),
        ("tests/engine/mcp/test_addresses.py",),
    ),
    Mutant(
        "mcp-slow-servers-hold-nothing-up",
        value("60.0"),
        (
            "tests/engine/mcp/test_servers.py::test_a_slow_server_holds_the_first_step_up_for_a_while_only",
        ),
    ),
    Mutant(
        "mcp-tools-are-only-added",
        removed,
        ("tests/engine/mcp/test_servers.py::test_within_a_turn_tools_are_only_added",),
    ),
    Mutant(
        "mcp-unaccepted-tools-are-not-offered",
        value("dict(pins)"),
        (
            "tests/engine/mcp/test_servers.py::test_an_unaccepted_tool_is_not_offered_until_a_person_accepts_it",
        ),
    ),
    Mutant(
        "mcp-secrets-go-with-their-agent",
        removed,
        (f"{MCP_SERVERS}::test_retired_agent_keeps_no_secret_of_a_server",),
    ),
    Mutant(
        "mcp-decision-on-what-was-read",
        never,
        (f"{MCP_TOOLS}::test_decision_counts_for_the_description_that_was_read_only",),
    ),
    Mutant(
        "mcp-changed-tools-wait",
        value("True"),
        (f"{MCP_TOOLS}::test_first_tools_wait_and_one_request_accepts_them_all",),
    ),
    Mutant(
        "mcp-server-of-the-project",
        value("McpServer.objects.select_related('agent__project', 'grant')"),
        (f"{MCP_SERVERS}::test_server_of_another_project_is_not_found",),
    ),
    Mutant(
        "mcp-private-addresses-of-the-project",
        never,
        (f"{MCP_SERVERS}::test_private_addresses_are_allowed_by_the_project_first",),
    ),
    Mutant(
        "mcp-private-addresses-as-the-project-says-now",
        value("True"),
        (f"{MCP_SERVERS}::test_private_addresses_are_allowed_by_the_project_first",),
    ),
    Mutant(
        "mcp-values-stay-where-they-belong",
        never,
        (f"{MCP_SERVERS}::test_headers_are_typed_again_when_the_server_moves_to_another_host",),
    ),
    Mutant(
        "mcp-client-secret-stays-with-its-host",
        never,
        (
            f"{MCP_SERVERS}::test_secret_of_a_client_is_typed_again_when_the_server_moves_to_another_host",
        ),
    ),
    Mutant(
        "mcp-another-server-is-accepted-anew",
        value("False"),
        (f"{MCP_SERVERS}::test_another_command_line_forgets_what_was_accepted",),
    ),
    Mutant(
        "mcp-tokens-stay-with-their-server",
        removed,
        (f"{SIGN_INS}::test_server_that_moves_loses_its_tokens_and_begun_sign_ins",),
    ),
    Mutant(
        "mcp-header-values-are-one-line",
        never,
        (
            "tests/agents/mcp/test_mcp_bad_input.py::test_wrong_settings_are_refused_and_the_error_names_the_field",
        ),
    ),
    Mutant(
        "oauth-state-of-this-session",
        without_keyword("session_hash"),
        (f"{SIGN_INS}::test_state_of_another_session_or_person_or_none_ends_nothing",),
    ),
    Mutant(
        "oauth-state-works-once",
        last_operand_dropped,
        (f"{SIGN_INS}::test_way_back_works_once_and_for_ten_minutes",),
    ),
    Mutant(
        "oauth-tokens-of-the-present-address",
        never,
        (f"{SIGN_INS}::test_tokens_are_stored_for_no_other_address_than_they_were_asked_for",),
    ),
    Mutant(
        "oauth-tokens-go-to-no-former-address",
        never,
        (f"{SIGN_INS}::test_run_that_knows_a_former_address_gets_no_token_for_the_present_one",),
    ),
    Mutant(
        "oauth-client-secret-stays-with-its-service",
        never,
        (
            f"{SIGN_INS}::test_secret_of_a_client_goes_to_no_other_service_than_the_one_that_people_know",
        ),
    ),
    Mutant(
        "oauth-one-refresh-at-a-time",
        value("Q()"),
        (f"{SIGN_INS}::test_refresh_of_a_dead_process_is_tried_again_when_its_lease_ends",),
    ),
    Mutant(
        "oauth-refresh-outlives-a-stop",
        value("_renew(renewal, run)"),
        (f"{SIGN_INS}::test_refresh_goes_on_when_its_caller_is_stopped",),
    ),
    Mutant(
        "oauth-errors-repeat-no-secret",
        value("frozenset()"),
        (f"{OAUTH}::test_refusal_that_repeats_the_secrets_is_told_without_them",),
    ),
    Mutant(
        "oauth-late-refresh-stores-nothing",
        without_keyword("renewal"),
        (f"{SIGN_INS}::test_refresh_of_a_dead_process_is_tried_again_when_its_lease_ends",),
    ),
    Mutant(
        "oauth-begins-in-a-browser",
        never,
        (f"{SIGN_INS}::test_token_of_the_api_begins_no_sign_in",),
    ),
    Mutant(
        "oauth-ends-with-the-permission",
        never,
        (f"{SIGN_INS}::test_member_without_the_permission_any_more_ends_no_sign_in",),
    ),
    Mutant(
        "oauth-answer-of-the-service-that-was-asked",
        never,
        (f"{SIGN_INS}::test_answer_of_another_service_is_not_taken_for_that_of_the_asked_one",),
    ),
    Mutant(
        "oauth-issuer-is-the-one-asked",
        never,
        (f"{OAUTH}::test_metadata_that_do_not_fit_are_refused",),
    ),
    Mutant(
        "oauth-pkce-is-a-must",
        never,
        (f"{SIGN_INS}::test_sign_in_service_with_bad_metadata_is_refused",),
    ),
    Mutant(
        "oauth-follows-no-redirect",
        never,
        (f"{SIGN_INS}::test_redirects_are_not_followed",),
    ),
    Mutant(
        "oauth-final-refusals",
        value("False"),
        (f"{SIGN_INS}::test_refresh_token_that_was_used_by_a_dead_process_asks_for_a_new_sign_in",),
    ),
    Mutant(
        "oauth-resource-is-the-server",
        never,
        (f"{OAUTH}::test_metadata_that_do_not_fit_are_refused",),
    ),
    Mutant("oauth-answer-length", never, (f"{OAUTH}::test_answer_without_end_is_refused",)),
    Mutant("oauth-schemes", never, (f"{OAUTH}::test_metadata_that_do_not_fit_are_refused",)),
    Mutant("oauth-private-hosts", never, (f"{OAUTH}::test_metadata_that_do_not_fit_are_refused",)),
    Mutant(
        "budget-counts-helpers",
        value("0, 0.0"),
        (f"{DELEGATE}::test_usage_of_helpers_counts_for_the_budget_of_the_conversation",),
    ),
    Mutant(
        "budget-of-a-family-counts-all-of-it",
        value("ModelCall.objects.none()"),
        (f"{HELPERS}::test_budget_of_a_family_counts_all_of_it",),
    ),
    Mutant(
        "conversation-waits-for-every-helper",
        always,
        (f"{HELPERS}::test_conversation_goes_on_after_the_last_helper_and_each_end_is_told_once",),
    ),
    Mutant(
        "helper-end-is-told-once",
        removed,
        (f"{HELPERS}::test_conversation_goes_on_after_the_last_helper_and_each_end_is_told_once",),
    ),
    Mutant(
        "helper-ends-no-sandbox-of-others",
        never,
        (f"{HELPERS}::test_sandbox_that_a_helper_starts_is_that_of_its_conversation",),
    ),
    Mutant(
        "helper-has-no-budget-of-its-own",
        removed,
        (f"{HELPERS}::test_budget_of_a_family_counts_all_of_it",),
    ),
    Mutant(
        "helper-inherits-read-only",
        value("reads_only(piece.kind)"),
        (f"{HELPERS}::test_approvals_and_plan_mode_are_inherited",),
    ),
    Mutant(
        "helper-inherits-the-approval-of-the-rest",
        value("self"),
        (f"{HELPERS}::test_rest_that_is_approved_is_approved_for_helpers_until_it_is_revoked",),
    ),
    Mutant(
        "helper-kind-reads-only",
        value("False"),
        (f"{DELEGATE}::test_all_kinds_but_two_read_only_and_so_does_an_unknown_one",),
    ),
    Mutant(
        "helper-model-of-the-same-provider",
        never,
        (f"{HELPERS}::test_helper_model_is_of_the_provider_of_the_agent",),
    ),
    Mutant(
        "helper-of-a-paused-conversation-does-not-begin",
        removed,
        (f"{HELPERS}::test_pause_pauses_the_helpers_and_they_go_on_with_their_conversation",),
    ),
    Mutant(
        "helper-result-counts-once",
        never,
        (
            f"{DELEGATE}::test_call_waits_until_each_helper_has_ended_and_reports_in_the_order_of_the_pieces",
        ),
    ),
    Mutant(
        "helper-starts-no-helpers",
        never,
        (f"{DELEGATE}::test_helper_has_no_tool_for_helpers_and_none_that_asks_people",),
    ),
    Mutant(
        "helper-takes-no-messages",
        never,
        (f"{HELPERS}::test_helper_takes_no_messages_and_no_other_command_than_stop",),
    ),
    Mutant(
        "helpers-are-started-once", never, (f"{HELPERS}::test_same_call_starts_its_helpers_once",)
    ),
    Mutant(
        "helpers-of-a-call-are-capped",
        never,
        (f"{DELEGATE}::test_helpers_of_a_call_and_of_a_turn_are_capped",),
    ),
    Mutant(
        "helpers-of-a-turn-are-capped",
        never,
        (f"{DELEGATE}::test_helpers_of_a_call_and_of_a_turn_are_capped",),
    ),
    Mutant(
        "interrupt-reaches-the-helpers",
        removed,
        (f"{HELPERS}::test_interrupt_reaches_the_helpers_and_a_queued_message_does_not",),
    ),
    Mutant(
        "lists-leave-out-helpers",
        value("self"),
        (f"{HELPERS}::test_lists_and_search_leave_out_helpers",),
    ),
    Mutant(
        "pause-comes-before-helpers",
        never,
        (f"{HELPERS}::test_pause_that_came_before_the_wait_starts_nothing",),
    ),
    Mutant(
        "plan-mode-reaches-the-helpers",
        removed,
        (f"{HELPERS}::test_rest_that_is_approved_is_approved_for_helpers_until_it_is_revoked",),
    ),
    Mutant(
        "revocation-reaches-the-helpers",
        removed,
        (f"{HELPERS}::test_rest_that_is_approved_is_approved_for_helpers_until_it_is_revoked",),
    ),
    Mutant(
        "search-leaves-out-helpers",
        value("Conversation.objects.filter(pk=conversation_id, deleted_at=None)"),
        (f"{HELPERS}::test_lists_and_search_leave_out_helpers",),
    ),
    Mutant(
        "stop-reaches-the-helpers",
        removed,
        (f"{HELPERS}::test_stop_reaches_the_helpers_and_ends_the_wait",),
    ),
    Mutant(
        "wait-for-helpers-reads-the-inbox",
        never,
        (f"{HELPERS}::test_stop_that_came_before_the_wait_starts_nothing",),
    ),
    Mutant(
        "teammate-at-work-keeps-the-sandbox",
        removed,
        (f"{TEAMS}::test_sandbox_of_a_team_is_in_use_while_a_teammate_works",),
    ),
    Mutant(
        "sandbox-of-a-team-is-in-use",
        removed,
        (f"{TEAMS}::test_sandbox_of_a_team_is_in_use_while_a_teammate_works",),
    ),
    Mutant(
        "teammate-at-work-ends-no-sandbox",
        last_operand_dropped,
        (f"{TEAMS}::test_sandbox_of_a_team_is_in_use_while_a_teammate_works",),
    ),
    Mutant(
        "team-tools-are-for-teams",
        value("OF_LEAD"),
        (f"{TEAMS}::test_team_tools_are_off_unless_they_are_switched_on",),
    ),
    Mutant(
        "unapproved-teammate-claims-nothing",
        value("True"),
        (f"{TEAMS}::test_teammate_without_an_approved_plan_claims_nothing",),
    ),
    Mutant(
        "shutdown-without-an-answer-stops",
        never,
        (f"{TEAMS}::test_teammate_that_does_not_answer_in_time_is_stopped",),
    ),
    Mutant(
        "lead-is-woken",
        removed,
        (f"{TEAMS}::test_lead_that_has_ended_its_turn_is_woken_by_a_report",),
    ),
    Mutant(
        "teammate-reports-a-turn-once",
        never,
        (f"{TEAMS}::test_teammate_ends_after_a_minute_without_work",),
    ),
    Mutant(
        "stopped-teammate-ends",
        never,
        (f"{TEAMS}::test_stop_of_one_teammate_is_told_to_the_lead_and_leaves_the_others",),
    ),
    Mutant(
        "stopped-lead-hears-nothing",
        never,
        (f"{TEAMS}::test_stop_of_a_lead_that_has_ended_its_turn_ends_the_team_and_wakes_nobody",),
    ),
    Mutant("paused-lead-gives-no-tasks", never, (f"{TEAMS}::test_team_of_a_paused_lead_rests",)),
    Mutant(
        "budget-of-a-lead-counts-its-team-at-work",
        value("NOTHING"),
        (
            f"{TEAM_BUDGETS}::test_what_teammates_at_work_use_counts_for_the_budget_of_the_lead_once",
        ),
    ),
    Mutant(
        "pause-of-a-lead-reaches-its-team",
        value("[]"),
        (f"{TEAM_PAUSES}::test_pause_of_a_lead_reaches_its_team_which_goes_on_with_it",),
    ),
    Mutant(
        "pause-of-an-agent-reaches-its-teams",
        removed,
        (
            f"{TEAM_PAUSES}::test_immediate_pause_of_an_agent_reaches_a_teammate_that_goes_on_with_it",
        ),
    ),
    Mutant(
        "pause-of-a-lead-that-has-answered-is-over",
        never,
        (f"{TEAM_PAUSES}::test_pause_that_a_lead_has_answered_before_is_over_for_its_team",),
    ),
    Mutant(
        "pause-of-a-lead-reaches-who-began-meanwhile",
        never,
        (f"{TEAM_PAUSES}::test_teammate_that_began_as_the_lead_was_paused_pauses_too",),
    ),
    Mutant(
        "helper-does-not-begin-under-a-pause",
        removed,
        (f"{TEAM_PAUSES}::test_teammate_that_the_last_step_spawns_begins_with_the_lead",),
    ),
    Mutant(
        "team-leaves-no-pause",
        removed,
        (f"{TEAM_PAUSES}::test_report_of_a_teammate_does_not_end_the_pause_of_its_lead",),
    ),
    Mutant(
        "teammate-that-shuts-down-does-not-go-on",
        never,
        (f"{TEAM_PAUSES}::test_teammate_that_was_asked_to_end_does_not_go_on_after_a_pause",),
    ),
    Mutant(
        "pause-of-an-agent-outlives-a-resume-of-its-lead",
        always,
        (f"{TEAM_PAUSES}::test_teammate_obeys_a_pause_of_its_agent_although_its_lead_is_resumed",),
    ),
    Mutant(
        "teammate-rests-while-its-lead-is-paused",
        value("works"),
        (f"{TEAM_PAUSES}::test_pause_of_a_lead_reaches_its_team_which_goes_on_with_it",),
    ),
    Mutant(
        "teammate-that-is-paused-does-not-end",
        never,
        (
            f"{TEAM_PAUSES}::test_immediate_pause_of_an_agent_reaches_a_teammate_that_goes_on_with_it",
        ),
    ),
    Mutant(
        "call-of-a-lead-reserves-what-its-team-uses-too",
        always,
        (
            f"{TEAM_BUDGETS}::test_lead_and_teammate_at_the_same_moment_cannot_both_take_the_last_of_their_budget",
        ),
    ),
    Mutant(
        "call-of-a-lead-counts-those-of-its-team-meanwhile",
        value("budget.used"),
        (f"{TEAM_BUDGETS}::test_lead_is_refused_by_what_its_team_has_begun_since_it_looked",),
    ),
    Mutant(
        "spawn-counts-the-team-as-its-lead-does",
        value("_used_by_lead(lead_id) + budgets.used_by_teammates(lead_id)"),
        (
            f"{TEAM_BUDGETS}::test_teammate_is_not_given_what_another_one_has_used_since_their_lead_looked",
        ),
    ),
    Mutant(
        "new-portion-reaches-a-turn-that-runs",
        always,
        (f"{TEAM_BUDGETS}::test_new_portion_of_a_lead_is_for_a_teammate_at_work_too",),
    ),
    Mutant(
        "new-portion-of-a-lead-is-for-its-team",
        never,
        (
            f"{TEAM_BUDGETS}::test_limit_that_is_taken_away_before_a_lead_goes_on_binds_its_team_no_longer",
        ),
    ),
    Mutant(
        "new-portion-is-given-under-the-lease",
        removed,
        (f"{TEAM_BUDGETS}::test_new_portion_is_refused_to_a_worker_that_has_lost_the_lead",),
    ),
    Mutant(
        "helpers-of-a-lead-share-with-its-team",
        never,
        (f"{TEAM_BUDGETS}::test_helpers_of_a_lead_and_its_team_cannot_pass_their_budget_together",),
    ),
    Mutant(
        "budget-of-a-team-counts-its-lead",
        value("NOTHING"),
        (
            f"{TEAM_BUDGETS}::test_teammate_has_what_is_left_of_the_conversation_with_its_lead_and_all_of_the_team",
        ),
    ),
    Mutant(
        "team-of-a-paused-agent-takes-no-task",
        never,
        (f"{TEAM_BOUNDS}::test_team_of_a_paused_agent_takes_no_task_until_it_is_active_again",),
    ),
    Mutant(
        "team-in-plan-mode-takes-no-task",
        never,
        (f"{TEAM_BOUNDS}::test_team_in_plan_mode_claims_no_task_until_it_ends",),
    ),
    Mutant(
        "teammate-inherits-plan-mode",
        value("[]"),
        (f"{TEAM_BOUNDS}::test_plan_mode_of_the_lead_is_that_of_its_teammates",),
    ),
    Mutant(
        "what-holds-for-a-team-reaches-its-idle-members",
        value("Q(status__in=UNFINISHED_STATUSES)"),
        (
            f"{TEAM_BOUNDS}::test_rest_that_is_approved_no_more_is_asked_of_idle_teammates_too",
            f"{TEAM_BOUNDS}::test_plan_mode_of_the_lead_is_that_of_its_teammates",
        ),
    ),
    Mutant(
        "end-of-a-task-reaches-the-team-of-its-lead",
        value('Teammate.objects.none().values_list("lead", flat=True)'),
        (
            f"{TEAM_BOUNDS}::test_team_of_a_deleted_task_is_stopped_once_also_after_the_answer_of_its_lead",
            f"{TEAM_BOUNDS}::test_team_of_an_unassigned_agent_is_stopped_also_after_the_answer_of_its_lead",
        ),
    ),
    Mutant(
        "removed-agent-leads-no-team",
        never,
        (f"{TEAM_BOUNDS}::test_team_of_a_removed_agent_ends_also_after_the_answer_of_its_lead",),
    ),
    Mutant(
        "archive-takes-no-files-of-a-team-at-work",
        never,
        (f"{TEAM_BOUNDS}::test_conversation_whose_team_works_is_not_archived_and_keeps_its_files",),
    ),
    Mutant(
        "archive-ends-the-team",
        removed,
        (f"{TEAM_BOUNDS}::test_archive_ends_teammates_that_are_idle",),
    ),
    Mutant(
        "files-that-helpers-use-stay",
        removed,
        (f"{TEAM_BOUNDS}::test_conversation_whose_team_works_is_not_archived_and_keeps_its_files",),
    ),
    Mutant(
        "background-wakes-count-on-beside-a-team",
        value("turns.exclude(kind=WAKE)"),
        (f"{BACKGROUND}::test_an_agent_is_woken_no_more_often_if_its_team_wakes_it_in_between",),
    ),
    Mutant(
        "team-messages-count-on-past-background-work",
        value("(KIND,)"),
        (f"{TEAM_BOUNDS}::test_messages_of_a_team_are_counted_on_past_an_end_of_background_work",),
    ),
    Mutant(
        "lanes-show-every-teammate-that-lives",
        value('"-created_at"'),
        (
            f"{TEAM_BOUNDS}::test_lanes_show_a_teammate_that_lives_before_later_ones_that_have_ended",
        ),
    ),
    Mutant(
        "background-wake-waits-for-space",
        never,
        (f"{BACKGROUND}::test_an_end_wakes_the_agent_when_a_full_disk_has_space_again",),
    ),
    Mutant(
        "run-by-hand-obeys-the-newest-settings",
        removed,
        (f"{CHECK_INS}::test_run_by_hand_obeys_what_was_changed_since_its_row_was_read",),
    ),
    Mutant(
        "teammate-inherits-read-only",
        value("False"),
        (f"{TEAMS}::test_read_only_lead_has_read_only_teammates",),
    ),
    Mutant(
        "teammate-plans-before-it-works",
        value("bound"),
        (f"{TEAMS}::test_teammate_works_only_after_its_plan_was_approved",),
    ),
    Mutant(
        "teammates-ever-are-capped",
        never,
        (f"{TEAMS}::test_conversation_spawns_a_bounded_number_of_teammates",),
    ),
    Mutant(
        "team-is-capped",
        value("[1]"),
        (f"{TEAMS}::test_team_has_five_places_and_a_teammate_that_has_ended_leaves_its_place",),
    ),
    Mutant(
        "team-messages-are-capped",
        never,
        (f"{TEAMS}::test_team_may_not_answer_one_another_for_ever",),
    ),
    Mutant(
        "team-message-leaves-a-paused-lead",
        value("wake"),
        (f"{TEAMS}::test_report_of_a_teammate_leaves_a_paused_lead_paused_and_waits_for_it",),
    ),
    Mutant(
        "team-counts-as-its-lead-called",
        value("0"),
        (f"{TEAMS}::test_agents_that_call_one_another_through_a_team_are_counted",),
    ),
    Mutant("team-plan-is-capped", never, (f"{TEAMS}::test_plan_of_a_team_is_bounded",)),
    Mutant("team-takes-no-task-of-others", never, (f"{TEAMS}::test_team_takes_no_task_of_others",)),
    Mutant(
        "blocked-task-is-not-claimed",
        removed,
        (f"{TEAMS}::test_task_waits_for_the_open_tasks_that_block_it",),
    ),
    Mutant(
        "task-of-others-is-not-claimed", removed, (f"{TEAMS}::test_team_takes_no_task_of_others",)
    ),
    Mutant(
        "team-claims-by-its-role",
        never,
        (f"{TEAMS}::test_agent_that_may_not_change_tasks_claims_none",),
    ),
    Mutant(
        "teammate-has-one-task",
        never,
        (f"{TEAMS}::test_teammate_claims_an_unassigned_task_by_itself_and_one_at_a_time",),
    ),
    Mutant(
        "task-is-claimed-once",
        value("TeamTask.objects.filter(pk=row.pk)"),
        (f"{TEAMS}::test_row_that_was_read_before_another_claim_claims_nothing",),
    ),
    Mutant(
        "team-request-has-a-deadline",
        last_operand_dropped,
        (f"{TEAMS}::test_answer_after_the_deadline_does_not_count",),
    ),
    Mutant(
        "plan-approval-gives-no-more-than-the-lead-has",
        value("False"),
        (f"{TEAMS}::test_approval_of_a_plan_gives_no_more_than_the_lead_has",),
    ),
    Mutant(
        "stop-reaches-the-team",
        removed,
        (f"{TEAMS}::test_stop_of_a_lead_that_has_ended_its_turn_ends_the_team_and_wakes_nobody",),
    ),
    Mutant(
        "stop-reaches-an-idle-teammate",
        removed,
        (f"{TEAMS}::test_stop_of_one_teammate_is_told_to_the_lead_and_leaves_the_others",),
    ),
    Mutant(
        "interrupt-leaves-the-team",
        always,
        (f"{TEAMS}::test_interrupt_of_the_lead_leaves_its_team_at_work",),
    ),
    Mutant(
        "teammate-leads-no-team",
        value('"lead" if wanted else ""'),
        (f"{TEAMS}::test_flag_of_the_conversation_switches_teams",),
    ),
    Mutant(
        "helper-joins-no-runner-without-sessions",
        value('"attach"'),
        (
            "tests/sandbox/test_runner_client.py::test_helper_does_not_attach_to_a_runner_that_knows_no_sessions",
        ),
    ),
    Mutant(
        "runner-asks-for-broken-frames-again",
        never,
        (f"{SHARED_STREAMS}::test_long_requests_of_several_workers_are_each_carried_out_once",),
    ),
    Mutant(
        "runner-carries-a-request-out-once",
        never,
        (f"{SHARED_STREAMS}::test_request_that_arrives_twice_is_carried_out_once",),
    ),
    Mutant(
        "egress-wildcards-begin-at-a-dot", value("host.endswith(pattern[2:])"), (GATE_DECISIONS,)
    ),
    Mutant(
        "files-of-the-start-are-no-change",
        always,
        (f"{WORKSPACE_FILES}::test_files_of_the_start_are_no_change_of_a_fork",),
    ),
    Mutant(
        "files-answers-are-bounded",
        never,
        ("tests/sandbox/test_file_replies.py",),
    ),
    Mutant(
        "downloads-are-no-longer-than-they-say",
        never,
        ("tests/worker/test_file_streams.py",),
    ),
    Mutant(
        "downloads-that-bring-nothing-end",
        never,
        ("tests/worker/test_file_streams.py",),
    ),
    Mutant(
        "bytes-of-an-archive-are-bounded",
        never,
        ("tests/worker/test_file_streams.py",),
    ),
    Mutant(
        "entries-of-an-archive-are-bounded",
        never,
        ("tests/worker/test_file_streams.py",),
    ),
    Mutant(
        "sizes-of-downloads-are-checked",
        never,
        ("tests/worker/test_file_streams.py",),
    ),
    Mutant(
        "archives-that-bring-nothing-end",
        never,
        ("tests/worker/test_file_streams.py",),
    ),
    Mutant(
        "packed-answers-hold-few-values",
        never,
        ("tests/sandbox/test_file_replies.py",),
    ),
    Mutant(
        "packed-answers-are-bounded",
        never,
        ("tests/sandbox/test_file_replies.py",),
    ),
    Mutant(
        "attachments-are-names-of-files",
        never,
        ("tests/conversations/test_attached_files.py",),
    ),
    Mutant(
        "upload-does-not-start-the-sandbox-of-a-fork",
        never,
        (f"{FILE_REQUESTS}::test_fork_whose_files_are_not_copied_yet_takes_no_upload",),
    ),
    Mutant(
        "one-conversation-takes-not-all-places",
        never,
        (f"{FILE_REQUESTS}::test_one_conversation_does_not_take_all_places_of_a_worker",),
    ),
    Mutant(
        "file-requests-are-bounded",
        never,
        (f"{FILE_REQUESTS}::test_requests_of_a_conversation_are_bounded",),
    ),
    Mutant(
        "uploads-are-bounded",
        never,
        (f"{FILE_REQUESTS}::test_upload_beyond_the_limit_leaves_no_row",),
    ),
    Mutant(
        "a-file-request-ends-at-its-limit",
        never,
        (f"{FILE_REQUESTS}::test_request_that_no_worker_takes_ends_with_the_next_step",),
    ),
    Mutant(
        "waiting-for-files-leaves-threads-for-pages",
        never,
        (f"{FILE_REQUESTS}::test_requests_that_wait_leave_threads_for_pages",),
    ),
    Mutant(
        "worker-that-ends-hands-its-file-requests-back",
        never,
        (f"{FILE_REQUESTS}::test_worker_that_ends_leaves_its_requests_to_another_one",),
    ),
    Mutant(
        "pull-requests-have-a-number-and-an-address",
        never,
        ("tests/repositories/test_hosts.py::test_answer_that_is_no_pull_request_is_refused",),
    ),
    Mutant(
        "file-request-is-answered-by-its-worker-only",
        value("FileRequest.objects.filter(pk=request.pk, state__in=OPEN)"),
        (f"{FILE_REQUESTS}::test_request_that_was_handed_on_takes_nothing_from_its_first_worker",),
    ),
    Mutant(
        "answers-to-uploads-are-checked",
        never,
        (f"{FILE_REQUESTS}::test_answer_to_an_upload_that_does_not_fit_is_refused_and_not_logged",),
    ),
    Mutant(
        "lists-count-no-more-than-they-look-at",
        never,
        (f"{FILE_REQUESTS}::test_list_that_counts_more_than_it_can_have_seen_is_refused",),
    ),
    Mutant(
        "errors-about-files-hold-no-secret",
        value("detail"),
        (
            "tests/worker/test_file_masking.py::test_worker_stores_answers_without_the_secrets_of_the_conversation",
        ),
    ),
    Mutant(
        "one-worker-answers-a-file-request",
        always,
        (f"{FILE_REQUESTS}::test_request_is_taken_by_one_worker",),
    ),
    Mutant(
        "downloads-wait-for-their-reader",
        always,
        ("tests/worker/test_file_streams.py",),
    ),
    Mutant(
        "downloads-have-no-active-type",
        value("head.get('media')"),
        (f"{FILES_FLOW}::test_file_is_downloaded_as_a_file_and_never_as_a_page",),
    ),
    Mutant("egress-network-none", never, (GATE_DECISIONS,)),
    Mutant("egress-ceiling-of-the-project", value("Network(wanted)"), (GATE_DECISIONS,)),
    Mutant("egress-headers-that-count-stand-once", never, (GATE_DECISIONS,)),
    Mutant("egress-tunnels-to-the-port-of-tls", never, (GATE_DECISIONS,)),
    Mutant("egress-plain-requests-to-the-port-of-http", never, (GATE_DECISIONS,)),
    Mutant("egress-host-as-in-the-address", never, (GATE_DECISIONS,)),
    Mutant("egress-plain-requests-only-read", never, (GATE_DECISIONS,)),
    Mutant("egress-one-name-of-a-server", never, (GATE,)),
    Mutant(
        "egress-few-records-of-a-first-message",
        never,
        (f"{GATE}::test_a_first_message_in_very_many_records_is_none",),
    ),
    Mutant("egress-private-addresses", never, (GATE,)),
    Mutant(
        "egress-private-servers-that-the-project-lists",
        value("AllowedServers.parse(policy.private)"),
        (f"{GATE}::test_a_private_server_is_open_to_projects_that_list_it_only",),
    ),
    Mutant(
        "egress-names-of-marks-are-safe",
        value("call_id"),
        ("tests/sandbox/egress/test_refusals.py::test_the_id_of_a_call_is_no_path",),
    ),
    Mutant("broker-obeys-workers-only", always, (BROKER_CONTROL,)),
    Mutant(
        "broker-key-is-whole",
        never,
        (f"{BROKER_CONTROL}::test_a_key_that_a_crash_has_cut_off_opens_nothing_and_is_replaced",),
    ),
    Mutant(
        "egress-own-addresses",
        value("not (is_private(address) or address in TEREDO)"),
        (f"{GATE}::test_an_address_of_this_machine_counts_as_private",),
    ),
    Mutant("egress-budget-of-bytes", never, (f"{GATE}::test_the_budget_of_bytes_ends_a_transfer",)),
    Mutant(
        "egress-a-narrower-policy-cuts-connections",
        never,
        (f"{GATE}::test_a_narrower_policy_cuts_open_connections",),
    ),
    Mutant("egress-budget-of-requests", never, (GATE,)),
    Mutant(
        "egress-budget-of-bytes-before-a-request",
        never,
        (f"{GATE}::test_the_budget_of_bytes_ends_a_transfer",),
    ),
    Mutant("egress-name-in-tls-as-in-the-tunnel", never, (GATE,)),
    Mutant(
        "egress-open-by-admins-of-the-project",
        never,
        (
            "tests/agents/test_network.py::test_an_agent_is_opened_by_somebody_who_may_change_the_project",
        ),
    ),
    Mutant(
        "network-of-deleted-conversations-is-not-counted",
        never,
        (f"{NETWORK_USE}::test_a_deleted_conversation_keeps_nothing",),
    ),
    Mutant(
        "network-lines-count-once",
        never,
        (f"{NETWORK_USE}::test_lines_count_once_whoever_reads_them",),
    ),
    Mutant(
        "sandbox-gets-its-network-when-idle",
        never,
        (
            "tests/flows/test_network.py::test_a_sandbox_gets_its_network_with_the_next_turn_and_keeps_its_files",
        ),
    ),
    Mutant(
        "package-cache-of-a-project-without-one-goes",
        never,
        ("tests/worker/test_cache_keeper.py",),
    ),
    Mutant(
        "package-cache-has-no-locked-folders",
        always,
        ("tests/sandbox/test_package_caches.py::test_folders_that_are_locked_count_and_go",),
    ),
    Mutant(
        "package-cache-is-bounded",
        never,
        ("tests/sandbox/test_package_caches.py::test_the_oldest_files_of_a_full_cache_go",),
    ),
    Mutant(
        "egress-gate-sees-its-folder-only",
        value("True"),
        ("tests/sandbox/egress/test_isolation.py",),
    ),
    Mutant("egress-gate-opens-no-socket-in-a-file", value("True"), (TAKEOVER,)),
    Mutant("egress-gate-gets-descriptors-from-its-opener-only", removed, (GATE_FILTER,)),
    Mutant("egress-channel-of-the-gate-stays-in-its-place", removed, (GATE_FILTER,)),
    Mutant("egress-gate-gets-listening-sockets", removed, ("tests/sandbox/egress/test_opener.py",)),
    Mutant(
        "egress-gates-of-deleted-conversations-end",
        never,
        (f"{NETWORK_USE}::test_gates_of_deleted_conversations_and_unused_ones_are_removed",),
    ),
    Mutant("broker-bounded-command-list", never, (BROKER_PUSHES,)),
    Mutant(
        "broker-one-ref-in-a-push",
        never,
        (f"{BROKER_PUSHES}::test_push_beyond_the_grant_is_refused_in_words",),
    ),
    Mutant(
        "broker-bounded-list-of-refs",
        never,
        (f"{BROKER_ATTACKS}::test_list_of_refs_is_bounded",),
    ),
    Mutant(
        "broker-no-symbolic-ref",
        never,
        (f"{BROKER_ATTACKS}::test_push_by_another_name_of_a_branch_is_refused",),
    ),
    Mutant(
        "broker-maybe-symbolic-ref",
        never,
        (
            f"{BROKER_ATTACKS}::test_branch_at_the_default_commit_may_be_its_other_name_where_the_server_does_not_tell",
        ),
    ),
    Mutant(
        "broker-no-branch-in-other-letters",
        never,
        (f"{BROKER_ATTACKS}::test_name_in_other_letters_is_refused",),
    ),
    Mutant(
        "broker-bounded-push-to-a-branch",
        never,
        (f"{BROKER_ATTACKS}::test_proof_that_fails_passes_nothing_on",),
    ),
    Mutant(
        "broker-push-drops-no-commit",
        never,
        (f"{BROKER_ATTACKS}::test_commits_of_others_are_not_dropped_by_an_approved_push",),
    ),
    Mutant(
        "broker-bounded-history",
        never,
        (f"{BROKER_ATTACKS}::test_history_without_a_mirror_is_bounded",),
    ),
    Mutant(
        "broker-mirror-needs-the-right-to-read",
        never,
        (f"{BROKER_FETCHES}::test_long_read_of_a_mirror_is_cut_when_the_server_refuses",),
    ),
    Mutant(
        "broker-mirror-is-read-with-a-fresh-right",
        never,
        (
            f"{BROKER_FETCHES}::test_objects_of_a_mirror_are_told_for_a_minute_after_the_server_has_agreed",
        ),
    ),
    Mutant(
        "broker-transfer-ends-with-its-right",
        never,
        (f"{BROKER_FETCHES}::test_right_to_a_transfer_ends_when_the_repository_moves",),
    ),
    Mutant(
        "mirrors-stop-at-their-limit",
        never,
        (f"{MIRRORS}::test_unused_mirrors_make_room_for_a_fetch",),
    ),
    Mutant(
        "push-is-recorded-before-it-is-allowed",
        never,
        (f"{REPOSITORY_TOOLS}::test_push_to_a_repository_that_is_linked_no_longer_is_refused",),
    ),
    Mutant(
        "push-of-others-is-no-own",
        always,
        (
            f"{REPOSITORY_TOOLS}::test_commit_that_somebody_else_pushed_is_no_push_of_the_conversation",
        ),
    ),
    Mutant(
        "push-never-by-another-name",
        never,
        (f"{REPOSITORY_TOOLS}::test_branch_that_is_another_name_of_one_is_not_pushed_to",),
    ),
    Mutant(
        "broker-no-branch-is-deleted",
        never,
        (f"{BROKER_PUSHES}::test_push_beyond_the_grant_is_refused_in_words",),
    ),
    Mutant(
        "broker-only-branches",
        never,
        (f"{BROKER_PUSHES}::test_push_beyond_the_grant_is_refused_in_words",),
    ),
    Mutant(
        "broker-default-branch",
        never,
        (f"{BROKER_PUSHES}::test_first_branch_of_an_empty_repository_is_its_default",),
    ),
    Mutant(
        "broker-no-push-options",
        never,
        (f"{BROKER_PUSHES}::test_options_of_a_push_are_not_passed_on",),
    ),
    Mutant(
        "broker-probe-of-a-push-needs-a-grant",
        never,
        (f"{BROKER_PUSHES}::test_probe_of_a_push_needs_a_grant_and_carries_nothing",),
    ),
    Mutant(
        "broker-push-ends-with-its-grant",
        never,
        (f"{BROKER_PUSHES}::test_body_of_a_push_ends_with_its_grant",),
    ),
    Mutant(
        "broker-push-needs-a-grant",
        never,
        (f"{BROKER_PUSHES}::test_push_beyond_the_grant_is_refused_in_words",),
    ),
    Mutant(
        "broker-push-of-the-granted-commit",
        never,
        (f"{BROKER_PUSHES}::test_commit_made_after_the_approval_is_not_pushed",),
    ),
    Mutant(
        "broker-push-from-the-known-commit",
        never,
        (f"{BROKER_PUSHES}::test_branch_that_moved_meanwhile_is_not_overwritten",),
    ),
    Mutant(
        "broker-advertisement-of-a-push-needs-a-grant",
        never,
        (f"{BROKER_FETCHES}::test_broker_refuses_with_words",),
    ),
    Mutant(
        "broker-only-two-services", never, (f"{BROKER_FETCHES}::test_broker_refuses_with_words",)
    ),
    Mutant(
        "broker-one-framing-of-a-body",
        never,
        (f"{BROKER_FETCHES}::test_doubtful_framing_is_not_passed_on",),
    ),
    Mutant("broker-no-trailers", never, (f"{BROKER_FETCHES}::test_trailer_is_not_passed_on",)),
    Mutant(
        "broker-bounded-request-of-a-fetch",
        never,
        (f"{BROKER_FETCHES}::test_request_of_a_fetch_is_bounded",),
    ),
    Mutant(
        "broker-bounded-compression",
        never,
        (f"{BROKER_FETCHES}::test_compressed_request_is_bounded",),
    ),
    Mutant(
        "git-output-is-bounded",
        never,
        (f"{MIRRORS}::test_what_git_prints_is_bounded",),
    ),
    Mutant(
        "git-on-the-host-is-bounded",
        value("[]"),
        (f"{MIRRORS}::test_git_on_the_host_has_limits",),
    ),
    Mutant(
        "git-keeps-to-checked-addresses",
        never,
        (
            f"{SKILL_LOOKS}::test_git_that_resolves_names_anew_is_not_used",
            f"{MIRRORS}::test_mirror_is_filled_only_by_a_git_that_keeps_to_checked_addresses",
        ),
    ),
    Mutant(
        "skill-sources-leave-threads-for-pages",
        never,
        (f"{SKILL_LOOKS}::test_few_requests_wait_for_a_repository",),
    ),
    Mutant(
        "skill-folders-have-short-paths",
        value("documents"),
        (f"{SKILL_FOLDERS}::test_folder_with_a_long_path_is_no_skill",),
    ),
    Mutant(
        "marketplace-is-compared-with-few-folders",
        value("skill_folders"),
        (f"{SKILL_FOLDERS}::test_marketplace_is_compared_with_few_folders",),
    ),
    Mutant(
        "name-of-a-commit-is-no-branch",
        never,
        (f"{SKILL_TAKING}::test_branch_or_tag_with_the_name_of_a_commit_is_not_taken",),
    ),
    Mutant(
        "skill-comparison-is-bounded",
        value("True"),
        (f"{SKILL_TAKING}::test_comparison_of_many_files_is_bounded",),
    ),
    Mutant(
        "skill-sources-over-tls",
        never,
        (f"{SKILL_LOOKS}::test_address_that_is_no_repository_by_https_is_refused",),
    ),
    Mutant(
        "copy-in-use-stays",
        always,
        (f"{SKILL_LOOKS}::test_copy_of_a_killed_process_is_removed_and_one_in_use_stays",),
    ),
    Mutant(
        "skill-source-read-is-bounded",
        never,
        (f"{SKILL_LOOKS}::test_only_as_much_is_read_as_is_bounded",),
    ),
    Mutant(
        "skill-source-file-size",
        value("None"),
        (f"{SKILL_LOOKS}::test_look_says_what_is_wrong_with_a_skill_and_shows_the_others",),
    ),
    Mutant(
        "only-readable-skills-are-taken",
        never,
        (f"{SKILL_TAKING}::test_import_takes_all_chosen_skills_or_none",),
    ),
    Mutant(
        "skills-are-taken-at-the-commit-that-was-shown",
        value("take(SkillSource(url), route, wanted)"),
        (f"{SKILL_TAKING}::test_taken_skill_remembers_its_commit_and_stays_when_the_branch_moves",),
    ),
    Mutant(
        "broker-private-addresses",
        value("found"),
        (f"{BROKER_FETCHES}::test_private_server_is_reached_only_if_the_operator_lists_it",),
    ),
    Mutant(
        "broker-only-answers-of-git",
        never,
        (f"{BROKER_FETCHES}::test_answer_of_another_program_is_not_passed_on",),
    ),
    Mutant(
        "broker-grants-of-this-conversation",
        value("list(self._grants)"),
        (f"{BROKER_CONTROL}::test_grant_counts_for_its_conversation_and_repository",),
    ),
    Mutant(
        "broker-grant-ends-with-its-connection",
        removed,
        (f"{BROKER_CONTROL}::test_grant_ends_with_the_connection_of_its_worker",),
    ),
    Mutant("mirror-names-are-digests", never, (f"{MIRRORS}::test_name_of_a_mirror_is_a_digest",)),
    Mutant("mirror-size-is-bounded", never, (f"{MIRRORS}::test_large_repository_has_no_mirror",)),
    Mutant(
        "mirror-gives-what-refs-reach",
        value("True"),
        (f"{REACHABLE}::test_object_that_was_forced_away_is_not_given",),
    ),
    Mutant(
        "mirror-knows-what-was-forced-away",
        last_operand_dropped,
        (f"{REACHABLE}::test_object_that_was_forced_away_is_not_given",),
    ),
    Mutant("mirror-in-use-stays", never, (f"{MIRRORS}::test_mirror_in_use_is_not_removed",)),
    Mutant(
        "push-never-to-the-default-branch",
        never,
        (f"{REPOSITORY_TOOLS}::test_default_branch_is_never_pushed_to",),
    ),
    Mutant(
        "branch-names-are-plain",
        never,
        (f"{REPOSITORY_TOOLS}::test_names_that_are_no_branch_are_refused",),
    ),
    Mutant(
        "repository-tools-where-one-is-linked",
        value("off - OF_REPOSITORIES"),
        (f"{REPOSITORY_TOOLS}::test_tools_are_offered_only_where_a_repository_is_linked",),
    ),
    Mutant(
        "credential-for-its-server-only",
        value("True"),
        (f"{REPOSITORY_TOOLS}::test_credential_is_for_its_server_only",),
    ),
    Mutant(
        "repository-of-the-agents-own",
        value("Repository.objects.filter(pk=repository_id).first()"),
        (f"{REPOSITORY_TOOLS}::test_conversation_reaches_the_repositories_of_its_agent_only",),
    ),
    Mutant(
        "repository-of-the-project",
        value("self"),
        (f"{REPOSITORY_ACCESS}::test_a_project_reaches_its_own_repositories_only",),
    ),
    Mutant(
        "git-connection-of-the-project",
        value("self"),
        (f"{REPOSITORY_ACCESS}::test_a_project_reaches_its_own_repositories_only",),
    ),
    Mutant(
        "agent-uses-chosen-repositories-only",
        value("found"),
        (f"{REPOSITORY_ACCESS}::test_an_agent_uses_the_repositories_that_its_setting_allows",),
    ),
    Mutant("variables-do-not-replace-those-of-the-sandbox", never, (VARIABLES,)),
    Mutant("variables-run-no-code", never, (VARIABLES,)),
    Mutant("variable-of-the-agent-wins", removed, (VARIABLES,)),
    Mutant("secret-variables-are-masked", never, (VARIABLES,)),
    Mutant("a-secret-is-not-shown-later", never, (VARIABLES,)),
    Mutant("variables-are-no-model-keys", never, (VARIABLES,)),
    Mutant("model-keys-are-no-variables", never, (VARIABLES,)),
    Mutant("commands-get-no-model-keys", never, (VARIABLES,)),
    Mutant("ordinary-words-are-no-secrets", never, (VARIABLES,)),
    Mutant("running-sandboxes-keep-their-setup", never, ("tests/worker/test_setups.py",)),
    Mutant("setups-use-no-package-cache", value("spec.cache_of"), ("tests/worker/test_setups.py",)),
    Mutant(
        "setup-output-holds-no-secret",
        value("to_storable(self._raw)"),
        ("tests/worker/test_setups.py",),
    ),
    Mutant(
        "variables-replace-nothing-of-paca",
        value("{**self._environment, **command.env, **self._variables.values}"),
        (
            "tests/sandbox/test_command_variables.py::test_a_command_gets_them_and_nothing_of_paca_is_replaced",
        ),
    ),
    Mutant(
        "variables-leave-no-trace-in-outputs",
        value("text"),
        (
            "tests/sandbox/test_command_variables.py::test_secrets_are_masked_in_outputs_in_several_encodings",
        ),
    ),
    Mutant("images-are-those-of-the-operator", value("True"), ("tests/agents/test_images.py",)),
    Mutant("chosen-image-is-there", never, ("tests/agents/test_images.py",)),
    Mutant("chosen-image-has-our-runner", never, ("tests/agents/test_images.py",)),
    Mutant("setup-of-repositories-is-switched-on", never, (REPOSITORY_SETUP,)),
    Mutant("setup-of-other-branches-is-read-first", never, (REPOSITORY_SETUP,)),
    Mutant("setup-of-repositories-asks-as-a-command-does", never, (REPOSITORY_SETUP,)),
    Mutant("setup-scripts-ask-as-commands-do", never, (REPOSITORY_SETUP,)),
    Mutant(
        "changed-instructions-are-shown-again",
        never,
        ("tests/worker/test_shown_instructions.py",),
    ),
    Mutant("allowed-commands-variables", never, (ALLOWED,)),
    Mutant("allowed-commands-plain-program", never, (ALLOWED,)),
    Mutant("allowed-commands-of-other-shells", never, (ALLOWED,)),
    Mutant("allowed-commands-match", never, (ALLOWED,)),
    Mutant("allowed-commands-only-system-folders", never, (ALLOWED,)),
    Mutant("allowed-commands-known-arguments", never, (ALLOWED,)),
    Mutant("allowed-commands-variables-of-env", never, (ALLOWED,)),
    Mutant("allowed-commands-here-documents", never, (ALLOWED,)),
    Mutant("allowed-commands-large-descriptors", never, (ALLOWED,)),
    Mutant("allowed-commands-copied-descriptors", never, (ALLOWED,)),
    Mutant("allowed-commands-joined-lines", never, (ALLOWED,)),
    Mutant("allowed-commands-before-a-person-is-asked", never, (ALLOWED,)),
    Mutant("allowed-commands-after-a-person-changed-them", never, (ALLOWED,)),
    Mutant("allowed-commands-backticks", removed, (ALLOWED,)),
    Mutant("allowed-commands-of-find", removed, (ALLOWED,)),
    Mutant(
        "sandbox-disk-ceiling",
        value("agent.sandbox_disk_mib or default.workspace_mib"),
        (SANDBOX_LIMITS,),
    ),
    Mutant(
        "sandbox-files-ceiling",
        value("self.files or self.workspace_mib * FILES_PER_MIB"),
        (SANDBOX_LIMITS,),
    ),
    Mutant("sandbox-quota-above-the-ceiling", never, (SANDBOX_LIMITS,)),
    Mutant(
        "git-credentials-stay-with-their-server",
        never,
        (f"{HOSTS}::test_credentials_go_to_the_server_of_their_connection_only",),
    ),
    Mutant(
        "git-metadata-addresses",
        never,
        (f"{HOSTS}::test_a_listed_server_is_no_way_to_a_metadata_service",),
    ),
    Mutant(
        "git-private-addresses",
        value("True"),
        (f"{HOSTS}::test_client_connects_to_no_private_address_and_not_in_the_clear",),
    ),
    Mutant(
        "git-credentials-over-tls",
        never,
        (f"{HOSTS}::test_client_connects_to_no_private_address_and_not_in_the_clear",),
    ),
    Mutant(
        "git-answers-are-bounded", never, (f"{HOSTS}::test_client_says_what_the_server_answers",)
    ),
    Mutant(
        "git-servers-by-tls",
        never,
        (f"{REPOSITORY_API}::test_wrong_input_of_a_connection_is_refused_with_the_field",),
    ),
    Mutant(
        "git-connection-stays-with-its-repositories",
        never,
        (f"{REPOSITORY_API}::test_connection_does_not_leave_its_repositories",),
    ),
    Mutant(
        "git-secret-stays-with-its-server",
        never,
        (f"{REPOSITORY_API}::test_secret_is_typed_again_for_another_server_or_way_to_sign_in",),
    ),
    Mutant(
        "another-repository-begins-anew",
        removed,
        (f"{REPOSITORY_API}::test_another_address_is_another_repository",),
    ),
    Mutant(
        "chosen-repositories-of-the-project",
        never,
        (f"{REPOSITORY_API}::test_service_refuses_rows_of_another_project",),
    ),
    Mutant(
        "connection-of-the-same-project",
        never,
        (f"{REPOSITORY_API}::test_service_refuses_rows_of_another_project",),
    ),
    Mutant(
        "repositories-by-tls",
        never,
        (f"{REPOSITORY_API}::test_wrong_input_of_a_repository_is_refused_with_the_field",),
    ),
    Mutant(
        "repository-is-on-the-server-of-its-connection",
        never,
        (f"{REPOSITORY_API}::test_wrong_input_of_a_repository_is_refused_with_the_field",),
    ),
    Mutant(
        "git-server-answers-as-one",
        never,
        (f"{REPOSITORY_API}::test_server_without_an_api_is_asked_as_git_does",),
    ),
    Mutant(
        "unlink-waits-for-rows-of-a-repository",
        value("Repository.objects.filter(pk=repository_id)"),
        (f"{LOCK_ORDER}::test_repository_is_unlinked_while_a_push_is_recorded",),
        on_services=True,
    ),
    Mutant(
        "conversations-of-a-pull-request-before-its-repository",
        value("Conversation.objects.all()"),
        (
            f"{LOCK_ORDER}::test_pull_request_of_two_conversations_is_merged_while_one_of_them_stores_a_push",
        ),
        on_services=True,
    ),
    Mutant(
        "webhook-waits-for-an-unlink",
        never,
        (f"{LOCK_ORDER}::test_repository_is_unlinked_while_its_server_sends_a_webhook",),
        on_services=True,
    ),
    Mutant(
        "repositories-of-an-agent-are-chosen-under-its-lock",
        removed,
        (f"{LOCK_ORDER}::test_agent_is_retired_while_its_repositories_are_chosen",),
        on_services=True,
    ),
    Mutant(
        "plugins-lock-the-project-first",
        removed,
        (f"{LOCK_ORDER}::test_plugin_is_changed_while_an_agent_gets_its_plugins",),
        on_services=True,
    ),
    Mutant(
        "retiring-locks-the-agent-before-its-conversations",
        removed,
        (f"{LOCK_ORDER}::test_agent_is_retired_in_the_admin_while_it_is_made_inactive",),
        on_services=True,
    ),
    Mutant(
        "deleted-project-keeps-no-git-secrets",
        removed,
        (f"{REPOSITORY_API}::test_deleted_project_keeps_no_repository_and_no_secret",),
    ),
    Mutant(
        "webhook-signature",
        never,
        (f"{WEBHOOKS}::test_unsigned_requests_are_answered_alike_whatever_stands_behind_the_id",),
    ),
    Mutant(
        "webhook-of-another-repository",
        value("True"),
        (f"{WEBHOOKS}::test_events_about_something_else_have_no_effect",),
    ),
    Mutant(
        "bots-give-no-work",
        never,
        (f"{WEBHOOKS}::test_strangers_and_accounts_of_programs_give_no_work",),
    ),
    Mutant(
        "strangers-give-no-work", never, (f"{WEBHOOKS}::test_setting_says_whose_reviews_count",)
    ),
    Mutant(
        "association-tells-strangers",
        never,
        (f"{WEBHOOKS}::test_association_of_a_stranger_is_believed_before_the_server_is_asked",),
    ),
    Mutant(
        "review-of-work-that-was-taken-away",
        never,
        (f"{WEBHOOKS}::test_review_of_a_task_that_was_taken_away_gives_no_work",),
    ),
    Mutant(
        "review-is-quoted-line-by-line",
        value("text"),
        (f"{WEBHOOKS}::test_review_continues_the_conversation_that_opened_the_pull_request",),
    ),
    Mutant(
        "webhook-counts-once",
        value("True"),
        (f"{WEBHOOKS}::test_end_of_a_pull_request_is_told_on_conversation_and_task",),
    ),
    Mutant(
        "reviews-of-people-with-rights",
        never,
        (f"{WEBHOOKS}::test_strangers_and_accounts_of_programs_give_no_work",),
    ),
    Mutant(
        "pull-request-is-not-of-its-own-base",
        never,
        (f"{PULL_REQUEST_TOOL}::test_wrong_arguments_are_told_and_open_nothing",),
    ),
    Mutant(
        "pull-requests-hold-no-secret",
        value("wanted"),
        (
            f"{PULL_REQUEST_TOOL}::test_secret_in_the_words_of_a_pull_request_is_masked_and_that_is_told",
        ),
    ),
    Mutant(
        "pushes-hold-no-secret",
        value("''"),
        (f"{PUSH_SEARCH}::test_push_with_a_secret_is_refused_before_anything_is_sent",),
    ),
    Mutant(
        "branch-names-hold-no-secret",
        never,
        (f"{PUSH_SEARCH}::test_branch_whose_name_holds_a_secret_is_not_even_asked_for",),
    ),
    Mutant(
        "pull-request-is-opened-once",
        never,
        (f"{PULL_REQUEST_TOOL}::test_call_that_is_repeated_after_a_crash_opens_one_pull_request",),
    ),
    Mutant(
        "reviews-per-hour",
        value("False"),
        (f"{WEBHOOKS}::test_storm_of_reviews_waits_for_a_person_and_ends",),
    ),
    Mutant(
        "review-restarts-nothing-that-a-person-has-stopped",
        value("False"),
        (f"{WEBHOOKS}::test_review_waits_for_a_person_where_the_work_was_stopped",),
    ),
    Mutant(
        "review-restarts-no-turn-that-has-stopped",
        value("False"),
        (f"{WEBHOOKS}::test_review_that_comes_while_a_turn_is_stopped_waits_too",),
    ),
    Mutant(
        "review-leaves-no-pause",
        value("waiting"),
        (
            f"{WEBHOOKS}::"
            "test_review_during_the_last_answer_of_a_turn_that_is_paused_or_stopped_starts_no_turn",
        ),
    ),
    Mutant(
        "git-connection-knows-its-repositories",
        never,
        (
            f"{REPOSITORY_API}::test_connection_becomes_one_with_an_api_only_if_that_can_know_its_repositories",
        ),
    ),
    Mutant(
        "few-questions-about-reviewers-at-once",
        never,
        (f"{WEBHOOKS}::test_storm_of_comments_asks_the_git_server_few_questions_at_once",),
    ),
    Mutant(
        "reviews-stored-per-hour",
        never,
        (f"{WEBHOOKS}::test_storm_of_reviews_waits_for_a_person_and_ends",),
    ),
    Mutant(
        "review-of-a-repository-that-was-taken-away",
        never,
        (
            f"{WEBHOOKS}::test_review_of_a_repository_that_the_agent_may_no_longer_use_gives_no_work",
        ),
    ),
    Mutant(
        "app-token-is-fresh",
        last_operand_dropped,
        (f"{HOSTS}::test_token_of_an_app_is_fetched_again_after_the_clock_was_set_back",),
    ),
    Mutant(
        "certificates-of-the-operator-count",
        removed,
        (f"{HOSTS}::test_certificate_of_the_operator_counts_for_the_api",),
    ),
    Mutant(
        "pull-request-of-others",
        never,
        (f"{PULL_REQUEST_TOOL}::test_pull_request_of_somebody_else_is_not_taken_over",),
    ),
    Mutant(
        "setups-of-living-workers-are-theirs",
        value("rows"),
        ("tests/conversations/test_sandbox_setups.py",),
    ),
    Mutant(
        "setup-is-finished-by-its-worker",
        value("True"),
        ("tests/conversations/test_sandbox_setups.py",),
    ),
    Mutant(
        "retired-setups-start-no-sandbox", never, ("tests/conversations/test_sandbox_setups.py",)
    ),
    Mutant("setups-in-use-stay", value("rows"), ("tests/conversations/test_sandbox_setups.py",)),
    Mutant("setups-are-no-orphans", removed, ("tests/conversations/test_sandbox_setups.py",)),
    Mutant(
        "setups-of-other-projects-are-others",
        value("[FORM, agent.sandbox_image or project.sandbox_image, commands]"),
        ("tests/conversations/test_sandbox_setups.py",),
    ),
    Mutant("setups-whose-files-are-gone-are-built-again", never, ("tests/worker/test_setups.py",)),
    Mutant(
        "bubblewrap-setups-are-read-only",
        value("'--bind'"),
        (
            "tests/sandbox/test_setup_files.py::test_bubblewrap_binds_a_setup_read_only_but_for_its_build",
        ),
    ),
    Mutant("sandbox-signals-by-descriptor", removed, ("tests/sandbox/test_seccomp.py",)),
    Mutant("sandbox-runtime-is-there", never, ("tests/sandbox/test_runtime.py",)),
    Mutant("sandbox-runtime-has-no-substitute", never, ("tests/sandbox/test_runtime.py",)),
    Mutant(
        "ephemeral-files-only-of-archived-conversations",
        never,
        ("tests/conversations/test_ephemeral_files.py",),
    ),
)
