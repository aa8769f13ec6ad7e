"""Take the figures, or those that ONLY names; exit with 1 if one falls short of its bar."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext

from tests.bench import ground
from tests.bench.figures import HEADINGS, row
from tests.bench.rows import DATABASES, ROWS, chosen
from tests.support import postgres_server


def main() -> int:
    only = os.environ.get("ONLY", "")
    names = chosen(only)
    if not names:
        print(f"ONLY={only} names no figure; there are: {', '.join(ROWS)}", file=sys.stderr)
        return 2
    print(ground.machine())
    print(row(HEADINGS), flush=True)
    codes = [
        take([name for name in names if ROWS[name].database == database], database)
        for database in DATABASES
    ]
    return max(map(abs, codes))  # -9: it was killed


def take(names: list[str], database: str) -> int:
    """Take them in a process of their own, for Django stands on one database; its exit code."""
    if not names:
        return 0
    there = postgres_server.running() if database == "postgresql" else nullcontext()
    with there as server:
        environment = os.environ | {"DATABASE_URL": server.url if server else ""}
        command = [sys.executable, "-m", "tests.bench.taking", *names]
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
