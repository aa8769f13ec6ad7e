"""`doctor` prints the state of every part, its meaning and one next step."""

import json

import pytest

from tests.installation.manage_process import Installation

pytestmark = pytest.mark.service
STATES = {"ok", "todo", "broken"}


def parts_of(said: str) -> dict[str, dict[str, str]]:
    return json.loads(said)["parts"]


def test_doctor_before_the_first_start_says_what_to_run_and_creates_nothing(
    installation: Installation,
):
    ended = installation.run("doctor")
    assert ended.returncode == 0, ended.stderr
    assert "todo    Data" in ended.stdout
    assert "Next step: make run" in ended.stdout
    assert not installation.data.exists()


def test_doctor_prints_one_json_object_with_every_part(stopped_installation: Installation):
    ended = stopped_installation.run("doctor", "--json")
    assert ended.returncode == 0, ended.stdout
    assert json.loads(ended.stdout)["ok"] is True
    parts = parts_of(ended.stdout)
    assert list(parts) == [
        "python",
        "data",
        "secrets",
        "database",
        "encryption",
        "access",
        "model",
        "workers",
        "queue",
        "storage",
        "bus",
        "sandbox",
        "network",
        "repositories",
        "isolation",
        "server",
        "connections",
        "proxy",
    ]
    for part in parts.values():
        assert part["state"] in STATES
        assert part["meaning"]
        assert part["next_step"] or part["state"] == "ok"
    assert parts["sandbox"]["state"] == "ok"
    assert parts["model"]["state"] == "todo"
    assert parts["workers"]["state"] == parts["server"]["state"] == "todo"
    assert parts["workers"]["next_step"] == parts["server"]["next_step"] == "make run"


def test_doctor_names_a_proxy_whose_headers_are_ignored(stopped_installation: Installation):
    stopped_installation.settings["FORWARDED_ALLOW_IPS"] = "192.0.2.1"
    running = stopped_installation.up()
    forwarded = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}
    assert "Strict-Transport-Security" not in running.get("/accounts/login/", **forwarded).headers
    found = parts_of(stopped_installation.run("doctor", "--json").stdout)
    assert found["proxy"]["state"] == "todo"
    assert found["proxy"]["next_step"] == "set FORWARDED_ALLOW_IPS=127.0.0.1"
    assert "limit of open files: " in found["connections"]["meaning"]


def test_doctor_sees_the_running_server_and_its_worker(running_installation):
    installation, running = running_installation
    parts = parts_of(installation.run("doctor", "--json").stdout)
    assert parts["server"]["state"] == parts["workers"]["state"] == parts["queue"]["state"] == "ok"
    assert f"process {running.process.pid}" in parts["server"]["meaning"]
    assert parts["workers"]["meaning"] == "1 running, capacity for 10 more conversations"
    assert parts["queue"]["meaning"] == "no conversation waits for a worker"


def test_doctor_names_a_broken_part_and_exits_with_1(stopped_installation: Installation):
    (stopped_installation.data / "paca.sqlite3").write_bytes(b"garbage " * 1000)
    ended = stopped_installation.run("doctor")
    assert ended.returncode == 1
    assert "broken  Database" in ended.stdout
    assert "Next step: restore it from a backup" in ended.stdout
    assert "Traceback" not in ended.stdout + ended.stderr
    assert json.loads(stopped_installation.run("doctor", "--json").stdout)["ok"] is False


def test_doctor_accepts_that_sandboxes_are_switched_off(stopped_installation: Installation):
    ended = stopped_installation.run("doctor", "--json", PACA_SANDBOX="none")
    assert ended.returncode == 0
    assert parts_of(ended.stdout)["sandbox"]["state"] == "todo"


def test_doctor_advises_to_close_a_data_folder_that_others_can_read(
    stopped_installation: Installation,
):
    stopped_installation.data.chmod(0o755)
    data = parts_of(stopped_installation.run("doctor", "--json").stdout)["data"]
    assert (data["state"], data["next_step"]) == ("todo", f"chmod 700 {stopped_installation.data}")
