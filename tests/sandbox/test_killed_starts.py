"""Workers that are killed while they start a sandbox: the next start goes on at once."""

import asyncio
import fcntl
import os
import resource
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from paca.engine.workspace import SandboxBroken
from paca.sandbox.base import SandboxSpec
from paca.sandbox.bubblewrap import bwrap_process, host_process, start_status
from paca.sandbox.bubblewrap.backend import Bubblewrap
from paca.sandbox.bubblewrap.sandbox_directory import SandboxDirectory
from paca.sandbox.runner import proc
from tests.sandbox.conftest import SandboxHandle
from tests.support.flow import wait_until

pytestmark = [pytest.mark.anyio, pytest.mark.service]

# A worker that is killed at a point of its start: before bwrap does anything, beside it, or after bwrap has
# reported the runner's process.
WORKER = """
import asyncio, os, signal, sys, uuid
from pathlib import Path
from paca.sandbox.base import SandboxSpec
from paca.sandbox.bubblewrap import bwrap_process
from paca.sandbox.bubblewrap.backend import Bubblewrap

spawn, wait_for_runner, point = bwrap_process.spawn, bwrap_process.wait_for_runner, sys.argv[3]
HELD = f'echo $$ > {sys.argv[1]}/held; kill -STOP $$; exec "$@"'

def spawn_held(argv, *others):
    return spawn(["/bin/sh", "-c", HELD, "sh", *argv], *others)

def die(*arguments):
    if point == "before the record":
        wait_for_runner(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)

bwrap_process.wait_for_runner = die
if point == "before bwrap runs":
    bwrap_process.spawn = spawn_held
backend = Bubblewrap(Path(sys.argv[1]), "tests")
asyncio.run(backend.open(SandboxSpec(uuid.UUID(sys.argv[2])), epoch=1))
"""


def kill_worker(data_dir: Path, conversation: uuid.UUID, point: str) -> SandboxDirectory:
    """Start a sandbox from a worker that is killed at this point; gives the sandbox's directory."""
    words = [sys.executable, "-c", WORKER, str(data_dir), str(conversation), point]
    assert subprocess.run(words, check=False, timeout=60).returncode == -signal.SIGKILL
    if point == "before bwrap runs":
        wait_until(lambda: (data_dir / "held").exists() and (data_dir / "held").read_text())
        held = int((data_dir / "held").read_text())
        wait_until(lambda: proc.state(held) == proc.STOPPED)
        os.kill(held, signal.SIGCONT)
    return SandboxDirectory(data_dir, "tests", conversation)


@pytest.mark.parametrize(
    "point", ["before bwrap runs", "right after the start of bwrap", "before the record"]
)
async def test_a_start_ends_the_runner_of_a_worker_that_was_killed_before_it_recorded_it(
    tmp_path, point
):
    backend, conversation = Bubblewrap(tmp_path, "tests"), uuid.uuid4()
    sandbox = await backend.open(SandboxSpec(conversation), epoch=1)
    await SandboxHandle(sandbox, SandboxSpec(conversation)).write("kept", "kept")
    await sandbox.end(keep_files=True)
    directory = kill_worker(tmp_path, conversation, point)
    assert host_process.read_record(directory.folder).pid == 0
    left = await start_status.find_runner(directory.status)
    assert left.is_alive, "no runner outlived its worker, so this test shows nothing"
    spec = SandboxSpec(conversation)
    sandbox = await backend.open(spec, epoch=2)
    try:
        assert not left.is_alive
        assert (await SandboxHandle(sandbox, spec).bash("cat kept")).output == "kept"
    finally:
        await sandbox.end(keep_files=False)


@pytest.mark.parametrize("way", ["end", "files"])
async def test_removed_files_are_used_by_no_runner_that_is_not_recorded(tmp_path, way):
    conversation = uuid.uuid4()
    directory = kill_worker(tmp_path, conversation, "before the record")
    left = await start_status.find_runner(directory.status)
    assert left.is_alive
    backend = Bubblewrap(tmp_path, "tests")
    await (backend.remove_files if way == "files" else backend.remove)(conversation)
    assert not left.is_alive
    assert not directory.image.exists()


async def test_a_start_ends_no_process_that_has_the_pid_of_a_runner_by_chance(tmp_path):
    path = tmp_path / "status"
    file, _ = start_status.create(path)
    with subprocess.Popen(["sleep", "600"]) as other:  # noqa: ASYNC220 - it starts at once
        file.write(b'{"child-pid": %d}\n' % other.pid)
        file.close()
        try:
            assert (await start_status.find_runner(path)).pid == 0
        finally:
            other.kill()


async def test_a_start_waits_for_the_runner_of_a_bwrap_that_has_made_none_yet(tmp_path):
    path = tmp_path / "status"
    file, mark = start_status.create(path)
    program = "import sys; sys.stdin.read()"
    with subprocess.Popen(  # noqa: ASYNC220 - it starts at once
        [sys.executable, "-c", program, mark], stdin=subprocess.PIPE, pass_fds=[file.fileno()]
    ) as bwrap:
        finding = asyncio.create_task(start_status.find_runner(path))
        await asyncio.sleep(0)
        os.write(file.fileno(), b'{"child-pid": ')
        await asyncio.sleep(0)
        assert not finding.done()
        os.write(file.fileno(), b"%d}\n" % bwrap.pid)
        found = await finding
        assert (found.pid, found.start_time) == (bwrap.pid, proc.start_time(bwrap.pid))
        bwrap.kill()
    file.close()
    assert (await start_status.find_runner(path)).pid == 0, "it is gone"


async def test_a_start_waits_for_no_bwrap_that_is_gone(tmp_path):
    path = tmp_path / "status"
    assert (await start_status.find_runner(path)).pid == 0
    start_status.create(path)[0].close()
    assert (await start_status.find_runner(path)).pid == 0
    path.write_text('{"child-pid": 1}\n{"exit-code": 0}\n')  # as an older version wrote it
    assert (await start_status.find_runner(path)).pid == 0
    assert start_status.exit_code(path) == 0


def test_a_start_of_bwrap_is_watched_by_a_worker_with_many_open_files(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2048:
        pytest.skip("needs a limit of 2048 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    log = tmp_path / "log"
    bwrap = bwrap_process.spawn(["/bin/sh", "-c", "echo refused >&2; exit 1"], log, [])
    high = fcntl.fcntl(bwrap, fcntl.F_DUPFD_CLOEXEC, 1500)
    try:
        with pytest.raises(SandboxBroken, match="refused"):
            bwrap_process.wait_for_runner(high, tmp_path / "status", log, epoch=1)
    finally:
        os.close(high)
        os.close(bwrap)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
