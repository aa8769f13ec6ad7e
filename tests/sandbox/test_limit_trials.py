"""Limits are tried by going beyond them, so what does not hold is found."""

import os

import pytest

from paca.ops import doctor, sandbox_factory, sandbox_limits
from paca.sandbox import limit_trials
from paca.sandbox.base import SandboxLimits, SandboxSpec, new_probe_id
from paca.sandbox.limit_trials import LimitTrials
from tests.sandbox.conftest import only_bubblewrap
from tests.support import runners

pytestmark = [pytest.mark.service, pytest.mark.anyio]


async def test_trials_find_that_all_limits_hold(backend):
    found = await limit_trials.try_limits(backend)
    assert found.broken == ()
    assert backend.list_started() == {}


@only_bubblewrap
async def test_trials_find_limits_that_do_not_hold(backend, monkeypatch):
    generous = SandboxLimits(memory_mib=2048, processes=256, workspace_mib=2048, cpus=64)
    monkeypatch.setattr(limit_trials, "LIMITS", generous)
    found = await limit_trials.try_limits(backend)
    assert set(found.broken) >= {"disk space", "files", "memory", "processes"}
    assert "the runner" not in found.broken


def test_doctor_names_a_limit_that_does_not_hold(monkeypatch):
    trials = LimitTrials(("memory", "files"), disk_by_kernel=False, memory_by_kernel=True)
    monkeypatch.setattr(sandbox_factory, "try_limits", lambda: trials)
    result = doctor._sandbox_limits()
    assert (result.state, result.meaning) == ("todo", "not held here: memory, files")
    assert "docs/deployment.md" in result.next_step


@pytest.mark.parametrize("disk", [True, False])
@pytest.mark.parametrize("memory", [True, False])
def test_doctor_says_how_disk_and_memory_are_limited(disk, memory):
    how = {True: "by the kernel", False: "by counting"}
    text = sandbox_limits.describe(LimitTrials((), disk_by_kernel=disk, memory_by_kernel=memory))
    assert f"files {how[disk]}" in text
    assert f"memory {how[memory]}" in text


@only_bubblewrap
async def test_a_sweep_leaves_a_trial_alone_until_it_is_old(backend):
    spec = SandboxSpec(new_probe_id())
    sandbox = await backend.open(spec, epoch=1)
    try:
        assert (backend.list_started(), backend.list_workspaces()) == ({}, {})
        folder = runners.sandbox_directory(backend, spec.conversation_id).folder
        os.utime(folder, (0, 0))
        assert [*backend.list_started()] == [*backend.list_workspaces()] == [spec.conversation_id]
    finally:
        await sandbox.end(keep_files=False)
