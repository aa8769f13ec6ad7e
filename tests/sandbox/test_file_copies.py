"""The files of a sandbox are copied for another one, on each backend: what is kept, left out and refused."""

import asyncio
import os
import uuid
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from paca.engine.workspace import SandboxUnreachable, Superseded
from paca.sandbox import file_copy, tree_copy
from paca.sandbox.base import CopiedFiles, FilesOrigin, SandboxLimits, SandboxSpec
from paca.sandbox.bubblewrap import host_process, workspace_copy
from paca.sandbox.docker import volume_copy
from paca.sandbox.file_copy import CopyFailed
from tests.sandbox.conftest import SandboxHandle, only_bubblewrap, only_docker
from tests.support import docker_backend, runners

pytestmark = [pytest.mark.anyio]
MADE = """
mkdir -p a/b && echo deep > a/b/deep.txt && chmod 750 a/b && echo '#!/bin/sh' > run && chmod 755 run
ln -s /etc/passwd passwd && ln -s a/b/deep.txt link && ln run run-too && mkfifo pipe
truncate -s 1M sparse && echo x >> sparse && echo secret > closed && chmod 000 closed
touch -d 2001-02-03T04:05:06Z old && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
"""
SHOWN = "stat -c '%n %A %s %h %U' a a/b run run-too passwd link pipe sparse old; stat -c %Y old; cat a/b/deep.txt"
# As another user than root these cannot be read by the worker either.
HIDDEN = "chmod 600 closed && cat closed"


async def copied(
    backend, origin: uuid.UUID, target: uuid.UUID, *, epoch: int = 1, **limits: float
) -> CopiedFiles:
    spec = SandboxSpec(target, limits=SandboxLimits(**limits))
    return await backend.copy_files(spec, FilesOrigin(origin), epoch=epoch)


async def refused(backend, origin: uuid.UUID, target: uuid.UUID, **limits: float) -> str:
    with pytest.raises(CopyFailed) as failure:
        await copied(backend, origin, target, **limits)
    return failure.value.detail


async def shown(handle: SandboxHandle, line: str = SHOWN) -> str:
    outcome = await handle.bash(line)
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


async def test_copy_of_a_running_sandbox_has_its_files_with_modes_links_and_times(
    backend, open_sandbox
):
    origin = await open_sandbox()
    assert (await origin.bash(MADE)).exit_code == 0
    before = await shown(origin)
    target = uuid.uuid4()
    told = await copied(backend, origin.spec.conversation_id, target)
    fork = await open_sandbox(conversation=target)
    assert await shown(fork) == before
    assert await shown(fork, "du -k sparse | cut -f1; test run -ef run-too && echo same") == (
        "4\nsame\n"
    )
    assert await shown(fork, HIDDEN) == "secret\n"
    assert (told.skipped, told.changed) == (1, 0)  # the socket
    assert told.files == 11
    await fork.bash("echo changed > a/b/deep.txt; echo changed > run")
    assert await shown(origin) == before
    assert await shown(fork, "ls -A | grep -c links- || true") == "0\n"


async def test_copy_of_an_ended_sandbox_and_a_copy_of_the_copy(backend, open_sandbox):
    origin = await open_sandbox()
    await origin.write("n.txt", "x")
    await origin.sandbox.end()
    first, second = uuid.uuid4(), uuid.uuid4()
    assert (await copied(backend, origin.spec.conversation_id, first)).files == 1
    assert (
        await copied(backend, first, second)
    ).files == 1  # of files that no sandbox has used yet
    again = await open_sandbox(conversation=origin.spec.conversation_id, epoch=2)
    await again.write("n.txt", "changed")
    fork = await open_sandbox(conversation=second)
    assert await shown(fork, "cat n.txt") == "x"
    await backend.remove(first)


async def test_two_copies_of_one_origin_at_once_are_both_whole(backend, open_sandbox):
    origin = await open_sandbox()
    await origin.bash("for n in $(seq 200); do echo $n > f$n; done")
    targets = [uuid.uuid4(), uuid.uuid4()]
    made = await asyncio.gather(
        *(copied(backend, origin.spec.conversation_id, each) for each in targets)
    )
    assert [each.files for each in made] == [200, 200]
    for each in targets:
        assert await shown(await open_sandbox(conversation=each), "cat f200") == "200\n"


async def test_copy_replaces_what_an_earlier_attempt_has_left(backend, open_sandbox):
    origin = await open_sandbox()
    await origin.write("old.txt", "x")
    target = uuid.uuid4()
    await copied(backend, origin.spec.conversation_id, target)
    await origin.bash("mv old.txt new.txt")
    await copied(backend, origin.spec.conversation_id, target)
    assert await shown(await open_sandbox(conversation=target), "ls") == "new.txt\n"


async def test_copy_tells_that_files_were_written_to_meanwhile(backend, open_sandbox):
    origin = await open_sandbox()
    await origin.bash("for n in $(seq 500); do echo $n > f$n; done")
    writing = await origin.begin("while :; do echo x >> f1; done")
    target = uuid.uuid4()
    told = await copied(backend, origin.spec.conversation_id, target)
    writing.cancel()
    assert told.changed >= 1
    assert told.files == 500
    assert (await shown(await open_sandbox(conversation=target), "cat f500")) == "500\n"


async def test_deep_tree_and_names_of_any_bytes_are_copied(backend, open_sandbox):
    origin = await open_sandbox()
    made = await origin.bash(
        'python3 -c \'import os\nfor _ in range(1500): os.mkdir("d" * 20); os.chdir("d" * 20)\n'
        'open(b"\\xff\\n", "w").write("bottom")\''
    )
    assert made.exit_code == 0, made.output
    target = uuid.uuid4()
    assert (await copied(backend, origin.spec.conversation_id, target)).files == 1501
    fork = await open_sandbox(conversation=target)
    found = await fork.bash(
        'python3 -c \'import os\nwhile os.listdir(".") == ["d" * 20]: os.chdir("d" * 20)\n'
        'print(open(os.listdir(b".")[0]).read())\''
    )
    assert found.output == "bottom\n"


async def test_files_beyond_the_limits_are_refused_and_leave_nothing(backend, open_sandbox):
    origin = await open_sandbox()
    await origin.bash("head -c 3M /dev/urandom > big")
    target = uuid.uuid4()
    reason = await refused(backend, origin.spec.conversation_id, target, workspace_mib=2)
    assert "than the workspace" in reason or "more space" in reason
    await origin.bash("rm big; for n in $(seq 300); do : > f$n; done")
    reason = await refused(backend, origin.spec.conversation_id, target, workspace_mib=2)
    assert "more files" in reason or "more space" in reason
    fork = await open_sandbox(conversation=target)
    assert await shown(fork, "ls -A") == ""


async def test_copy_is_refused_on_a_disk_that_is_nearly_full(backend, open_sandbox, monkeypatch):
    origin = await open_sandbox()
    await origin.write("n.txt", "x")
    monkeypatch.setattr(file_copy, "MIN_FREE_MIB", 1 << 40)
    reason = await refused(backend, origin.spec.conversation_id, uuid.uuid4())
    assert "disk is nearly full" in reason


async def test_files_that_are_not_here_are_told(backend):
    assert "not on this machine" in await refused(backend, uuid.uuid4(), uuid.uuid4())
    assert backend.list_workspaces() == {}


async def test_copy_that_is_killed_in_the_middle_leaves_no_files_and_can_be_made_again(
    backend, open_sandbox, tmp_path, monkeypatch
):
    """The program stops when it has copied everything; then the copy is cancelled, as at the end of a worker."""
    origin = await open_sandbox()
    await origin.write("n.txt", "x")
    target = uuid.uuid4()
    source = Path(tree_copy.__file__).read_text()
    held = tmp_path / "held.py"
    held.write_text(source.replace("self._count_changed(began)", "__import__('time').sleep(600)"))
    with monkeypatch.context() as patch:
        patch.setattr(tree_copy, "__file__", str(held))
        copying = asyncio.create_task(copied(backend, origin.spec.conversation_id, target))
        await _until_copied(backend, target)
        copying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await copying
    if backend.name == "bubblewrap":
        directory = runners.sandbox_directory(backend, target)
        assert not directory.image.exists()
        assert list(directory.workspace.iterdir()) == []
        assert not list(directory.workspace.parent.glob("making-*"))
    else:
        assert target not in backend.list_workspaces()
        assert target not in backend.list_started()
    assert (await copied(backend, origin.spec.conversation_id, target)).files == 1
    assert await shown(await open_sandbox(conversation=target), "ls -A") == "n.txt\n"


async def _until_copied(backend, target: uuid.UUID) -> None:
    """Wait until the program of the copy runs."""
    async with asyncio.timeout(60):
        while not _copies(backend, target):  # noqa: ASYNC110 - a state of another process
            await asyncio.sleep(0.05)


def _copies(backend, target: uuid.UUID) -> bool:
    if backend.name == "docker":
        return target in backend.list_started()
    lines = [each.cmdline() for each in psutil.Process().children()]
    return any(word.endswith("held.py") for line in lines for word in line)


@only_bubblewrap
async def test_unfinished_copy_of_a_dead_worker_is_removed_by_a_sweep(backend, tmp_path):
    unfinished = tmp_path / "workspaces" / "making-0123"
    unfinished.mkdir(parents=True)
    (unfinished / "half").write_text("x")
    backend.remove_leftovers()
    assert unfinished.exists()  # it may be under way
    os.utime(unfinished, (0, 0))
    backend.remove_leftovers()
    assert not unfinished.exists()


@only_bubblewrap
async def test_copy_of_a_process_that_took_the_place_of_the_sandbox_is_refused(handle, backend):
    directory = runners.sandbox_directory(backend, handle.spec.conversation_id)
    if not directory.image.exists():
        pytest.skip("workspaces have no file systems of their own here")
    runner = host_process.read_record(directory.folder)
    os.close(workspace_copy._open_inside(runner))
    with pytest.raises(SandboxUnreachable):
        workspace_copy._open_inside(replace(runner, start_time=runner.start_time + 1))


@only_bubblewrap
async def test_origin_that_is_being_copied_opens_later(backend, open_sandbox, monkeypatch):
    """Its run waits and tries again: the error is one of those that pass."""
    origin = await open_sandbox()
    await origin.sandbox.end()
    directory = runners.sandbox_directory(backend, origin.spec.conversation_id)
    monkeypatch.setattr(host_process, "LOCK_SECONDS", 0.05)
    async with workspace_copy._open_files(directory):
        if not directory.image.exists():
            pytest.skip("workspaces have no file systems of their own here")
        with pytest.raises(SandboxUnreachable, match="copied into a fork"):
            await backend.open(origin.spec, epoch=2)
    await (await backend.open(origin.spec, epoch=2)).detach()


@only_bubblewrap
async def test_copy_with_an_older_lease_is_superseded(backend, open_sandbox):
    origin = await open_sandbox()
    fork = await open_sandbox(epoch=5)
    await fork.sandbox.end()
    with pytest.raises(Superseded):
        await copied(backend, origin.spec.conversation_id, fork.spec.conversation_id, epoch=4)


@only_docker
async def test_container_of_a_copy_has_no_network_and_reads_the_origin_only(
    backend, open_sandbox, tmp_path, monkeypatch
):
    origin = await open_sandbox()
    target = uuid.uuid4()
    held = tmp_path / "held.py"
    held.write_text("import time; time.sleep(600)")
    monkeypatch.setattr(tree_copy, "__file__", str(held))
    copying = asyncio.create_task(copied(backend, origin.spec.conversation_id, target))
    await _until_copied(backend, target)
    inspected = docker_backend.described(backend, target)
    host = inspected["HostConfig"]
    assert (host["NetworkMode"], host["ReadonlyRootfs"], host["Privileged"]) == (
        "none",
        True,
        False,
    )
    assert host["CapDrop"] == ["ALL"]
    assert {each.removeprefix("CAP_") for each in host["CapAdd"]} == set(volume_copy.CAPABILITIES)
    assert "no-new-privileges:true" in host["SecurityOpt"]
    assert {mount["Destination"]: mount["RW"] for mount in inspected["Mounts"]} == {
        "/workspace": True,
        "/origin": False,
    }
    # The volume of the origin cannot be removed meanwhile, also not by a sweep.
    await origin.sandbox.end()
    assert not await backend.remove_files(origin.spec.conversation_id)
    # A worker that has lost its claim to another one does not end the copy of that one.
    with pytest.raises(Superseded):
        await backend.copy_files(
            SandboxSpec(target),
            FilesOrigin(origin.spec.conversation_id),
            epoch=1,
            may_replace=refuse,
        )
    copying.cancel()
    await asyncio.gather(copying, return_exceptions=True)


async def refuse() -> bool:
    return False


@only_docker
async def test_volume_that_docker_makes_for_a_deleted_origin_is_no_copy(
    backend, open_sandbox, monkeypatch
):
    """The origin's volume is removed between the look at it and the start of the copy."""
    origin, target = await open_sandbox(), uuid.uuid4()
    origin_id = origin.spec.conversation_id
    create = backend._copier._create

    async def remove_and_create(*words):
        await backend.remove(origin_id)
        return await create(*words)

    monkeypatch.setattr(backend._copier, "_create", remove_and_create)
    assert "not on this machine" in await refused(backend, origin_id, target)
    assert target not in backend.list_workspaces()
    assert origin_id not in backend.list_workspaces()
