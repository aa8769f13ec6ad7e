"""Runs tests on PostgreSQL and Valkey instead of SQLite and memory: ``python -m tests.on_services [pytest args]``.

Without a path it runs ``CHOSEN``: the tests whose result depends on the database or the bus. They
are about locks, leases and transactions, about several writers, about queries and their limits,
about connections that end, and about hints that cross processes.

Everything else runs on SQLite only. The engine, the sandbox, the model adapters and the code of
pages use no database of their own. The journeys that are left out (answers, retries, repetition,
approval, log lines) take the same path through ``store`` and ``turn_end`` as those that are chosen.
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
    "tests/worker/test_full_database.py",
    "tests/worker/test_leases.py",
    "tests/worker/test_superseded.py",
    "tests/worker/test_worker_registry.py",
    # Whole turns: workers that die or are stopped, the database or Redis that goes away, and the
    # rows that decide which worker owns a sandbox or starts an agent.
    "tests/flows/test_agent_status.py",
    "tests/flows/test_crashes.py",
    "tests/flows/test_database_restarts.py",
    "tests/flows/test_deleting.py",
    "tests/flows/test_faults.py",
    "tests/flows/test_sweeper.py",
    "tests/flows/test_interruptions.py",
    "tests/flows/test_warm_pool.py",
    "tests/flows/test_redis.py",
    "tests/flows/test_stale_control_commands.py",
    "tests/flows/test_watching.py",
    # Sockets: rows that are read while others are written, hints over Redis, connections of the pool.
    "tests/realtime/test_access.py",
    "tests/realtime/test_commands.py",
    "tests/realtime/test_full_database.py",
    "tests/realtime/test_live_text.py",
    "tests/realtime/test_recent_events.py",
    "tests/realtime/test_replay_and_follow.py",
    # Constraints, row locks and searches of the other apps.
    "tests/accounts/test_idempotency.py",
    "tests/accounts/test_people.py",
    "tests/accounts/test_tokens.py",
    "tests/agents/test_agents.py",
    "tests/agents/test_api.py",
    "tests/projects",
    "tests/ops/test_health.py",
    "tests/web/test_pages.py",
)


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
