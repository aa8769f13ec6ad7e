"""Checkpoints of SQLite are the worker's work: no commit of a page or a run waits for one."""

import subprocess
import sys

import pytest
from django.db import connection

from paca.common import sqlite_checkpoint
from paca.common.database_urls import SQLITE_AUTOMATIC_CHECKPOINT_PAGES
from paca.worker import checkpoints
from paca.worker.database import Database
from tests.support.flow import Flow, wait_until
from tests.support.model_script import says
from tests.support.world import make_world

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sqlite]

# In a process of its own: another descriptor of the file would end this process's locks on it.
READ_WITHOUT_LOG = (
    "import sqlite3, sys; c = sqlite3.connect(f'file:{sys.argv[1]}?immutable=1', uri=True);"
    "print(c.execute('SELECT count(*) FROM projects_project WHERE name = ?', sys.argv[2:]).fetchone()[0])"
)


@pytest.fixture
def copied():
    """Tells whether the database file, without its log, has a project of this name."""
    file = str(connection.settings_dict["NAME"])

    def ask(name: str) -> bool:
        command = [sys.executable, "-c", READ_WITHOUT_LOG, file, name]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout == "1\n"

    return ask


def test_checkpoint_copies_the_log_into_the_database_file(copied):
    sqlite_checkpoint.checkpoint()
    make_world("Copied")
    assert not copied("Copied")
    assert sqlite_checkpoint.checkpoint()
    assert copied("Copied")


def test_checkpoint_does_nothing_on_another_database(monkeypatch):
    monkeypatch.setattr(connection, "vendor", "postgresql")
    with connection.execute_wrapper(_refuse):
        assert sqlite_checkpoint.checkpoint()


def test_commit_copies_the_log_only_if_it_is_much_longer_than_a_second_of_work(copied):
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_autocheckpoint")
        assert cursor.fetchone() == (SQLITE_AUTOMATIC_CHECKPOINT_PAGES,)


@pytest.mark.anyio
async def test_worker_makes_a_checkpoint_after_work_and_none_while_it_is_idle(monkeypatch):
    made = []
    monkeypatch.setattr(checkpoints, "PERIOD_SECONDS", 0)
    monkeypatch.setattr(sqlite_checkpoint, "checkpoint", lambda: made.append(1))
    worked = iter([True, False, True, False])
    database = Database()
    try:
        with pytest.raises(RuntimeError, match="StopIteration"):
            await checkpoints.checkpoint_repeatedly(database, lambda: next(worked))
    finally:
        database.close()
    assert len(made) == 2


@pytest.mark.service
def test_worker_copies_the_log_of_its_conversations(copied, tmp_path):
    with Flow(tmp_path) as flow:
        flow.ask("Hello", [says("Hello.")])
        wait_until(lambda: copied(flow.world.project.name), 30)


def _refuse(execute, sql, *_):
    raise AssertionError(f"{sql} was asked of another database")
