"""Errors of the database: unavailable, or with a full disk, which is remembered for a while."""

import sqlite3

import psycopg
import pytest
from django.db import OperationalError

from paca.common import database_errors, disk_space


@pytest.fixture(autouse=True)
def forget_full_disk(monkeypatch) -> None:
    monkeypatch.setattr(disk_space, "_full_until", 0.0)


def django_error_from(cause: Exception) -> OperationalError:
    error = OperationalError(str(cause))
    error.__cause__ = cause
    return error


def sqlite_disk_full_error() -> Exception:
    with sqlite3.connect(":memory:") as small:
        small.execute("CREATE TABLE t (x)")
        small.execute("PRAGMA max_page_count = 2")
        with pytest.raises(sqlite3.OperationalError) as raised:
            small.execute("INSERT INTO t VALUES (zeroblob(100000))")
    small.close()
    return raised.value


@pytest.mark.parametrize("make", [sqlite_disk_full_error, psycopg.errors.DiskFull])
def test_database_errors_tell_a_full_disk_from_an_unavailable_database(make):
    failure = database_errors.to_paca_error(django_error_from(make()))
    assert (failure.status, failure.code) == (507, "disk_full")
    assert disk_space.database_is_full()


def test_unavailable_database_error_advises_to_look_before_repeating():
    """The connection may have been lost after the commit."""
    failure = database_errors.to_paca_error(
        django_error_from(psycopg.OperationalError("server closed"))
    )
    assert (failure.status, failure.code) == (503, "unavailable")
    assert "may be stored" in failure.detail
    assert not disk_space.database_is_full()


def test_database_counts_as_full_only_for_a_while(monkeypatch):
    monkeypatch.setattr(disk_space, "FULL_SECONDS", 0.0)
    disk_space.report_database_full()
    assert not disk_space.database_is_full()
