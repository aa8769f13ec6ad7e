"""The environment of a bench: a temporary data folder and an empty, migrated database."""

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
def migrated_database() -> Iterator[Path]:
    """Set Django up on a new folder and migrate; processes started from here share it."""
    with tempfile.TemporaryDirectory(prefix="paca-bench-") as name:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "PACA_DATA_DIR": name}
        import django
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        yield Path(name)


def database() -> str:
    """The name of the database of this run, for the table."""
    from django.db import connection

    return connection.display_name


def another_database(name: str) -> str:
    """``DATABASE_URL`` of a new database on the same server; empty on SQLite."""
    url = os.environ.get("DATABASE_URL", "")
    if not url:
        return ""
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    return f"{url.rpartition('/')[0]}/{name}"


def machine() -> str:
    """A line on the machine that the figures are measured on."""
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
