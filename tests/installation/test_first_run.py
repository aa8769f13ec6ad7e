"""The first start creates everything that is needed; each later start finds it."""

import http.client
import json
import os
import re
import shutil
import sqlite3
import stat
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil
import pytest

from tests.installation.manage_process import Installation, Running
from tests.support.flow import wait_until
from tests.support.promises import DRAIN_SECONDS, kept

pytestmark = pytest.mark.service
LINK = re.compile(r"http://\S+(/link/\S{40,})")
PARTS = ("Python", "Data", "Port", "Secrets", "Database", "Admin", "Demo", "Sandbox", "Model")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def counted(data: Path) -> dict[str, int]:
    with closing(sqlite3.connect(data / "paca.sqlite3")) as database:
        return {
            table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in CREATED
        }


def migrations_of(data: Path) -> int:
    """The number of migrations that the database has recorded."""
    if not (data / "paca.sqlite3").exists():
        return 0
    with closing(sqlite3.connect(data / "paca.sqlite3")) as database, suppress(sqlite3.Error):
        return database.execute("SELECT count(*) FROM django_migrations").fetchone()[0]
    return 0  # the table does not exist yet, or is being made


CREATED = {
    "accounts_user": 1,
    "projects_project": 1,
    "agents_agent": 1,
    "projects_member": 2,
    "projects_task": 3,
    "conversations_conversation": 0,  # no agent works before a person wants it
}


# --- the first start ------------------------------------------------------------------------------


def test_first_start_prints_a_line_for_each_step(first_start: tuple[Installation, Running]):
    _, running = first_start
    said = [line.split()[1] for line in running.lines if re.match("[✓!] ", line)]
    assert said == list(PARTS), running.output
    assert "created: secret_key, encryption_key" in running.output
    assert len(LINK.findall(running.output)) == 1


def test_first_start_creates_files_that_only_this_account_can_read(
    first_start: tuple[Installation, Running],
):
    installation, _ = first_start
    assert mode(installation.data) == 0o700
    for name in ("secret_key", "encryption_key", "paca.sqlite3", "lock"):
        assert mode(installation.data / name) == 0o600, name


def test_first_start_creates_one_admin_one_project_one_agent_and_three_tasks(
    first_start: tuple[Installation, Running],
):
    assert counted(first_start[0].data) == CREATED


def test_readyz_reports_every_part_ready_after_the_first_start(
    first_start: tuple[Installation, Running],
):
    _, running = first_start
    wait_until(lambda: running.get("/readyz").status == 200)
    answer = running.get("/readyz")
    parts = ("database", "migrations", "workers", "queue", "sandbox", "bus", "disk")
    assert answer.json() == {
        "status": "ready",
        "parts": dict.fromkeys(parts, "ok"),
        "workers": {"working": 1, "draining": 0, "room": 10},
        "queue": {"waiting": 0, "oldest_seconds": 0.0},
    }


def test_idle_process_takes_less_than_150_mb(first_start: tuple[Installation, Running]):
    _, running = first_start
    assert running.get("/accounts/login/").status == 200
    resident = psutil.Process(running.process.pid).memory_info().rss / 1e6
    assert resident < 150, f"{resident:.0f} MB"


def test_every_line_is_json_without_a_terminal_and_names_its_request(
    stopped_installation: Installation,
):
    running = stopped_installation.up(LOG_FORMAT="auto", LOG_LEVEL="DEBUG")
    answer = running.get("/no-such%1Bpage/")
    assert answer.status == 404
    refused = stopped_installation.run("up", LOG_FORMAT="auto")
    assert "already uses the data folder" in json.loads(refused.stderr)["message"]
    assert running.get("/readyz").status in {200, 503}

    def written() -> list[dict[str, Any]]:
        return [each for each in entries() if "no-such" in each["message"]]

    def entries() -> list[dict[str, Any]]:
        return [json.loads(line) for line in list(running.lines)]

    entry, *_ = wait_until(written)
    assert entry["request_id"] == answer.headers["X-Request-ID"]
    assert {"at", "level", "logger", "message"} <= set(entry)
    assert any("Paca runs at http" in each["message"] for each in entries())
    assert not any("readyz" in str(each) for each in entries())


def test_start_is_refused_while_another_process_uses_the_data(
    first_start: tuple[Installation, Running],
):
    installation, running = first_start
    ended = installation.run("up")
    assert ended.returncode == 1
    assert f"another Paca (process {running.process.pid}) already uses" in ended.stderr
    assert "PACA_DATA_DIR=" in ended.stderr
    assert running.get("/healthz").status == 200


def test_sign_in_link_works_once(migrated_installation: Installation):
    running = migrated_installation.up()
    (path,) = LINK.findall(running.output)
    # A GET request, as a mail program might send, does not use the link up.
    assert running.get(path).status == running.get(path).status == 200
    assert press(running, path).status == 302
    assert running.get(path).status == 404
    assert press(running, path).status == 404


def press(running: Running, path: str) -> http.client.HTTPResponse:
    """Press the page's button, with a cookie and a token as a browser would."""
    token = "a" * 32
    name = running.get(path).headers["Set-Cookie"].partition("=")[0]
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)
    connection.request(
        "POST",
        path,
        body=urlencode({"csrfmiddlewaretoken": token}),
        headers={
            "Cookie": f"{name}={token}",
            "Content-Type": "application/x-www-form-urlencoded",
        },
    )
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


def test_first_admin_gets_the_password_of_the_environment(migrated_installation: Installation):
    installation = migrated_installation
    running = installation.up_until("^. Demo ", PACA_ADMIN_PASSWORD="correct-horse-battery")
    running.kill()
    assert "with the password of PACA_ADMIN_PASSWORD" in running.output
    assert not LINK.search(running.output)
    assert "correct-horse" not in running.output
    checked = installation.run("shell", "-v0", "-c", CHECK_PASSWORD)
    assert checked.stdout.strip() == "True", checked.stderr


CHECK_PASSWORD = """
from paca.accounts.models import User
print(User.objects.get(username="admin").check_password("correct-horse-battery"))
"""


def test_secret_key_of_the_environment_is_not_written_to_disk(installation: Installation):
    installation.up_until(
        "^. Secrets ", SECRET_KEY="given-0123456789-abcdefghijklmnop-given"
    ).kill()
    assert not (installation.data / "secret_key").exists()
    assert (installation.data / "encryption_key").exists()


@pytest.mark.parametrize(
    ("start", "step"),
    [
        ("installation", "Secrets"),
        ("migrated_installation", "Database"),
        ("migrated_installation", "Admin"),
    ],
    ids=["Secrets", "Database", "Admin"],
)
def test_first_start_is_completed_after_a_kill(
    request: pytest.FixtureRequest, start: str, step: str
):
    installation: Installation = request.getfixturevalue(start)
    installation.up_until(rf"^. {step} ").kill()
    again = installation.up()
    assert again.get("/healthz").status == 200
    assert counted(installation.data) == CREATED


def test_first_start_is_completed_after_a_kill_during_the_migrations(
    installation: Installation,
):
    started = installation.up_until("^. Secrets ")
    wait_until(lambda: migrations_of(installation.data) >= 3)
    started.kill()
    installation.up()
    assert counted(installation.data) == CREATED


# --- later starts ---------------------------------------------------------------------------------


def test_later_start_changes_nothing_and_prints_no_link(stopped_installation: Installation):
    keys = {
        name: (stopped_installation.data / name).read_bytes()
        for name in ("secret_key", "encryption_key")
    }
    running = stopped_installation.up()
    assert "Secrets      found" in running.output
    assert "up to date" in running.output
    assert "Demo" not in running.output
    assert not LINK.search(running.output)
    assert "manage.py sign_in_link admin" in running.output
    assert keys == {name: (stopped_installation.data / name).read_bytes() for name in keys}
    assert counted(stopped_installation.data) == CREATED


def test_start_needs_no_network(stopped_installation: Installation):
    as_root = () if os.geteuid() == 0 else ("--map-root-user",)
    running = stopped_installation.up(before=("unshare", *as_root, "--net"), reachable=False)
    assert "Paca runs at" in running.output


def test_start_after_a_kill_uses_the_same_data(stopped_installation: Installation):
    stopped_installation.up().kill()
    again = stopped_installation.up()
    assert again.get("/healthz").status == 200
    assert again.stop() == 0


def test_server_ends_in_order_on_sigterm(stopped_installation: Installation):
    running = stopped_installation.up()
    with kept(DRAIN_SECONDS):
        assert running.stop() == 0, running.output
    assert "Traceback" not in running.output
    with closing(sqlite3.connect(stopped_installation.data / "paca.sqlite3")) as database:
        assert database.execute("SELECT count(*) FROM conversations_worker").fetchone() == (0,)


def test_database_file_of_a_stopped_server_is_whole_although_another_program_has_it_open(
    stopped_installation: Installation, tmp_path: Path
):
    installation = stopped_installation
    running = installation.up()
    with closing(sqlite3.connect(installation.data / "paca.sqlite3")) as reader:
        assert reader.execute("SELECT count(*) FROM projects_task").fetchone() == (3,)
        assert running.stop() == 0, running.output
        shutil.copy(installation.data / "paca.sqlite3", tmp_path)  # without the write-ahead log
    assert counted(tmp_path) == CREATED


def test_readyz_names_the_part_that_is_not_ready(stopped_installation: Installation):
    running = stopped_installation.up(PACA_SANDBOX="bubblewrap")
    with closing(sqlite3.connect(stopped_installation.data / "paca.sqlite3")) as database:
        database.execute("DELETE FROM django_migrations WHERE app = 'conversations'")
        database.commit()
    answer = running.get("/readyz")
    assert answer.status == 503
    assert answer.json()["parts"]["migrations"].endswith("not applied")
    assert running.get("/healthz").status == 200


def test_django_commands_on_a_fresh_folder_say_what_to_use(installation: Installation):
    migrated = installation.run("migrate")
    assert (migrated.returncode, "Traceback" in migrated.stderr) == (1, False)
    assert "Next step: run `manage.py up --prepare-only`" in migrated.stderr
    created = installation.run("createsuperuser", "--noinput", "--username", "ada")
    assert (created.returncode, "Traceback" in created.stderr) == (1, False)
    assert "Run `manage.py up` once" in created.stderr
    assert not installation.data.exists()


def test_django_commands_before_the_first_start_leave_room_for_the_demo(
    migrated_installation: Installation,
):
    installation = migrated_installation
    installation.settings |= {
        "SECRET_KEY": "first-run-0123456789abcdefghijklmnopqrstuvwxyz-0123456789",
        "ENCRYPTION_KEY": "iF5gV2d3cXh1eWJtdmF3cXJ0c2x6a2puZ2h1aW9wYXM=",
    }
    assert installation.run("migrate").returncode == 0
    created = installation.run("createsuperuser", "--noinput", "--username", "ada")
    assert created.returncode == 0, created.stderr
    prepared = installation.run("up", "--prepare-only")
    assert "Demo         project Demo with three tasks and the agent @guide" in prepared.stdout, (
        prepared.stderr
    )
    assert "sign in as admin" not in prepared.stdout
    assert "Demo" not in installation.run("up", "--prepare-only").stdout
    checked = installation.run("runserver", "--noreload", "nowhere:1")
    assert "`manage.py up` starts everything" in checked.stdout + checked.stderr
