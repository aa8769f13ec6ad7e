"""What keeps Paca from starting: a plain sentence with the next step, an exit code, nothing half-made."""

import os
import re
import socket
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.installation.manage_process import Installation

GOOD_KEY = "iF5gV2d3cXh1eWJtdmF3cXJ0c2x6a2puZ2h1aW9wYXM="


def files_in(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if path.name != "lock"  # being there is all it does
    }


def a_file_in_the_way(installation: Installation) -> dict[str, str]:
    installation.data.write_text("I am a file")
    return {}


def a_parent_that_is_a_file(installation: Installation) -> dict[str, str]:
    installation.data.write_text("I am a file")
    return {"PACA_DATA_DIR": str(installation.data / "inside")}


def garbage_as_database(installation: Installation) -> dict[str, str]:
    installation.data.mkdir(mode=0o700)
    (installation.data / "paca.sqlite3").write_bytes(b"This is not a database. " * 100)
    return {}


def a_folder_as_database(installation: Installation) -> dict[str, str]:
    (installation.data / "paca.sqlite3").mkdir(parents=True)
    return {}


def database_of_another_program(installation: Installation) -> dict[str, str]:
    installation.data.mkdir(mode=0o700)
    with closing(sqlite3.connect(installation.data / "paca.sqlite3")) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE songs (title TEXT)")
        database.commit()
    return {}


def key_open_to_others(installation: Installation) -> dict[str, str]:
    installation.data.mkdir(mode=0o700)
    (installation.data / "encryption_key").write_text(GOOD_KEY)
    (installation.data / "encryption_key").chmod(0o644)
    return {}


def key_that_is_none(installation: Installation) -> dict[str, str]:
    installation.data.mkdir(mode=0o700)
    (installation.data / "encryption_key").write_text("short")
    (installation.data / "encryption_key").chmod(0o600)
    return {}


def settings(**given: str) -> Callable[[Installation], dict[str, str]]:
    return lambda installation: given


REFUSALS = {
    "a file stands where the data folder should be": (
        a_file_in_the_way,
        "cannot be written to",
        "PACA_DATA_DIR=",
    ),
    "the data folder's parent is a file": (
        a_parent_that_is_a_file,
        "cannot be created",
        "PACA_DATA_DIR=",
    ),
    "the data folder cannot be made": (
        settings(PACA_DATA_DIR="/proc/paca"),
        "/proc/paca cannot be created",
        "PACA_DATA_DIR=",
    ),
    "the database is garbage": (garbage_as_database, "file is not a database", "backup"),
    "the database is a folder": (a_folder_as_database, "cannot be used", "backup"),
    "the database is another program's": (
        database_of_another_program,
        "another program",
        "DATABASE_URL=",
    ),
    "the database is of a kind we do not know": (
        settings(DATABASE_URL="mysql://paca:hush@db/paca"),
        "DATABASE_URL begins with 'mysql'",
        "postgres://user:password@host",
    ),
    "the bus is of a kind we do not know": (
        settings(REDIS_URL="amqp://paca:hush@queue"),
        "REDIS_URL begins with 'amqp'",
        "redis://host:6379/0",
    ),
    "the address of Redis cannot be read": (
        settings(VALKEY_URL="redis://paca:hu@sh@cache:many/0"),
        "REDIS_URL is not a usable URL",
        "%40",
    ),
    "the encryption key is open to others": (
        key_open_to_others,
        "can be read by other accounts",
        "chmod 600",
    ),
    "the kept encryption key is none": (key_that_is_none, "not a usable Fernet key", "openssl"),
    "ENCRYPTION_KEY is none": (settings(ENCRYPTION_KEY="abc"), "ENCRYPTION_KEY is not", "openssl"),
    "ENCRYPTION_KEY is zeros": (
        settings(ENCRYPTION_KEY="A" * 43 + "="),
        "ENCRYPTION_KEY is not",
        "openssl",
    ),
    "the second ENCRYPTION_KEY is none": (
        settings(ENCRYPTION_KEY=f"{GOOD_KEY},abc"),
        "ENCRYPTION_KEY is not",
        "openssl",
    ),
    "SECRET_KEY is short": (settings(SECRET_KEY="secret"), "SECRET_KEY is too weak", "openssl"),
    "SECRET_KEY is one letter": (
        settings(SECRET_KEY="a" * 64),
        "SECRET_KEY is too weak",
        "openssl",
    ),
    "the admin's password is short": (
        settings(PACA_ADMIN_PASSWORD="12345"),
        "PACA_ADMIN_PASSWORD is too weak",
        "unset it",
    ),
    "PACA_PORT is a word": (
        settings(PACA_PORT="eight"),
        "PACA_PORT is 'eight'",
        "docs/configuration.md",
    ),
    "PACA_PORT is too large": (
        settings(PACA_PORT="70000"),
        "PACA_PORT is 70000; it must be at most 65535",
        "",
    ),
    "PACA_BIND is nowhere": (
        settings(PACA_BIND="203.0.113.7"),
        "PACA_BIND is '203.0.113.7'",
        "127.0.0.1",
    ),
    "PACA_BIND is no address": (
        settings(PACA_BIND="not an address"),
        "PACA_BIND is 'not an address'",
        "127.0.0.1",
    ),
    "reachable from outside without a password": (
        settings(PACA_BIND="0.0.0.0"),
        "the admin has no password yet",
        "PACA_ADMIN_PASSWORD",
    ),
    "reachable from outside with DEBUG": (
        settings(PACA_BIND="0.0.0.0", DEBUG="yes", PACA_ADMIN_PASSWORD="a-good-long-password"),
        "DEBUG shows them",
        "unset DEBUG",
    ),
    "DEBUG is neither": (settings(DEBUG="maybe"), "DEBUG is 'maybe'; it must be true or false", ""),
    "PACA_SANDBOX is unknown": (settings(PACA_SANDBOX="jail"), "PACA_SANDBOX is 'jail'", ""),
    "WORKER_CONCURRENCY is none": (settings(WORKER_CONCURRENCY="0"), "it must be at least 1", ""),
    "a whole number is none": (settings(WORKER_CONCURRENCY="1.5"), "it must be a whole number", ""),
    "a number is infinite": (settings(COMMAND_TIMEOUT_SECONDS="inf"), "it must be at most", ""),
    "a number is none": (settings(COMMAND_TIMEOUT_SECONDS="nan"), "it must be at least", ""),
}


def assert_refused(ended: subprocess.CompletedProcess, cause: str, next_step: str) -> None:
    said = ended.stderr
    assert ended.returncode == 1, ended.stdout + said
    assert "Traceback" not in said + ended.stdout
    first, _, second = said.strip().partition("\n")
    assert first.startswith("Paca cannot start: "), said
    assert cause in first, said
    assert second.startswith("Next step: "), said
    assert next_step in second, said


@pytest.mark.parametrize("name", REFUSALS)
def test_start_with_a_wrong_setting_is_refused_and_creates_nothing(
    installation: Installation, name: str
):
    arrange, cause, next_step = REFUSALS[name]
    given = arrange(installation)
    before = files_in(installation.data.parent)
    assert_refused(installation.run("up", **given), cause, next_step)
    assert files_in(installation.data.parent) == before


@pytest.mark.parametrize(
    "name", ["the database is garbage", "reachable from outside without a password"]
)
def test_preparation_is_refused_as_a_start_is_and_creates_nothing(
    installation: Installation, name: str
):
    arrange, cause, next_step = REFUSALS[name]
    given = arrange(installation)
    before = files_in(installation.data.parent)
    assert_refused(installation.run("up", "--prepare-only", **given), cause, next_step)
    assert files_in(installation.data.parent) == before


def test_preparation_ends_with_0_and_is_refused_beside_a_running_server(
    installation: Installation,
):
    prepared = installation.run("up", "--prepare-only")
    assert prepared.returncode == 0, prepared.stderr
    assert re.search(r"with this path on your server's address:\n\s+/\S+\n", prepared.stdout)
    assert "http://" not in prepared.stdout
    assert "! Services     separate web and worker processes need PostgreSQL" in prepared.stdout
    assert "manage.py up" in prepared.stdout
    running = installation.up()
    ended = installation.run("up", "--prepare-only")
    assert_refused(ended, f"another Paca (process {running.process.pid})", "stop it first")


def test_refusal_prints_no_secret_of_the_environment(installation: Installation):
    for name, url in (
        ("DATABASE_URL", "mysql://paca:hush@db/paca"),
        ("DATABASE_URL", "postgres://paca:hu@sh@db/paca"),
        ("REDIS_URL", "amqp://paca:hush@queue"),
        ("REDIS_URL", "redis://paca:hu@sh@cache:many"),
    ):
        ended = installation.run("up", **{name: url})
        assert ended.returncode == 1
        assert "hu" not in ended.stderr.replace(str(installation.data), "")
    ended = installation.run("up", SECRET_KEY="weak-but-mine")
    assert "weak-but-mine" not in ended.stdout + ended.stderr


def test_start_on_a_taken_port_is_refused_and_creates_nothing(installation: Installation):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = installation.run("up", PACA_PORT=str(port))
    assert_refused(ended, f"port {port} on 127.0.0.1 is in use", f"PACA_PORT={port + 1}")
    assert not installation.data.exists()


# Root may write everywhere unless this one capability is taken from it.
AS_ANY_ACCOUNT = ("setpriv", "--bounding-set=-dac_override") if os.geteuid() == 0 else ()


@pytest.mark.parametrize("command", [("up",), ("doctor",)])
def test_restored_database_that_is_read_only_is_refused_with_the_next_step(
    stopped_installation: Installation, command: tuple[str, ...]
):
    file = stopped_installation.data / "paca.sqlite3"
    file.chmod(0o400)
    ended = stopped_installation.run(*command, before=AS_ANY_ACCOUNT)
    said = ended.stdout + ended.stderr
    assert ended.returncode == 1, said
    assert "Traceback" not in said
    assert f"the database {file} cannot be written to" in said
    assert "Next step: give its files and their folder to this account: chown " in said


def test_database_in_a_folder_that_is_not_there_is_refused(installation: Installation):
    file = installation.data.parent / "nowhere" / "paca.sqlite3"
    ended = installation.run("up", DATABASE_URL=f"sqlite:///{file}")
    assert_refused(ended, f"the database {file} cannot be created", f"mkdir -p {file.parent}")
    assert not installation.data.exists()


def test_start_is_refused_if_the_data_folder_cannot_be_written(installation: Installation):
    installation.data.mkdir(mode=0o500)
    ended = installation.run("up", before=AS_ANY_ACCOUNT)
    assert_refused(
        ended, f"{installation.data} cannot be written to (Permission denied)", "PACA_DATA_DIR="
    )
