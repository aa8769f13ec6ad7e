"""The launcher of bubblewrap as the product prepares it; the other tests share one prepared folder."""

import asyncio
import uuid
from pathlib import Path

import pytest

from paca.sandbox import runner_bundle
from paca.sandbox.base import SandboxSpec
from paca.sandbox.bubblewrap import backend, launcher
from paca.sandbox.bubblewrap.backend import Bubblewrap
from tests.sandbox.conftest import SandboxHandle

pytestmark = [pytest.mark.anyio, pytest.mark.service]


async def test_launchers_of_two_workers_prepare_one_data_folder_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(backend, "prepare_launcher", launcher.prepare_launcher)
    workers = [Bubblewrap(tmp_path, "tests", idle_seconds=30) for _ in range(2)]
    specs = [SandboxSpec(uuid.uuid4()) for _ in workers]
    sandboxes = await asyncio.gather(
        *(worker.open(spec, epoch=1) for worker, spec in zip(workers, specs, strict=True))
    )
    try:
        for sandbox, spec in zip(sandboxes, specs, strict=True):
            assert (await SandboxHandle(sandbox, spec).bash("echo works")).output == "works\n"
    finally:
        for sandbox in sandboxes:
            await sandbox.end(keep_files=False)
    prepared = sorted(path.name.partition("-")[0] for path in (tmp_path / "run").iterdir())
    assert [name for name in prepared if name in {"etc", "runner"}] == ["etc", "runner"]
    assert not list((tmp_path / "run").glob(f"{runner_bundle.UNFINISHED_PREFIX}*"))
