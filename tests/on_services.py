"""Runs tests on real services instead of SQLite and memory: ``python -m tests.on_services [pytest args]``."""

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from tests.support import postgres_server, valkey_server

# Whatever has laws or order in the database: what people and workers do at once, and what is found
# again. The engine, the sandbox and the pages' own code know no database and run once.
CHOSEN = (
    "tests/conversations",
    "tests/worker",
    "tests/flows",
    "tests/realtime",
    "tests/database",
    "tests/accounts/test_idempotency.py",
    "tests/accounts/test_people.py",
    "tests/accounts/test_tokens.py",
    "tests/agents/test_agents.py",
    "tests/agents/test_api.py",
    "tests/projects",
    "tests/ops/test_health.py",
    "tests/web/test_pages.py",
)
# These start all their services themselves, in the first pass too.
LEFT_OUT = ("--ignore=tests/flows/apart",)


def main(arguments: list[str]) -> int:
    """Start the services, point Paca at them, and run pytest there; gives its exit code."""
    chosen = any(Path(argument.partition("::")[0]).exists() for argument in arguments)
    tests = arguments if chosen else [*CHOSEN, *arguments]
    with ExitStack() as services:
        postgres = services.enter_context(postgres_server.running())
        valkey = services.enter_context(valkey_server.running())
        environment = {**os.environ, "DATABASE_URL": postgres.url, "REDIS_URL": valkey.url}
        # Its databases go with the server: nobody has to wait until the last has left them.
        command = [sys.executable, "-m", "pytest", "--reuse-db", *(() if chosen else LEFT_OUT)]
        command += ["-m", "not browser and not docker", *tests]
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
