"""What a failing database is said to be: away, or without room, which is remembered for a while."""

import sqlite3

import psycopg
import pytest
from django.db import OperationalError

from paca.common import database_errors, disk_space


@pytest.fixture(autouse=True)
def told_anew(monkeypatch) -> None:
    monkeypatch.setattr(disk_space, "_full_until", 0.0)


def fault_of(cause: Exception) -> OperationalError:
    error = OperationalError(str(cause))
    error.__cause__ = cause
    return error


def fault_of_a_full_sqlite() -> Exception:
    with sqlite3.connect(":memory:") as small:
        small.execute("CREATE TABLE t (x)")
        small.execute("PRAGMA max_page_count = 2")
        with pytest.raises(sqlite3.OperationalError) as raised:
            small.execute("INSERT INTO t VALUES (zeroblob(100000))")
    small.close()
    return raised.value


@pytest.mark.parametrize("make", [fault_of_a_full_sqlite, psycopg.errors.DiskFull])
def test_database_errors_tell_a_full_disk_from_an_unavailable_database(make):
    told = database_errors.to_paca_error(fault_of(make()))
    assert (told.status, told.code) == (507, "disk_full")
    assert disk_space.database_is_full()


def test_unavailable_database_error_advises_to_look_before_repeating():
    """The connection may have been lost behind the commit."""
    told = database_errors.to_paca_error(fault_of(psycopg.OperationalError("server closed")))
    assert (told.status, told.code) == (503, "unavailable")
    assert "may be stored" in told.detail
    assert not disk_space.database_is_full()


def test_database_counts_as_full_only_for_a_while(monkeypatch):
    monkeypatch.setattr(disk_space, "FULL_SECONDS", 0.0)
    disk_space.report_database_full()
    assert not disk_space.database_is_full()
