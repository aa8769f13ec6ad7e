"""Migrated databases that test processes copy: migrating one takes several seconds of each process."""

import fcntl
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

import django
import psycopg
from psycopg.sql import SQL, Identifier

PACA = Path(__file__).resolve().parent.parent.parent / "paca"
# What migrations run. Content types and permissions are written in each process, from its code.
SOURCES = ("*/migrations/*.py", "*/models/**/*.py", "ops/management/commands/migrate.py")
KEPT = 32  # of former versions of the sources, and of other working copies
MIGRATE = "import django; django.setup(); from django.core.management import call_command as c; c('migrate', verbosity=0)"


def copy_to(target: Path) -> None:
    """Make ``target`` a migrated database. The first process on this machine migrates it, the others wait and copy."""
    folder = Path(tempfile.gettempdir(), f"paca-migrated-databases-{os.geteuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    migrated = folder / f"{_version()}.sqlite3"
    with migrated.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not migrated.exists():
            _migrate(migrated)
            for old in sorted(folder.glob("*.sqlite3"), key=lambda file: -file.stat().st_mtime)[
                KEPT:
            ]:
                old.unlink(missing_ok=True)
        for suffix in ("-wal", "-shm"):
            target.with_name(target.name + suffix).unlink(missing_ok=True)
        shutil.copyfile(migrated, target)


def copy_on_postgresql(url: str, name: str) -> None:
    """Make ``name`` a migrated database on the server of this URL, like ``copy_to``, unless it exists."""
    with psycopg.connect(url, dbname="postgres", autocommit=True) as server:
        server.execute("SELECT pg_advisory_lock(1)")  # released with the connection
        names = {row[0] for row in server.execute("SELECT datname FROM pg_database")}
        if "migrated" not in names:
            server.execute("CREATE DATABASE unfinished")
            with tempfile.TemporaryDirectory() as data:
                _run_migrations(data, urlsplit(url)._replace(path="/unfinished").geturl())
            server.execute("ALTER DATABASE unfinished RENAME TO migrated")
        if name not in names:
            server.execute(SQL("CREATE DATABASE {} TEMPLATE migrated").format(Identifier(name)))


def _version() -> str:
    files = sorted({file for pattern in SOURCES for file in PACA.glob(pattern)})
    content = b"".join(str(file.relative_to(PACA)).encode() + file.read_bytes() for file in files)
    content += f"{django.get_version()} {sqlite3.sqlite_version}".encode()
    return hashlib.sha256(content).hexdigest()[:24]


def _migrate(file: Path) -> None:
    with tempfile.TemporaryDirectory() as data:
        made = Path(data, "made.sqlite3")
        _run_migrations(data, f"sqlite:///{made}")
        shutil.copyfile(made, file.with_suffix(".new"))
    file.with_suffix(".new").rename(file)


def _run_migrations(data: str, url: str) -> None:
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "PACA_DATA_DIR": data,
        "DATABASE_URL": url,
    }
    command = [sys.executable, "-c", MIGRATE]
    subprocess.run(command, cwd=PACA.parent, env=environment, check=True)
