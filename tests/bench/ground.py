"""What the benches stand on: a temporary data folder and an empty, migrated database."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg.sql import SQL, Identifier


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


def database() -> str:
    """The database of this run, as a row names it."""
    from django.db import connection

    return connection.display_name


def another_database(name: str) -> str:
    """An empty one on the same server, as ``DATABASE_URL``; empty for a file in another data folder."""
    url = os.environ.get("DATABASE_URL", "")
    if not url:
        return ""
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    return f"{url.rpartition('/')[0]}/{name}"


def machine() -> str:
    """What the figures are taken on."""
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
