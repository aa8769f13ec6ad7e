"""Copies the files of one bubblewrap sandbox into the new workspace of another."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from paca.engine.workspace import SandboxUnreachable, Superseded
from paca.sandbox import file_copy, tree_copy
from paca.sandbox.base import CopiedFiles, MayReplace, SandboxSpec
from paca.sandbox.bubblewrap import file_tree, host_process, mounts
from paca.sandbox.bubblewrap.launcher import Launcher
from paca.sandbox.bubblewrap.sandbox_directory import SandboxDirectory
from paca.sandbox.file_copy import CopyFailed
from paca.sandbox.runner import WORKSPACE
from paca.sandbox.runner_bundle import UNFINISHED_PREFIX

ROOT_INODE = 2  # of an ext4 file system
IN_USE = "The files of the other conversation are in use by another copy, or by a sandbox that is ending."


async def copy(
    origin: SandboxDirectory,
    target: SandboxDirectory,
    spec: SandboxSpec,
    *,
    epoch: int,
    may_replace: MayReplace,
    launcher: Launcher,
) -> CopiedFiles:
    """Fill the workspace of a conversation without a sandbox, under its lock. See ``Backend.copy_files``.

    The copy gets its place in one step when it is whole, so a process that dies leaves no part of one there.
    Raises ``CopyFailed``, ``Superseded``, ``SandboxUnreachable`` and ``OSError``.
    """
    if not _has_files(origin):
        raise CopyFailed(file_copy.MISSING)
    target.create()
    async with host_process.directory_lock(target.folder):
        # The worker that has taken over may have copied the files while this one waited for the lock, and the record
        # has its epoch only when it has opened the sandbox.
        # guard: superseded-copy-leaves-the-files
        if epoch < host_process.read_record(target.folder).epoch or not await may_replace():
            raise Superseded
        await asyncio.to_thread(target.remove_files)  # a copy of which the log does not know
        target.create()
        async with _open_files(origin) as source:
            image = await asyncio.to_thread(launcher.take_image, spec.limits)
            if image is None:
                return await _copy_to_folder(source, target, spec)
            try:
                copied = await _run(source, image.folder, spec, target)
                image.name(target.image, target.user.uid)
            finally:
                image.close()
            return copied


def _has_files(origin: SandboxDirectory) -> bool:
    exists = origin.image.exists() or origin.workspace.is_dir()
    return exists and origin.belongs_to_installation


@asynccontextmanager
async def _open_files(origin: SandboxDirectory) -> AsyncIterator[int]:
    """A descriptor of the folder with the files of a sandbox, whether it runs or not.

    Others may start or end the sandbox meanwhile, unless only this process has its file system mounted.
    """
    async with AsyncExitStack() as stack:
        lock = await stack.enter_async_context(AsyncExitStack())
        await lock.enter_async_context(host_process.directory_lock(origin.folder))
        runner = host_process.read_record(origin.folder)
        if not origin.image.exists():
            folder = os.open(origin.workspace, tree_copy.FOLDER_FLAGS)
        elif runner.is_alive:
            folder = _open_inside(runner)
        else:
            folder = await _mount_in_thread(origin.image)
            stack.callback(os.close, folder)
            yield folder
            return
        stack.callback(os.close, folder)
        await lock.aclose()
        yield folder


def _open_inside(runner: host_process.RunnerProcess) -> int:
    """The workspace of a running sandbox, as its processes see it: it is mounted for them alone."""
    try:
        folder = os.open(f"/proc/{runner.pid}/root{WORKSPACE}", tree_copy.FOLDER_FLAGS)
    except (FileNotFoundError, ProcessLookupError):
        raise SandboxUnreachable(IN_USE) from None
    # The process may have ended just now, and another one may have its number.
    # guard: copy-of-the-right-sandbox
    if not runner.is_alive or os.fstat(folder).st_ino != ROOT_INODE:
        os.close(folder)
        raise SandboxUnreachable(IN_USE)
    return folder


async def _mount_in_thread(image: Path) -> int:
    """A mount of the image. If this is cancelled, the thread goes on, and what it has mounted is closed.

    An open mount would keep the files from the conversation that they belong to.
    """
    mounting = asyncio.create_task(asyncio.to_thread(_mount, image))
    try:
        return await asyncio.shield(mounting)
    except asyncio.CancelledError:
        mounting.add_done_callback(_close_unused)
        raise


def _close_unused(mounting: asyncio.Task[int]) -> None:
    if not mounting.cancelled() and mounting.exception() is None:
        os.close(mounting.result())


def _mount(image: Path) -> int:
    file = os.open(image, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        return mounts.open_file_system(file)
    except BlockingIOError:
        raise SandboxUnreachable(IN_USE) from None
    finally:
        os.close(file)


async def _copy_to_folder(source: int, target: SandboxDirectory, spec: SandboxSpec) -> CopiedFiles:
    """Copy into a folder of another name first: a rename then puts the whole copy in its place."""
    async with _unfinished_folder(target) as (unfinished, folder):
        copied = await _run(source, folder, spec, target)
        if target.user.drop_privileges:
            os.fchown(folder, target.user.uid, target.user.gid)
        unfinished.rename(target.workspace)
    return copied


@asynccontextmanager
async def _unfinished_folder(target: SandboxDirectory) -> AsyncIterator[tuple[Path, int]]:
    unfinished = target.workspace.with_name(f"{UNFINISHED_PREFIX}{os.urandom(6).hex()}")
    unfinished.mkdir(mode=0o700)
    folder = os.open(unfinished, tree_copy.FOLDER_FLAGS)
    try:
        yield unfinished, folder
    finally:
        os.close(folder)
        # A thread does it: it may have so many files that the other turns of the worker would lose their leases.
        await asyncio.to_thread(file_tree.remove_tree, unfinished)


async def _run(
    source: int, folder: int, spec: SandboxSpec, target: SandboxDirectory
) -> CopiedFiles:
    """Run the program that copies, in a process of its own: it is killed if this task is cancelled."""
    disk = os.open(target.workspace.parent, tree_copy.FOLDER_FLAGS)
    uid = target.user.uid if target.user.drop_privileges else None
    try:
        words = file_copy.request(
            spec, source=source, target=folder, disk=disk, uid=uid, parent=True
        )
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-X", "utf8", tree_copy.__file__, words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[source, folder, disk],
            env={},
            cwd="/",
        )
    finally:
        os.close(disk)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(file_copy.COPY_SECONDS):
            output = await process.stdout.read()
            await process.wait()
    except TimeoutError:
        raise file_copy.too_slow() from None
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return file_copy.parse(output)
