"""A migrated SQLite database that test processes copy: migrating one takes three seconds of each process."""

import fcntl
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import django

PACA = Path(__file__).resolve().parent.parent.parent / "paca"
# What migrations run. Content types and permissions are written in each process, from its code.
SOURCES = ("*/migrations/*.py", "*/models/**/*.py", "ops/management/commands/migrate.py")
KEPT = 8  # of former versions of the sources
MIGRATE = "import django; django.setup(); from django.core.management import call_command as c; c('migrate', verbosity=0)"


def copy_to(target: Path) -> None:
    """Make ``target`` a migrated database. The first process on this machine migrates it, the others wait and copy."""
    folder = Path(tempfile.gettempdir(), f"paca-migrated-databases-{os.geteuid()}")
    folder.mkdir(mode=0o700, exist_ok=True)
    migrated = folder / f"{_version()}.sqlite3"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not migrated.exists():
            _migrate(migrated)
            for old in sorted(folder.glob("*.sqlite3"), key=lambda file: -file.stat().st_mtime)[
                KEPT:
            ]:
                old.unlink()
        for suffix in ("-wal", "-shm"):
            target.with_name(target.name + suffix).unlink(missing_ok=True)
        shutil.copyfile(migrated, target)


def _version() -> str:
    files = sorted({file for pattern in SOURCES for file in PACA.glob(pattern)})
    content = b"".join(str(file.relative_to(PACA)).encode() + file.read_bytes() for file in files)
    content += f"{django.get_version()} {sqlite3.sqlite_version}".encode()
    return hashlib.sha256(content).hexdigest()[:24]


def _migrate(file: Path) -> None:
    with tempfile.TemporaryDirectory() as data:
        made = Path(data, "made.sqlite3")
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "PACA_DATA_DIR": data,
            "DATABASE_URL": f"sqlite:///{made}",
        }
        command = [sys.executable, "-c", MIGRATE]
        subprocess.run(command, cwd=PACA.parent, env=environment, check=True)
        shutil.copyfile(made, file.with_suffix(".new"))
    file.with_suffix(".new").rename(file)
