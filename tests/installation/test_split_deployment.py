"""Starts of separate web servers and workers: wrong settings are refused, a missing database is waited for."""

import os
import re
import signal
import subprocess
import sys
from uuid import uuid4

import pytest

from tests.installation.manage_process import Installation
from tests.installation.test_refusals import GOOD_KEY, assert_refused
from tests.support.flow import wait_until
from tests.support.postgres_server import PostgresServer
from tests.support.split_deployment import SECRETS, end

pytestmark = pytest.mark.service
REDIS = "redis://127.0.0.1:1/0"
NOBODY_THERE = "postgres://paca:hush@127.0.0.1:1/paca"
COMMANDS = [("run_worker",), ("up", "--no-worker")]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("given", "cause", "next_step"),
    [
        ({}, "need PostgreSQL, and the database is the file", "DATABASE_URL=postgres://"),
        ({"DATABASE_URL": NOBODY_THERE}, "REDIS_URL is not set", "manage.py up"),
        (
            {"DATABASE_URL": NOBODY_THERE, "REDIS_URL": REDIS},
            "the same SECRET_KEY and ENCRYPTION_KEY, and none is given here",
            "openssl rand",
        ),
        (
            {"DATABASE_URL": NOBODY_THERE, "REDIS_URL": REDIS, "SECRET_KEY": SECRETS["SECRET_KEY"]},
            "the same ENCRYPTION_KEY, and none is given here",
            "openssl rand",
        ),
    ],
    ids=["a file", "no Redis", "no secrets", "one secret"],
)
def test_split_deployment_refuses_settings_that_only_one_process_can_use(
    installation: Installation, command, given, cause, next_step
):
    assert_refused(installation.run(*command, **given), cause, next_step)
    assert not installation.data.exists()


@pytest.mark.parametrize("number", ["0", "-1", "many", "1.5"])
def test_run_worker_refuses_a_concurrency_below_1(installation: Installation, number: str):
    ended = installation.run("run_worker", "--concurrency", number)
    assert ended.returncode == 2
    assert "is not a whole number of at least 1" in ended.stderr or number == "-1"


def test_run_worker_waits_for_its_database_and_ends_on_sigterm(
    installation: Installation,
):
    waiting = installation.up_until(
        "waiting:", "run_worker", DATABASE_URL=NOBODY_THERE, REDIS_URL=REDIS, **SECRETS
    )
    assert "cannot be reached" in waiting.output
    assert "hush" not in waiting.output
    assert end(waiting) == 0
    assert waiting.output.count("waiting:") == 1


@pytest.fixture
def database(postgres: PostgresServer) -> str:
    name = f"house_{uuid4().hex[:12]}"
    postgres.execute(f"CREATE DATABASE {name}", database="postgres")
    return postgres.url_of(name)


def test_run_worker_waits_for_the_migrations_and_refuses_other_secrets(
    installation: Installation, database: str
):
    given = {"DATABASE_URL": database, "REDIS_URL": REDIS}
    web = {**given, **SECRETS, "PACA_ADMIN_PASSWORD": "a long password 7"}
    command = ("run_worker", "--concurrency", "3")
    waiting = installation.up_until("waiting for a web process", *command, **given, **SECRETS)
    running = installation.up("--no-worker", **web)
    wait_until(lambda: re.search(r"Worker\s+takes up to 3 conversations", waiting.output), 60)
    assert running.get("/readyz").json()["workers"] == {"working": 1, "draining": 0, "room": 3}
    # The web server has a higher priority than workers, so that pages stay fast when all cores are busy.
    worker, pages = (
        os.getpriority(os.PRIO_PROCESS, each.process.pid) for each in (waiting, running)
    )
    assert worker > pages
    assert end(waiting) == 0

    key = GOOD_KEY.replace("i", "j", 1)
    ended = installation.run("run_worker", **(given | SECRETS | {"ENCRYPTION_KEY": key}))
    assert_refused(ended, "ENCRYPTION_KEY differs", "give every process the same")


HARD_TO_END = """
import os, sys, time
from paca.ops.management.commands.run_worker import ShutdownSignal
shutdown = ShutdownSignal()
print("begun", flush=True)
assert shutdown.wait(30)
print("asked", flush=True)
time.sleep(60)
"""


def test_run_worker_ends_at_once_on_a_second_sigterm(installation: Installation):
    process = subprocess.Popen(
        [sys.executable, "-c", f"import django; django.setup()\n{HARD_TO_END}"],
        env=installation.environment(DJANGO_SETTINGS_MODULE="paca.settings", **SECRETS),
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "asked\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 128 + signal.SIGTERM
