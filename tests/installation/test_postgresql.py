"""The same product on PostgreSQL: one variable, and each reason not to start with its next step."""

import http.client
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import ConnectionHandler, connections

from paca.common import database_urls
from paca.common.errors import ConfigurationError
from paca.ops import database_state
from paca.ops.database_check import MIGRATION_LOCK_KEY
from tests.installation.manage_process import ADDRESS, Installation
from tests.installation.test_refusals import GOOD_KEY, assert_refused
from tests.support.flow import wait_until
from tests.support.postgres_server import PostgresServer

pytestmark = pytest.mark.service

KEYS = {
    "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyz-0123456789-abc",
    "ENCRYPTION_KEY": GOOD_KEY,
}


@pytest.fixture
def database(postgres: PostgresServer, request: pytest.FixtureRequest) -> str:
    """The name of a new database."""
    name = f"house_{abs(hash(request.node.nodeid))}"
    postgres.execute(f"CREATE DATABASE {name}", database="postgres")
    return name


def assert_no_session_is_left(postgres: PostgresServer, database: str) -> None:
    """The server's process of a session ends a moment after its client."""
    wait_until(lambda: _sessions(postgres, database) == 0, 20)


def _sessions(postgres: PostgresServer, database: str) -> int:
    found = postgres.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = %s", database, database="postgres"
    )
    return int(found[0][0])


def test_start_fills_an_empty_postgresql_database_and_reuses_it(
    installation: Installation, postgres: PostgresServer, database: str
):
    url = postgres.url_of(database)
    first_start = installation.up(DATABASE_URL=url)
    assert f"{database} at 127.0.0.1:{postgres.port}" in first_start.output
    assert "migrations applied" in first_start.output
    assert first_start.get("/healthz").status == 200
    wait_until(lambda: first_start.get("/readyz").status == 200)
    assert first_start.stop() == 0
    assert_no_session_is_left(postgres, database)
    again = installation.up(DATABASE_URL=url)
    assert "up to date" in again.output
    assert "sign in as" not in again.output
    looked = installation.run("doctor", DATABASE_URL=url)
    assert looked.returncode == 0, looked.stdout
    assert f"PostgreSQL 18.6, {database} at 127.0.0.1" in looked.stdout
    assert again.stop() == 0
    assert not list(installation.data.glob("*.sqlite3"))


def test_database_url_may_name_a_unix_socket(installation: Installation, postgres: PostgresServer):
    looked = installation.run("doctor", DATABASE_URL=postgres.socket_url)
    assert looked.returncode == 0, looked.stdout + looked.stderr
    assert "has no tables yet" in looked.stdout


@contextmanager
def two_that_start_at_once(
    tmp_path: Path, postgres: PostgresServer, database: str, **settings: str
) -> Iterator[list[str]]:
    """What each of two installations on one database says, until it runs or has ended."""
    url = postgres.url_of(database)
    both = [Installation(tmp_path / name) for name in ("one", "two")]
    said: list[str] = []

    def start(installation: Installation) -> None:
        said.append(installation.up_until(ADDRESS, DATABASE_URL=url, **settings).output)

    starts = [threading.Thread(target=start, args=(each,)) for each in both]
    with psycopg.connect(url, autocommit=True) as holder:
        holder.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK_KEY])
        for each in starts:
            each.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        wait_until(lambda: postgres.execute(waiting)[0][0] == 2, 60)
    for each in starts:
        each.join()
    try:
        yield said
    finally:
        for installation in both:
            installation.started[0].kill()
            installation.end()


def test_two_processes_that_start_at_once_create_everything_once(
    tmp_path: Path, postgres: PostgresServer, database: str
):
    with two_that_start_at_once(tmp_path, postgres, database, **KEYS) as ended:
        assert sorted("migrations applied" in output for output in ended) == [False, True]
        assert sorted("sign in as" in output for output in ended) == [False, True]
        ask = "SELECT (SELECT count(*) FROM accounts_user), (SELECT count(*) FROM projects_project)"
        assert postgres.execute(ask, database=database) == [(1, 1)]


def test_start_is_refused_for_one_of_two_processes_with_secrets_of_their_own(
    tmp_path: Path, postgres: PostgresServer, database: str
):
    with two_that_start_at_once(tmp_path, postgres, database) as ended:
        refused = [output for output in ended if "differ from what" in output]
        assert len(refused) == 1, ended
        assert "Paca runs at" not in refused[0]
        assert sum("Paca runs at" in output for output in ended) == 1


def test_postgresql_that_is_killed_and_restarted_during_a_run_costs_nothing(
    installation: Installation, postgres: PostgresServer, database: str
):
    url = postgres.url_of(database)
    running = installation.up(DATABASE_URL=url)
    token = installation.run("create_token", "admin", DATABASE_URL=url).stdout.split()[-1]

    def ask(method: str, path: str, body: str = "") -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
        with closing(connection):
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            connection.request(method, f"/api/v1/{path}", body, headers)
            answer = connection.getresponse()
            return json.loads(answer.read()) if answer.status < 300 else None

    (project,) = ask("GET", "projects/")["results"]
    place = f"projects/{project['id']}/"
    (agent,) = ask("GET", f"{place}agents/")["results"]
    begun = ask("POST", f"{place}agents/{agent['id']}/chat-sessions/", '{"message": "Hello"}')
    mine = f"{place}conversations/{begun['conversation']}/"
    postgres.kill()
    postgres.start()
    wait_until(lambda: (ask("GET", mine) or {}).get("status") == "finished", 60)
    log = ask("GET", f"{mine}events/")["results"]
    assert [event["seq"] for event in log] == [*range(1, len(log) + 1)]
    kinds = [event["type"] for event in log]
    assert kinds.count("agent.turn.finished") == 1
    assert kinds.count("agent.message.received") == 1
    assert running.stop() == 0


# --- what keeps it from starting ------------------------------------------------------------------

Arrange = Callable[[PostgresServer, str], str]


def of_another_program(postgres: PostgresServer, database: str) -> str:
    postgres.execute("CREATE TABLE songs (title text)", database=database)
    return postgres.url_of(database)


def of_another_django_program(postgres: PostgresServer, database: str) -> str:
    postgres.execute(
        "CREATE TABLE django_migrations (id int, app text, name text, applied timestamptz);"
        "INSERT INTO django_migrations VALUES (1, 'auth', '0001_initial', now()),"
        " (2, 'songs', '0001_initial', now())",
        database=database,
    )
    return postgres.url_of(database)


def of_a_newer_version(postgres: PostgresServer, database: str) -> str:
    postgres.execute(
        "CREATE TABLE django_migrations (id int, app text, name text, applied timestamptz);"
        "INSERT INTO django_migrations VALUES (1, 'accounts', '0001_initial', now()),"
        " (2, 'accounts', '0999_later', now())",
        database=database,
    )
    return postgres.url_of(database)


def without_the_right_to_make_tables(postgres: PostgresServer, database: str) -> str:
    postgres.execute(f"CREATE ROLE guest_{database} LOGIN PASSWORD 'hush-hush'")
    return postgres.url_of(database, user=f"guest_{database}", password="hush-hush")


def with_all_its_connections_in_use(postgres: PostgresServer, database: str) -> str:
    # The limit of a role keeps out all but administrators.
    postgres.execute(f"CREATE ROLE busy_{database} LOGIN PASSWORD 'hush-hush' CONNECTION LIMIT 0")
    return postgres.url_of(database, user=f"busy_{database}", password="hush-hush")


def read_only(postgres: PostgresServer, database: str) -> str:
    postgres.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    return postgres.url_of(database)


def restored_by_somebody_else(postgres: PostgresServer, database: str) -> str:
    postgres.execute(
        "CREATE TABLE django_migrations (id int, app text, name text, applied timestamptz);"
        "INSERT INTO django_migrations VALUES (1, 'accounts', '0001_initial', now());"
        f"CREATE ROLE heir_{database} LOGIN PASSWORD 'hush-hush'",
        database=database,
    )
    return postgres.url_of(database, user=f"heir_{database}", password="hush-hush")


def restored_with_rights_but_without_ownership(postgres: PostgresServer, database: str) -> str:
    url = restored_by_somebody_else(postgres, database)
    postgres.execute(
        f"GRANT ALL ON ALL TABLES IN SCHEMA public TO heir_{database};"
        f"GRANT CREATE ON SCHEMA public TO heir_{database}",
        database=database,
    )
    return url


def not_in_utf8(postgres: PostgresServer, database: str) -> str:
    postgres.execute(
        f"CREATE DATABASE {database}_latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0",
        database="postgres",
    )
    return postgres.url_of(f"{database}_latin")


NEED_A_NEW_ONE = (
    of_another_program,
    of_another_django_program,
    of_a_newer_version,
    without_the_right_to_make_tables,
    with_all_its_connections_in_use,
    not_in_utf8,
    read_only,
    restored_by_somebody_else,
    restored_with_rights_but_without_ownership,
)
REFUSALS: dict[str, tuple[Arrange, str, str]] = {
    "a wrong password": (
        lambda server, name: server.url_of(name, password="hush-hush"),
        "rejects paca: the name or the password is wrong",
        "correct them in DATABASE_URL",
    ),
    "a user who is none": (
        lambda server, name: server.url_of(name, user="stranger", password="hush-hush"),
        "rejects stranger",
        "correct them in DATABASE_URL",
    ),
    "no such database": (
        lambda server, name: server.url_of("nothing_here"),
        "has no database nothing_here",
        "CREATE DATABASE nothing_here OWNER paca;",
    ),
    "nobody listens": (
        lambda server, name: "postgres://paca:hush-hush@127.0.0.1:1/paca",
        "the PostgreSQL at 127.0.0.1:1 cannot be reached: Connection refused",
        "start it, or correct DATABASE_URL",
    ),
    "no such host": (
        lambda server, name: "postgres://paca:hush-hush@nowhere.invalid/paca",
        "the PostgreSQL at nowhere.invalid:5432 cannot be reached",
        "start it, or correct DATABASE_URL",
    ),
    "no such socket": (
        lambda server, name: "postgres://paca:hush-hush@/paca?host=/nowhere",
        "the PostgreSQL at /nowhere cannot be reached: No such file",
        "start it, or correct DATABASE_URL",
    ),
    "no TLS there": (
        lambda server, name: f"{server.url_of(name)}?sslmode=require",
        "does not support SSL",
        "correct DATABASE_URL",
    ),
    "another program's": (
        of_another_program,
        "belongs to another program",
        "choose an empty database",
    ),
    "another Django program's": (
        of_another_django_program,
        "belongs to another program",
        "choose an empty database",
    ),
    "a newer version's": (of_a_newer_version, "was used by a newer Paca", "update the code"),
    "no right to make tables": (
        without_the_right_to_make_tables,
        "may not create tables in the database",
        "GRANT CREATE ON SCHEMA public TO guest_",
    ),
    "no connection left": (
        with_all_its_connections_in_use,
        "has no free connection for busy_",
        "raise max_connections there, or the limit of busy_",
    ),
    "read-only": (
        read_only,
        "is read-only: default_transaction_read_only is on",
        "RESET default_transaction_read_only",
    ),
    "restored by somebody else": (
        restored_by_somebody_else,
        "such as django_migrations: they belong to paca",
        "pg_restore --no-owner --role=heir_",
    ),
    "restored with rights but without ownership, and to be migrated": (
        restored_with_rights_but_without_ownership,
        "may not change 1 tables",
        "ALTER TABLE django_migrations OWNER TO heir_",
    ),
    "not in UTF-8": (not_in_utf8, "does not store text as UTF-8", "ENCODING 'UTF8'"),
}


@contextmanager
def connected_to(url: str) -> Iterator[None]:
    """Django's default connection of this thread is one to this address."""
    before = connections["default"]
    connections["default"] = ConnectionHandler(
        {"default": database_urls.parse(url, name="DATABASE_URL")}
    )["default"]
    try:
        yield
    finally:
        connections["default"].close()
        connections["default"].close_pool()
        connections["default"] = before


@pytest.mark.parametrize("name", REFUSALS)
def test_start_refuses_a_postgresql_database_that_cannot_be_used_and_says_the_next_step(
    postgres: PostgresServer, request: pytest.FixtureRequest, django_db_blocker: Any, name: str
):
    arrange, cause, next_step = REFUSALS[name]
    new = request.getfixturevalue("database") if arrange in NEED_A_NEW_ONE else "paca"
    with (
        connected_to(arrange(postgres, new)),
        django_db_blocker.unblock(),
        pytest.raises(ConfigurationError) as refusal,
    ):
        database_state.read_migration_state()
    assert cause in refusal.value.detail
    assert next_step in str(refusal.value.facts["next_step"])
    said = refusal.value.detail + str(refusal.value.facts)
    assert "hush" not in said
    assert postgres.password not in said
    assert "\n" not in said
    assert_no_session_is_left(postgres, new)


def test_start_on_a_refused_postgresql_database_creates_nothing(
    installation: Installation, postgres: PostgresServer
):
    ended = installation.run("up", DATABASE_URL=postgres.url_of("paca", password="hush-hush"))
    assert_refused(ended, "rejects paca", "correct them in DATABASE_URL")
    assert not installation.data.exists()
    _shows_no_password(ended, postgres)


def _shows_no_password(ended: subprocess.CompletedProcess, postgres: PostgresServer) -> None:
    said = ended.stdout + ended.stderr
    assert "hush" not in said
    assert postgres.password not in said


def test_doctor_reports_a_refused_postgresql_database(
    installation: Installation, postgres: PostgresServer
):
    looked = installation.run("doctor", DATABASE_URL=postgres.url_of("paca", password="hush-hush"))
    assert looked.returncode == 1
    assert "broken  Database    the PostgreSQL at 127.0.0.1" in looked.stdout
    assert "correct them in DATABASE_URL" in looked.stdout
    _shows_no_password(looked, postgres)
