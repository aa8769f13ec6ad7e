"""Finds the runner of a sandbox among the processes of this machine, and makes it unresponsive."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

import psutil

from paca.sandbox.base import Backend
from paca.sandbox.bubblewrap import host_process
from paca.sandbox.bubblewrap.backend import Bubblewrap
from paca.sandbox.bubblewrap.sandbox_directory import SandboxDirectory, short_folder_path
from paca.sandbox.runner import proc
from tests.support import docker_backend


def sandbox_directory(backend: Backend, conversation_id: UUID) -> SandboxDirectory:
    """The directory of a bubblewrap sandbox."""
    return SandboxDirectory(backend._data_dir, backend._install_id, conversation_id)


def pid(backend: Backend, conversation_id: UUID) -> int:
    """The pid on this machine of process 1 of the sandbox."""
    if backend.name == "docker":
        return docker_backend.runner_pid(backend, conversation_id)
    return host_process.read_record(sandbox_directory(backend, conversation_id).folder).pid


def workspace_file(
    data_folder: Path, conversation_id: UUID, name: str, *, docker: bool = False
) -> Path:
    """The path on this machine of a file in the workspace of a sandbox.

    While the sandbox runs, its workspace may be mounted for it alone: the path then leads through its
    process 1.
    """
    with suppress(OSError, ValueError):
        backend = docker_backend.make(data_folder) if docker else Bubblewrap(data_folder, "any")
        runner = pid(backend, conversation_id)
        root = Path("/proc", str(runner), "root", "workspace")
        if root.exists():
            return root / name
    return data_folder / "workspaces" / str(conversation_id) / name


def commands(backend: Backend, conversation_id: UUID) -> list[psutil.Process]:
    """The processes of commands in the sandbox, as this machine sees them."""
    return psutil.Process(pid(backend, conversation_id)).children(recursive=True)


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
    """The process state in /proc: S is sleeping, T is stopped."""
    return proc.state(runner)


def until_executed(program: str) -> str:
    """Shell words that wait until the last background job is this program, and no longer a copy of the shell."""
    return f"until grep -aq '^{program}' /proc/$!/cmdline; do :; done"
