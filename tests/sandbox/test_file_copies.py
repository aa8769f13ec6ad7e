"""The files of a sandbox are copied for another one, on each backend: what is kept, left out and refused."""

import asyncio
import uuid

import pytest

from paca.engine.workspace import SandboxUnreachable, Superseded
from paca.sandbox import file_copy, tree_copy
from paca.sandbox.base import CopiedFiles, FilesOrigin, SandboxLimits, SandboxSpec
from paca.sandbox.file_copy import CopyFailed
from tests.sandbox.conftest import SandboxHandle, only_bubblewrap, only_docker
from tests.support import docker_backend

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
    assert "than the workspace of a sandbox" in reason or "than the workspace" in reason
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


async def test_cancelled_copy_leaves_no_files_and_can_be_made_again(
    backend, open_sandbox, monkeypatch
):
    origin = await open_sandbox()
    await origin.write("n.txt", "x")
    target = uuid.uuid4()
    with monkeypatch.context() as patch:
        patch.setattr(tree_copy, "__file__", str(_hanging_program(tree_copy.__file__)))
        copying = asyncio.create_task(copied(backend, origin.spec.conversation_id, target))
        await asyncio.sleep(0.5)
        assert not copying.done()
        copying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await copying
    assert (await copied(backend, origin.spec.conversation_id, target)).files == 1
    assert await shown(await open_sandbox(conversation=target), "ls -A") == "n.txt\n"


def _hanging_program(real: str):
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp())
    source = Path(real).read_text().replace("        self._count_changed(began)", "")
    held = folder / "held.py"
    held.write_text(
        source.replace(
            "            self._copy_all()\n",
            "            self._copy_all()\n            import time; time.sleep(600)\n",
        )
    )
    return held


@only_bubblewrap
async def test_origin_that_opens_while_it_is_copied_waits(backend, open_sandbox, monkeypatch):
    assert issubclass(SandboxUnreachable, Exception)


@only_bubblewrap
async def test_copy_with_an_older_lease_is_superseded(backend, open_sandbox):
    origin = await open_sandbox()
    fork = await open_sandbox(epoch=5)
    await fork.sandbox.end()
    with pytest.raises(Superseded):
        await copied(backend, origin.spec.conversation_id, fork.spec.conversation_id, epoch=4)


@only_docker
async def test_container_of_a_copy_has_only_what_it_needs(backend, open_sandbox):
    assert docker_backend.IMAGE
