"""Doctor starts the network gate, and says what is wrong with it."""

import os
import signal

import pytest

from paca.ops import network_check, sandbox_factory
from paca.sandbox.egress import gates, isolation
from paca.sandbox.egress.gates import Gates
from paca.sandbox.runner import bpf
from tests.sandbox.egress.test_gates import pid_of


@pytest.fixture
def opened(tmp_path, settings, monkeypatch):
    settings.PACA_DATA_DIR = tmp_path
    monkeypatch.setattr(sandbox_factory, "install_id", lambda: "tests")
    made = Gates(tmp_path, "tests")
    yield made
    if (made.root / "lock").exists() and (pid := pid_of(made.root)):
        os.kill(pid, signal.SIGKILL)


def test_doctor_reports_a_gate_that_refuses_and_leaves_none_behind(opened, monkeypatch):
    found = network_check.check_network_gate()
    assert (found.state, opened.list_open()) == ("ok", [])
    monkeypatch.setattr(isolation, "landlock_version", lambda: 0)
    found = network_check.check_network_gate()
    assert (found.state, found.next_step) == ("todo", "use Linux 5.13 or newer")


def test_doctor_reports_a_gate_without_a_filter_of_system_calls(opened, monkeypatch):
    monkeypatch.setattr(bpf, "machine", lambda: None)
    found = network_check.check_network_gate()
    assert found.state == "todo"
    assert "seccomp" in found.next_step


def test_doctor_reports_a_gate_that_does_not_start(opened, monkeypatch):
    monkeypatch.setattr(gates, "BOOT_CODE", "raise SystemExit(1)")
    monkeypatch.setattr(gates, "START_SECONDS", 0.0)
    found = network_check.check_network_gate()
    assert found.state == "broken"
    assert found.next_step == f"look into {opened.root / 'log'}"
