"""The launcher of bubblewrap as the product prepares it; the other tests share one prepared folder."""

import asyncio
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from paca.sandbox import runner_bundle
from paca.sandbox.base import SandboxSpec
from paca.sandbox.bubblewrap import backend, bwrap_process, host_process, launcher
from paca.sandbox.bubblewrap.backend import Bubblewrap
from paca.sandbox.bubblewrap.host_process import RunnerProcess
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


async def test_probe_of_the_owner_leaves_the_runner_and_etc_to_the_sandboxes_that_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Each start probes, and to prepare them takes half a second."""
    monkeypatch.setattr(backend, "prepare_launcher", launcher.prepare_launcher)
    await Bubblewrap(tmp_path, "tests").probe()
    left = sorted((tmp_path / "run").iterdir())
    assert [path.name.partition("-")[0] for path in left] == ["etc", "runner"]
    await Bubblewrap(tmp_path, "tests").probe()
    assert sorted((tmp_path / "run").iterdir()) == left


async def test_probe_without_a_data_folder_creates_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(backend, "prepare_launcher", launcher.prepare_launcher)
    await Bubblewrap(tmp_path / "data", "tests").probe()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "refusal",
    [
        "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
        "bwrap: No permissions to creating new namespace, likely because the kernel does not allow non-privileged "
        "user namespaces. On e.g. debian this can be enabled with 'sysctl kernel.unprivileged_userns_clone=1'.",
        "bwrap: setting up uid map: Permission denied",
        "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
    ],
    ids=["no namespaces", "Debian", "AppArmor", "AppArmor, network"],
)
def test_start_that_the_kernel_refuses_says_how_to_allow_it(tmp_path: Path, refusal: str):
    (tmp_path / "log").write_text(f"{refusal}\n")
    reason = str(bwrap_process.start_error(tmp_path / "log"))
    for setting in (
        "kernel.unprivileged_userns_clone",
        "user.max_user_namespaces",
        "kernel.apparmor_restrict_unprivileged_userns",
    ):
        assert setting in reason
    assert ".." not in reason


async def test_start_that_is_cancelled_ends_at_once_and_leaves_the_sandbox_to_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An interrupt in the first second of a run cancels the start at any point, also beside a made runner."""
    worker, spec = Bubblewrap(tmp_path, "tests", idle_seconds=30), SandboxSpec(uuid.uuid4())
    launched, may_go_on = threading.Event(), threading.Event()
    made: list[RunnerProcess] = []
    wait_for_runner = bwrap_process.wait_for_runner

    def wait_and_hold(*arguments: Any) -> RunnerProcess:
        made.append(wait_for_runner(*arguments))
        launched.set()
        assert may_go_on.wait(20)
        return made[-1]

    monkeypatch.setattr(bwrap_process, "wait_for_runner", wait_and_hold)
    opening = asyncio.create_task(worker.open(spec, epoch=1))
    assert await asyncio.to_thread(launched.wait, 20)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    may_go_on.set()
    sandbox = await worker.open(spec, epoch=2)
    try:
        assert (await SandboxHandle(sandbox, spec).bash("echo works")).output == "works\n"
        recorded = host_process.read_record(
            tmp_path / "run" / "sandboxes" / str(spec.conversation_id)
        )
        assert [each.pid for each in made] == [recorded.pid]
    finally:
        await sandbox.end(keep_files=False)
