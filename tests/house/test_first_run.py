"""The first start makes everything that is needed, once; each later one finds it."""

import json
import os
import re
import stat
import time
from pathlib import Path

import psutil
import pytest

from tests.house.installation import Installation

LINK = re.compile(r"http://\S+/\S{40,}")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_first_start_makes_what_is_needed_and_says_each_step(paca: Installation):
    running = paca.up()
    for part in (
        "Python",
        "Data",
        "Port",
        "Secrets",
        "Database",
        "Admin",
        "Demo",
        "Sandbox",
        "Model",
    ):
        assert re.search(rf"^[✓!] {part} ", running.output, re.M), running.output
    assert "made: secret_key, encryption_key" in running.output
    assert len(LINK.findall(running.output)) == 1
    assert running.get("/healthz").json() == {"status": "ok"}


def test_what_is_made_is_for_this_account_only(paca: Installation):
    paca.up()
    assert mode(paca.data) == 0o700
    for name in ("secret_key", "encryption_key", "paca.sqlite3", "lock"):
        assert mode(paca.data / name) == 0o600, name


def test_everything_is_ready_soon_after_the_start(paca: Installation):
    running = paca.up()
    deadline = time.monotonic() + 10
    while (answer := running.get("/readyz")).status != 200 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert answer.json() == {
        "status": "ready",
        "parts": dict.fromkeys(("database", "migrations", "worker", "sandbox", "disk"), "ok"),
    }


def test_a_later_start_changes_nothing_and_prints_no_link(paca: Installation):
    first = paca.up()
    assert first.stop() == 0
    before = {name: (paca.data / name).read_bytes() for name in ("secret_key", "encryption_key")}
    second = paca.up()
    assert "Secrets      kept" in second.output
    assert "up to date" in second.output
    assert not LINK.search(second.output)
    assert "Demo" not in second.output
    assert "has no password yet: python manage.py sign_in_link admin" in second.output
    assert before == {name: (paca.data / name).read_bytes() for name in before}


def test_a_later_start_takes_under_five_seconds(paca: Installation):
    paca.up().stop()
    assert min(paca.up().seconds for _ in range(1)) < 5


def test_a_start_needs_no_network(paca: Installation):
    as_root = () if os.geteuid() == 0 else ("--map-root-user",)
    running = paca.up(before=("unshare", *as_root, "--net"), reachable=False)
    assert "Paca runs at" in running.output


def test_after_a_kill_it_starts_again_on_the_same_data(paca: Installation):
    paca.up().kill()
    again = paca.up()
    assert again.get("/healthz").status == 200
    assert "up to date" in again.output


@pytest.mark.parametrize("after", ["Data", "Port", "Secrets", "Database", "Admin"])
def test_a_first_start_that_is_killed_at_any_step_is_carried_on_by_the_next(
    paca: Installation, after: str
):
    paca.up_until(rf"^[✓!] {after} ").kill()
    again = paca.up()
    assert again.get("/healthz").status == 200
    people = paca.run("shell", "-v0", "-c", COUNT).stdout.split()
    assert people == ["1", "1", "1"], again.output


COUNT = """
from paca.accounts.models import User
from paca.projects.models import Project
from paca.agents.models import Agent
print(User.objects.count(), Project.objects.count(), Agent.objects.count())
"""


def test_a_second_start_on_the_same_data_is_refused_plainly(paca: Installation):
    running = paca.up()
    ended = paca.run("up")
    assert ended.returncode == 1
    assert f"another Paca (process {running.process.pid}) already runs" in ended.stderr
    assert "PACA_DATA_DIR=" in ended.stderr
    assert running.get("/healthz").status == 200


def test_it_ends_in_order_on_sigterm(paca: Installation):
    running = paca.up()
    began = time.monotonic()
    assert running.stop() == 0, running.output
    assert time.monotonic() - began < 10
    assert "Traceback" not in running.output


def test_logs_are_json_when_nobody_watches(paca: Installation):
    running = paca.up()
    running.stop()
    entries = [json.loads(line) for line in running.lines if line.startswith("{")]
    assert entries
    assert {"at", "level", "logger", "message"} <= set(entries[0])


def test_idle_it_takes_less_than_150_mb(paca: Installation):
    running = paca.up()
    running.get("/accounts/login/")
    used = psutil.Process(running.process.pid).memory_info().rss / 1e6
    assert used < 150, f"{used:.0f} MB"


def test_the_password_of_the_first_admin_may_be_given(paca: Installation):
    running = paca.up(PACA_ADMIN_PASSWORD="correct-horse-battery")
    assert "with the password of PACA_ADMIN_PASSWORD" in running.output
    assert not LINK.search(running.output)
    assert "correct-horse" not in running.output
    checked = paca.run(
        "shell",
        "-v0",
        "-c",
        "from paca.accounts.models import User;"
        "print(User.objects.get().check_password('correct-horse-battery'))",
    )
    assert checked.stdout.strip() == "True", checked.stderr


def test_a_given_key_is_not_written_to_disk(paca: Installation):
    paca.up(
        SECRET_KEY="given-0123456789-abcdefghijklmnop-given",
        PACA_ADMIN_PASSWORD="a-long-password-1",
    )
    assert not (paca.data / "secret_key").exists()
    assert (paca.data / "encryption_key").exists()
