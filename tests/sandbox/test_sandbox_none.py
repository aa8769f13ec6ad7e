"""Without a sandbox commands are refused with the reason; they never run on the host."""

from pathlib import Path
from uuid import uuid4

import pytest

from paca.engine.workspace import SandboxUnavailable
from paca.sandbox.base import SandboxSpec
from paca.sandbox.manager import DockerAddress, SandboxManager

pytestmark = pytest.mark.anyio


async def test_a_manager_set_to_none_refuses_commands_and_says_how_to_enable_them(tmp_path: Path):
    manager = SandboxManager(kind="none", data_dir=tmp_path, install_id="tests")
    assert "PACA_SANDBOX=auto" in (await manager.unavailable_reason() or "")
    with pytest.raises(SandboxUnavailable, match="PACA_SANDBOX=auto"):
        await manager.open(SandboxSpec(uuid4()), epoch=1)
    assert not list(tmp_path.iterdir())


async def test_a_manager_without_a_working_backend_refuses_commands(tmp_path: Path):
    (tmp_path / "file").write_text("no folder")
    nowhere = DockerAddress(host="unix:///nowhere/docker.sock")
    manager = SandboxManager(
        kind="auto", data_dir=tmp_path / "file", install_id="tests", docker=nowhere
    )
    with pytest.raises(SandboxUnavailable):
        await manager.open(SandboxSpec(uuid4()), epoch=1)
