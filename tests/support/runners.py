"""Where tests find the runner of a sandbox on this machine, for what only the host can do to it."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from paca.sandbox.base import Backend
from paca.sandbox.bubblewrap import host_process
from paca.sandbox.bubblewrap.sandbox_directory import SandboxDirectory, short_folder_path
from paca.sandbox.runner import proc
from tests.support import docker_backend


def sandbox_directory(backend: Backend, conversation_id: UUID) -> SandboxDirectory:
    """Of a sandbox made with bubblewrap."""
    return SandboxDirectory(backend._data_dir, backend._install_id, conversation_id)


def pid(backend: Backend, conversation_id: UUID) -> int:
    """Process 1 of the sandbox, as this machine numbers it."""
    if backend.name == "docker":
        return docker_backend.runner_pid(backend, conversation_id)
    return host_process.read_record(sandbox_directory(backend, conversation_id).folder).pid


@contextmanager
def silenced(backend: Backend, conversation_id: UUID) -> Iterator[None]:
    """Whoever connects to the runner meanwhile gets no answer. A runner that were stopped on this
    machine would count as paused."""
    if backend.name == "docker":
        runner = pid(backend, conversation_id)
        os.kill(runner, signal.SIGSTOP)
        yield
        if proc.read_stat(runner) is not None:
            os.kill(runner, signal.SIGCONT)
        return
    directory = sandbox_directory(backend, conversation_id)
    aside = directory.folder / "aside"
    directory.socket.rename(aside)
    deaf = socket.socket(socket.AF_UNIX)
    with short_folder_path(directory.folder) as folder:
        deaf.bind(f"{folder}/socket")
    deaf.listen()
    yield
    deaf.close()
    if aside.exists():
        aside.rename(directory.socket)


def state(runner: int) -> str:
    """What it does, as /proc has it: S sleeps, T stands still."""
    return proc.state(runner)
