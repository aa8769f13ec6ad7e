"""Database URLs: the forms in which people write them, and errors without a word of a password."""

from pathlib import Path
from typing import Any

import pytest

from paca.common import database_threads, database_urls
from paca.common.errors import ConfigurationError

ADDRESSES: dict[str, dict[str, Any]] = {
    "postgres://paca:hush@db/paca": {"HOST": "db", "PORT": "", "USER": "paca", "PASSWORD": "hush"},
    "postgresql://paca:hush@db:6543/paca": {"HOST": "db", "PORT": "6543", "NAME": "paca"},
    "postgres://paca:h%40u%2Fs%25h@db/paca": {"PASSWORD": "h@u/s%h", "HOST": "db"},
    "postgres://paca:hu:sh@db/paca": {"PASSWORD": "hu:sh"},
    "postgres://paca@db/paca": {"USER": "paca", "PASSWORD": ""},
    "postgres:///paca": {"HOST": "", "USER": "", "NAME": "paca"},
    "postgres:///paca?host=/run/postgresql&user=paca": {"HOST": "/run/postgresql", "USER": "paca"},
    "postgres://%2Frun%2Fpostgresql/paca": {"HOST": "/run/postgresql"},
    "postgres://paca:hush@[::1]:5432/paca": {"HOST": "::1", "PORT": "5432"},
    "postgres://one:1,two:2/paca?target_session_attrs=read-write": {
        "HOST": "one,two",
        "PORT": "1,2",
    },
    "postgres://paca:hush@db/my%20data": {"NAME": "my data"},
}


@pytest.mark.parametrize("url", ADDRESSES)
def test_postgresql_url_becomes_an_entry_of_databases(url: str):
    found = database_urls.parse(url, name="DATABASE_URL")
    assert ADDRESSES[url].items() <= found.items()
    assert found["ENGINE"] == "paca.common.postgresql"


def test_parameters_of_a_postgresql_url_reach_the_driver():
    url = "postgres://db/paca?sslmode=verify-full&sslrootcert=/etc/ca.pem&connect_timeout=3"
    options = database_urls.parse(url, name="DATABASE_URL")["OPTIONS"]
    assert options["sslmode"] == "verify-full"
    assert options["sslrootcert"] == "/etc/ca.pem"
    assert options["connect_timeout"] == "3"


def test_connection_pool_is_bounded_and_waits_briefly():
    found = database_urls.parse("postgres://db/paca", name="DATABASE_URL")
    assert found["CONN_MAX_AGE"] == 0
    assert found["OPTIONS"]["pool"]["max_size"] == database_threads.TOTAL
    assert found["OPTIONS"]["pool"]["timeout"] <= 5


def test_sqlite_url_is_relative_with_three_slashes_and_absolute_with_four():
    assert database_urls.parse("sqlite:////data/p.db", name="X")["NAME"] == "/data/p.db"
    assert database_urls.parse("sqlite:///p.db", name="X")["NAME"] == str(Path("p.db").absolute())


WRONG = {
    "mysql://paca:hush@db/paca": "begins with 'mysql'",
    "hush": "which is not a database that Paca supports",
    "sqlite://": "begins with 'sqlite'",
    "sqlite:///": "begins with 'sqlite'",
    "postgres:hush": "begins with 'postgres'",
    "postgres://paca:hu@sh@db/paca": "an @ or a / too many",
    "postgres://paca:hu/sh@db/paca": "an @ or a / too many",
    "postgres://paca:hush%@db/paca": "cannot be read",
    "postgres://paca:hush@db": "it names no database",
    "postgres://paca:hush@db/": "it names no database",
    "postgres://paca:hush@db:hush/paca": "its port is not a number",
    "postgres://paca:hush@[::1/paca": "cannot be read",
    "postgres://paca:hush@db/paca?hush": "cannot be read",
    "postgres://paca:hush@db/paca?ssl=hush": "there is no parameter ssl",
    "postgres://paca:hush@db/paca?hush-hush=1": "cannot be read",
}


@pytest.mark.parametrize("url", WRONG)
def test_malformed_database_url_is_refused_with_its_fault_and_without_its_password(url: str):
    with pytest.raises(ConfigurationError) as refusal:
        database_urls.parse(url, name="DATABASE_URL")
    said = refusal.value.detail + str(refusal.value.facts)
    assert WRONG[url] in refusal.value.detail
    assert refusal.value.detail.startswith("DATABASE_URL ")
    assert "postgres://user:password@host:5432/database" in said
    if url != "hush":
        assert "hu" not in said.replace("than", "")
