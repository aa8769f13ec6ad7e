"""Copies of files whose worker loses its claim or is cancelled: they touch nothing of the worker that has taken over."""

import asyncio
import json
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest

from paca.engine.workspace import Superseded
from paca.sandbox.base import FilesOrigin, SandboxSpec
from paca.sandbox.bubblewrap import workspace_copy
from paca.sandbox.bubblewrap.backend import Bubblewrap
from paca.sandbox.docker.volume_copy import VolumeCopier
from paca.sandbox.file_copy import CopyFailed
from tests.support import runners

pytestmark = [pytest.mark.anyio]
FAILED = {"files": 0, "bytes": 0, "skipped": 0, "changed": 0, "error": "too_large", "detail": ""}


class FakeDocker:
    """A daemon with the volume of the origin, as ``VolumeCopier`` sees it. ``exists``: whether its container does."""

    install_id = "tests"

    def __init__(self, *, exists: bool = True) -> None:
        self.exists = exists
        self.removed: list[str] = []

    async def call(self, ask: Any, *, seconds: float = 0) -> Any:
        return ask(self)

    def create_container_from_config(self, _body: Any, name: str) -> dict[str, str]:
        self.removed.clear()  # what an earlier copy has left
        return {"Id": "made"}

    def inspect_volume(self, _name: str) -> dict[str, Any]:
        return {"Labels": None}

    def start(self, _name: str) -> None:
        pass

    def logs(self, _name: str, *, stderr: bool) -> bytes:
        return json.dumps(FAILED).encode()

    async def image_id(self) -> str:
        return "image"

    def candidate_volumes(self, _conversation_id: Any, volume: str) -> list[str]:
        return [volume]

    async def has_volume(self, _name: str) -> bool:
        return True

    async def find_container(self, _conversation_id: Any) -> None:
        return None

    async def inspect(self, _name: str) -> dict[str, Any] | None:
        return {"State": {"Status": "exited"}} if self.exists else None

    async def remove_container(self, name: str) -> None:
        self.removed.append(name)

    async def remove_volume(self, name: str) -> None:
        self.removed.append("volume")


@pytest.mark.parametrize(("claims", "removed"), [(1, ["made"]), (2, ["made", "volume"])])
async def test_copy_of_a_superseded_worker_leaves_the_volume_to_the_next_one(claims, removed):
    """Another worker has removed the container, and its own copy is in the volume of the same name."""
    docker, left = FakeDocker(exists=claims > 1), [True] * claims

    async def may_replace() -> bool:
        return bool(left and left.pop())

    copier = VolumeCopier(docker, docker, docker)
    with pytest.raises(CopyFailed):
        await copier.copy(
            SandboxSpec(uuid4()), FilesOrigin(uuid4(), "origin"), may_replace=may_replace
        )
    assert docker.removed == removed


async def test_superseded_worker_that_waited_for_the_lock_leaves_the_copy_of_the_next_one(tmp_path):
    backend, origin, target = Bubblewrap(tmp_path, "tests"), uuid4(), uuid4()
    runners.sandbox_directory(backend, origin).create()
    directory = runners.sandbox_directory(backend, target)
    directory.create()
    (directory.workspace / "copied").write_text("x")

    async def lost() -> bool:
        return False

    with pytest.raises(Superseded):
        await backend.copy_files(
            SandboxSpec(target), FilesOrigin(origin), epoch=1, may_replace=lost
        )
    assert (directory.workspace / "copied").exists()


async def test_cancelled_copy_does_not_keep_the_origin_mounted(tmp_path, monkeypatch):
    backend, origin = Bubblewrap(tmp_path, "tests"), uuid4()
    directory = runners.sandbox_directory(backend, origin)
    directory.create()
    directory.image.touch()
    begun, may_end, opened = threading.Event(), threading.Event(), []

    def mount(image: Path) -> int:
        begun.set()
        may_end.wait(60)
        opened.append(os.open(image, os.O_RDONLY))
        return opened[0]

    monkeypatch.setattr(workspace_copy, "_mount", mount)

    async def open_files() -> None:
        async with workspace_copy._open_files(directory):
            pass

    opening = asyncio.create_task(open_files())
    await asyncio.to_thread(begun.wait, 60)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    may_end.set()
    while not opened or _is_open(opened[0]):  # noqa: ASYNC110 - a thread ends it
        await asyncio.sleep(0.001)


def _is_open(descriptor: int) -> bool:
    return os.path.lexists(f"/proc/self/fd/{descriptor}")


async def test_failed_copy_is_removed_beside_the_event_loop(tmp_path, monkeypatch):
    removed_by: list[threading.Thread] = []
    monkeypatch.setattr(
        workspace_copy.file_tree,
        "remove_tree",
        lambda _tree: removed_by.append(threading.current_thread()),
    )
    target = SimpleNamespace(workspace=tmp_path / "workspace")
    async with workspace_copy._unfinished_folder(target):
        pass
    assert removed_by
    assert threading.main_thread() not in removed_by


async def test_unfinished_copy_that_belongs_to_a_user_of_a_sandbox_is_swept(tmp_path, monkeypatch):
    unfinished = tmp_path / "workspaces" / "making-0123"
    unfinished.mkdir(parents=True)
    os.utime(unfinished, (0, 0))
    monkeypatch.setattr(os, "geteuid", lambda: unfinished.stat().st_uid + 1)
    assert Bubblewrap(tmp_path, "tests").remove_leftovers() >= 1
    assert not unfinished.exists()
