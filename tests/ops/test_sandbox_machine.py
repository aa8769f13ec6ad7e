"""What doctor says of the isolation of this machine and of Docker."""

import pytest

from paca.ops import doctor, sandbox_machine

ROOTED = {
    "SecurityOptions": ["name=seccomp,profile=default"],
    "CgroupVersion": "1",
    "Runtimes": {"runc": {}, "io.containerd.runc.v2": {}},
}
ROOTLESS = {
    "SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless", "name=cgroupns"],
    "CgroupVersion": "2",
    "Runtimes": {"runc": {}, "runsc": {}},
}


def test_docker_is_described_by_its_owner_its_control_groups_and_its_runtimes() -> None:
    facts, missing = sandbox_machine.read_docker(ROOTED)
    assert facts == ["Docker as root, control groups of version 1, runtimes runc"]
    assert missing == []
    facts, missing = sandbox_machine.read_docker(ROOTLESS)
    assert facts == ["Docker without root, control groups of version 2, runtimes runc, runsc"]
    assert missing == []


def test_what_is_missing_is_told_with_the_next_step(settings) -> None:
    settings.SANDBOX_RUNTIME = "runsc"
    assert "unset SANDBOX_RUNTIME" in sandbox_machine.read_docker(ROOTED)[1][0]
    assert sandbox_machine.read_docker(ROOTLESS)[1] == []
    first = {**ROOTLESS, "CgroupVersion": "1"}
    assert "needs control groups of version 2" in sandbox_machine.read_docker(first)[1][0]
    assert "no seccomp" in sandbox_machine.read_docker({**ROOTLESS, "SecurityOptions": []})[1][0]


def test_check_says_what_is_there(settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PACA_SANDBOX = "bubblewrap"
    monkeypatch.setattr(sandbox_machine.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sandbox_machine, "_read", lambda path: "0")
    found = doctor._isolation()
    assert found.state == "todo"
    assert "user.max_user_namespaces" in found.next_step
    monkeypatch.setattr(sandbox_machine, "_read", lambda path: "")
    assert doctor._isolation().state == "ok"
