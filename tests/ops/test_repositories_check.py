"""Doctor looks for git, starts the broker of repositories, and says what is wrong with them."""

import os
import signal
import subprocess
from types import SimpleNamespace

import pytest

from paca.ops import repositories_check, sandbox_factory
from paca.repositories.broker import running
from paca.sandbox.egress.gates import Gates
from paca.sandbox.egress.repositories import broker_folder
from tests.sandbox.egress.test_gates import pid_of


@pytest.fixture
def root(tmp_path, settings, monkeypatch):
    settings.PACA_DATA_DIR, settings.GIT_MIRRORS_MIB = tmp_path, 100
    monkeypatch.setattr(sandbox_factory, "install_id", lambda: "tests")
    found = broker_folder(Gates(tmp_path, "tests").root)
    yield found
    if (found / "lock").exists() and (pid := pid_of(found)):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.service
def test_doctor_reports_git_the_broker_and_the_mirrors(root, tmp_path, settings):
    (tmp_path / "mirrors" / "a.git").mkdir(parents=True)
    (tmp_path / "mirrors" / "a.git" / "pack").write_bytes(bytes(3 << 20))
    found = repositories_check.check_repositories()
    assert found.state == "ok"
    assert found.meaning.endswith("the broker answers, mirrors take 3 of 100 MiB")
    settings.GIT_MIRRORS_MIB = 0
    assert "no mirrors are kept" in repositories_check.check_repositories().meaning


@pytest.mark.parametrize(("said", "words"), [("git version 2.36.1", "too old"), ("?", "not there")])
def test_doctor_asks_for_a_git_that_is_new_enough(root, monkeypatch, said, words):
    answer = SimpleNamespace(stdout=said)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: answer)
    found = repositories_check.check_repositories()
    assert (found.state, found.next_step) == ("todo", "install git 2.37 or newer")
    assert words in found.meaning


def test_doctor_reports_a_broker_that_does_not_start(root, monkeypatch):
    monkeypatch.setattr(running, "BOOT_CODE", "raise SystemExit(1)")
    monkeypatch.setattr(running, "START_SECONDS", 0.0)
    found = repositories_check.check_repositories()
    assert (found.state, found.next_step) == ("broken", f"look into {root / 'log'}")
