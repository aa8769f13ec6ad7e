"""What the benches stand on: a temporary data folder with an empty, migrated database."""

from __future__ import annotations

import os
import platform
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def prepared() -> Iterator[Path]:
    """Set Django up on a folder of this run; processes started from here share it."""
    with tempfile.TemporaryDirectory(prefix="paca-bench-") as name:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "PACA_DATA_DIR": name}
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        yield Path(name)


def machine() -> str:
    """What the figures were taken on."""
    return (
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version} (a file, WAL), "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
