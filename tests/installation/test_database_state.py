"""A start refuses a database of another version or key, and does not change it."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from tests.installation.manage_process import Installation
from tests.installation.test_refusals import GOOD_KEY, assert_refused

pytestmark = pytest.mark.service

STORE_A_KEY = """
from paca.agents import services
from paca.agents.models import Agent
services.configure(Agent.objects.get(), by=None, model="anthropic/claude-x", llm_api_key="k-0123456789abcdef")
"""


def test_start_refuses_a_database_of_a_newer_version(stopped_installation: Installation):
    with closing(sqlite3.connect(stopped_installation.data / "paca.sqlite3")) as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('agents', '0999_later', '2030-01-01')"
        )
        database.commit()
    assert_refused(
        stopped_installation.run("up"), "agents.0999_later is unknown here", "update the code"
    )


def test_start_refuses_a_damaged_database(stopped_installation: Installation):
    file = stopped_installation.data / "paca.sqlite3"
    whole = file.read_bytes()
    file.write_bytes(whole[:100] + b"\xff" * 8000 + whole[8100:])
    damaged = file.read_bytes()
    assert_refused(
        stopped_installation.run("up"), "cannot be used: database disk image is malformed", "backup"
    )
    assert file.read_bytes() == damaged


@pytest.mark.parametrize("how", ["the variable", "the file", "no file"])
def test_start_refuses_a_wrong_encryption_key_and_accepts_the_right_one_again(
    stopped_installation: Installation, how: str
):
    stored = stopped_installation.run("shell", "-v0", "-c", STORE_A_KEY)
    assert stored.returncode == 0, stored.stderr
    kept = stopped_installation.data / "encryption_key"
    shutil.copy2(kept, stopped_installation.data / "saved")
    given = {"ENCRYPTION_KEY": GOOD_KEY} if how == "the variable" else {}
    if how == "the file":
        kept.write_text(GOOD_KEY)
    if how == "no file":
        kept.unlink()
    assert_refused(
        stopped_installation.run("up", **given),
        "ENCRYPTION_KEY cannot decrypt",
        "restore the previous key",
    )
    assert kept.exists() is (how != "no file"), "a new key was kept"
    shutil.copy2(stopped_installation.data / "saved", kept)
    assert (
        stopped_installation.run("doctor").stdout.count("every stored secret can be decrypted") == 1
    )


def test_encryption_key_setting_accepts_the_former_key_as_second(
    stopped_installation: Installation,
):
    assert stopped_installation.run("shell", "-v0", "-c", STORE_A_KEY).returncode == 0
    both = f"{GOOD_KEY},{(stopped_installation.data / 'encryption_key').read_text().strip()}"
    assert (
        "every stored secret can be decrypted"
        in stopped_installation.run("doctor", ENCRYPTION_KEY=both).stdout
    )
