"""Measures all figures, or those that ONLY names; exits with 1 if one misses its bar."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext

from tests.bench import environment
from tests.bench.figures import HEADINGS, row
from tests.bench.rows import DATABASES, ROWS, chosen
from tests.support import postgres_server


def main() -> int:
    only = os.environ.get("ONLY", "")
    names = chosen(only)
    if not names:
        print(f"ONLY={only} names no figure; there are: {', '.join(ROWS)}", file=sys.stderr)
        return 2
    print(environment.machine())
    print(row(HEADINGS), flush=True)
    codes = [
        measure([name for name in names if ROWS[name].database == database], database)
        for database in DATABASES
    ]
    return max(map(abs, codes))  # -9: it was killed


def measure(names: list[str], database: str) -> int:
    """Measure rows in a process of their own, since Django has one database; gives its exit code."""
    if not names:
        return 0
    service = postgres_server.running() if database == "postgresql" else nullcontext()
    with service as server:
        quiet = {"LOG_LEVEL": os.environ.get("LOG_LEVEL") or "ERROR"}  # the table is what is read
        variables = os.environ | quiet | {"DATABASE_URL": server.url if server else ""}
        command = [sys.executable, "-m", "tests.bench.run_rows", *names]
        return subprocess.run(command, env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
