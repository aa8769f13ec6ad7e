"""Runs tests on PostgreSQL and Valkey instead of SQLite and memory: ``python -m tests.on_services [pytest args]``.

Without a path it runs ``CHOSEN``: the tests whose result depends on the database or the bus. They
are about locks, leases and transactions, about several writers, about queries and their limits,
about connections that end, and about hints that cross processes.

Everything else runs on SQLite only. The engine, the sandbox, the model adapters and the code of
pages use no database of their own. Tests without a database are left out of the folders that run whole
(``RUN_WHOLE`` in tests/conftest.py). ``LEFT_OUT`` names the other files of the folders of journeys,
workers and sockets, each with its reason; ``tests/test_on_services.py`` finds a file in neither list.
"""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from tests.support import postgres_server, valkey_server

CHOSEN = (
    # The log, its queries, and writers at the same time.
    "tests/conversations",
    "tests/database",
    # Claims, leases and fencing.
    "tests/worker/test_claim_queries.py",
    "tests/worker/test_claim.py",
    "tests/worker/test_external_triggers.py",
    "tests/worker/test_external_work.py",
    "tests/worker/test_fair_claims.py",
    "tests/worker/test_full_database.py",
    "tests/worker/test_leases.py",
    "tests/worker/test_messages_are_answered_once.py",
    "tests/worker/test_places.py",
    "tests/worker/test_project_access.py",
    "tests/worker/test_refused_writes.py",
    "tests/worker/test_setups.py",
    "tests/worker/test_superseded.py",
    "tests/worker/test_sweep_events.py",
    "tests/worker/test_trigger_handler.py",
    "tests/worker/test_worker_registry.py",
    "tests/worker/test_worker_versions.py",
    # Whole turns: workers that die or are stopped, the database or Redis that goes away, and the
    # rows that decide which worker owns a sandbox or starts an agent.
    "tests/flows/test_agent_status.py",
    "tests/flows/test_approvals.py",
    "tests/flows/test_assignments.py",
    "tests/flows/test_background.py",
    "tests/flows/test_check_ins.py",
    "tests/flows/test_memory.py",
    "tests/flows/test_crashes.py",
    "tests/flows/test_database_restarts.py",
    "tests/flows/test_deleting.py",
    "tests/flows/test_deleting_files.py",
    "tests/flows/test_faults.py",
    # Rows of requests for files, which a web server and a worker write at once.
    "tests/flows/test_files.py",
    "tests/flows/test_forks.py",
    # The output of a command that is kept in pieces, and sums over the calls of a turn.
    "tests/flows/test_full_output.py",
    # Helpers: a conversation that waits for rows of others, which several workers end at once.
    "tests/flows/test_helpers.py",
    "tests/flows/test_teams.py",
    "tests/worker/test_turn_totals.py",
    "tests/flows/test_usage.py",
    "tests/web/test_usage_page.py",
    "tests/flows/test_project_tools.py",
    "tests/flows/test_questions.py",
    # Traces: bytes in the database, and a row that two writers lock.
    "tests/flows/test_traces.py",
    # Skills: bytes, and keywords in JSON.
    "tests/flows/test_mcp.py::test_a_server_in_the_sandbox_works_beside_a_dead_one",
    "tests/flows/test_skills.py::test_skill_is_opened_by_a_keyword_and_another_by_the_agent",
    "tests/flows/test_sweeper.py",
    "tests/flows/test_interruptions.py",
    "tests/flows/test_loop_guard.py::test_loop_guard_keeps_its_count_when_another_worker_takes_over",
    "tests/flows/test_warm_pool.py",
    "tests/flows/test_redis.py",
    "tests/flows/test_stale_control_commands.py",
    "tests/flows/test_unreachable_sandbox.py::test_waiting_run_is_taken_over_and_goes_on_waiting",
    "tests/flows/test_watching.py",
    # Sockets: rows that are read while others are written, hints over Redis, connections of the pool.
    "tests/realtime/test_access.py",
    "tests/realtime/test_asgi.py::test_ticket_of_a_session_opens_a_socket_until_the_session_ends",
    "tests/realtime/test_commands.py",
    "tests/realtime/test_full_database.py",
    "tests/realtime/test_live_text.py",
    "tests/realtime/test_notifications.py",
    "tests/realtime/test_recent_events.py",
    "tests/realtime/test_replay_and_follow.py",
    # Constraints, row locks and searches of the other apps.
    "tests/accounts/test_idempotency.py",
    "tests/accounts/test_people.py",
    "tests/accounts/test_tokens.py",
    "tests/agents/test_agents.py",
    "tests/agents/test_api.py",
    # The network: constraints, defaults in JSON, and a count by compare-and-swap.
    "tests/agents/test_network.py::test_the_database_knows_three_networks",
    "tests/agents/test_network.py::test_a_project_opens_the_hosts_of_its_list",
    "tests/agents/test_skills.py::test_database_refuses_a_skill_without_text_or_with_a_name_twice",
    "tests/agents/test_skills.py::test_list_takes_as_many_queries_for_30_skills_as_for_3",
    # Skills of a git repository: all chosen ones in one transaction, which a name that is taken ends.
    "tests/repositories/skill_sources/test_taking.py::test_import_takes_all_chosen_skills_or_none",
    # MCP servers: constraints, schemas in JSON, and a lease by compare-and-swap.
    "tests/agents/mcp/test_mcp_servers.py::test_database_refuses_a_server_that_cannot_be_reached",
    "tests/agents/mcp/test_mcp_servers.py::test_list_takes_as_many_queries_for_30_servers_as_for_3",
    "tests/agents/mcp/test_mcp_tools.py::test_changed_description_waits_again_and_shows_old_and_new",
    "tests/agents/mcp/test_mcp_sign_in.py::test_person_signs_in_and_the_tools_are_listed_with_the_token",
    "tests/agents/mcp/test_mcp_sign_in.py::test_of_callers_at_the_same_time_one_refreshes_and_all_get_its_token",
    "tests/agents/mcp/test_mcp_sign_in.py::test_refresh_of_a_dead_process_is_tried_again_when_its_lease_ends",
    "tests/projects",
    "tests/ops/test_health.py",
    "tests/web/test_pages.py",
    # Requests of the MCP server to the API of the same process, each on a connection of its own.
    "tests/mcp_server/test_tools.py",
)
SAME_QUERIES = "writes by the same functions of `store` and `turn_end` as the chosen journeys"
DOCKER = "needs Docker; make test-docker runs it"
NO_DATABASE = "uses no database"
NO_QUERY = "its result depends on no query"
# Files of the folders of journeys, workers and sockets that are not chosen, each with the reason.
LEFT_OUT = {
    "tests/flows/split_deployment/test_split_deployment.py": "starts PostgreSQL and Valkey itself",
    "tests/flows/test_answering.py": SAME_QUERIES,
    "tests/flows/test_budgets.py": SAME_QUERIES,
    "tests/flows/test_compaction.py": SAME_QUERIES,
    "tests/flows/test_custom_tools.py": SAME_QUERIES,
    "tests/flows/test_demo.py": SAME_QUERIES,
    "tests/flows/test_environment.py": SAME_QUERIES,
    "tests/flows/test_fallback.py": SAME_QUERIES,
    "tests/flows/test_injections.py": SAME_QUERIES,
    "tests/flows/test_mcp_registries.py": SAME_QUERIES,
    "tests/flows/test_network.py": SAME_QUERIES,
    "tests/flows/test_pull_requests.py": SAME_QUERIES,
    "tests/flows/test_repositories.py": SAME_QUERIES,
    "tests/flows/test_telemetry.py": SAME_QUERIES,
    "tests/flows/test_docker.py": DOCKER,
    "tests/flows/test_docker_daemon.py": DOCKER,
    "tests/flows/test_docker_starts.py": DOCKER,
    "tests/flows/test_frozen_workers.py": DOCKER,
    "tests/flows/test_logs.py": SAME_QUERIES,
    "tests/flows/test_models.py": SAME_QUERIES,
    "tests/flows/test_odd_models.py": SAME_QUERIES,
    "tests/flows/test_preview.py": SAME_QUERIES,
    "tests/worker/test_cache_keeper.py": SAME_QUERIES,
    "tests/flows/test_titles.py": "its queries are those of tests/conversations/test_generated_titles.py",
    "tests/realtime/test_delivery.py": NO_DATABASE,
    "tests/realtime/test_live_text_merging.py": NO_DATABASE,
    "tests/realtime/test_rate_limit.py": NO_DATABASE,
    "tests/realtime/test_relay_on_demand.py": NO_DATABASE,
    "tests/realtime/test_slow_readers.py": "measures what a web server keeps for a socket",
    "tests/worker/test_background_looks.py": NO_DATABASE,
    "tests/worker/test_budget_pauses.py": SAME_QUERIES,
    "tests/worker/test_event_masking.py": SAME_QUERIES,
    "tests/worker/test_file_masking.py": SAME_QUERIES,
    "tests/worker/test_file_streams.py": NO_DATABASE,
    "tests/worker/test_git_server_threads.py": NO_DATABASE,
    "tests/worker/test_run_log.py": SAME_QUERIES,
    "tests/worker/test_run_traces.py": NO_DATABASE,
    "tests/worker/test_telemetry.py": NO_DATABASE,
    "tests/worker/test_control_protocol.py": SAME_QUERIES,
    "tests/worker/test_external_triggers_on_a_full_disk.py": NO_QUERY,
    "tests/worker/test_slots.py": NO_DATABASE,
    "tests/worker/test_shown_instructions.py": NO_DATABASE,
    "tests/worker/test_slow_sandbox_start.py": NO_DATABASE,
    "tests/worker/test_thread.py": NO_QUERY,
    "tests/worker/test_stream_buffer.py": NO_DATABASE,
}


def main(arguments: list[str]) -> int:
    """Start the services, point Paca at them, and run pytest there; gives its exit code."""
    named = any(Path(argument.partition("::")[0]).exists() for argument in arguments)
    tests = arguments if named else [*CHOSEN, *arguments]
    with ExitStack() as services:
        postgres = services.enter_context(postgres_server.running())
        valkey = services.enter_context(valkey_server.running())
        environment = {**os.environ, "DATABASE_URL": postgres.url, "REDIS_URL": valkey.url}
        # The test databases end with the server: --reuse-db saves the time to drop them.
        command = [sys.executable, "-m", "pytest", "--reuse-db"]
        command += ["-m", "not browser and not docker", *tests]
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
