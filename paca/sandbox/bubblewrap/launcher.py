"""Starts bwrap so that it outlives this process, with the runner as its process 1."""

import json
import os
import select
import socket
import subprocess
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from paca.engine.workspace import SandboxBroken, SandboxUnavailable
from paca.sandbox import seccomp
from paca.sandbox.base import Patience, SandboxSpec
from paca.sandbox.bubblewrap import bwrap_arguments, host_process
from paca.sandbox.bubblewrap.host_process import Life
from paca.sandbox.bubblewrap.sandbox_directory import Home, short_path
from paca.sandbox.runner_bundle import AT, Interpreter

BOOT = (
    f"import sys;sys.path.insert(0,'{AT}/runner/lib');import paca.sandbox.runner.main as m;m.main()"
)
# bwrap says within milliseconds what it has made; so much later it is not going to.
START_SECONDS = 20.0
GROUP_ATTEMPTS = 2
NOT_STARTED = "See docs/architecture.md, or set PACA_SANDBOX=none to work without commands."
NOT_ALLOWED = (
    "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or "
    "kernel.apparmor_restrict_unprivileged_userns=0), or set PACA_SANDBOX=none to work without commands."
)
_children: set[int] = set()


class Launcher:
    """Knows the programs; makes processes."""

    def __init__(
        self, bwrap: str, interpreter: Interpreter, runner: Path, etc: Path, patience: Patience
    ) -> None:
        self._bwrap = bwrap
        self._interpreter = interpreter
        self._runner = runner
        self._etc = etc
        self._patience = patience

    def launch(self, home: Home, spec: SandboxSpec, epoch: int) -> Life:
        """Start the sandbox; its runner then comes up and accepts on the home's socket."""
        bwrap_arguments.name_user(home.folder, home.identity)
        for _ in range(GROUP_ATTEMPTS):
            if not home.group.make(spec.limits):
                break
            if (born := self._launch_in_group(home, spec, epoch)) is not None:
                return born
        return self._launch(home, spec, epoch, grouped=False)

    def _launch_in_group(self, home: Home, spec: SandboxSpec, epoch: int) -> Life | None:
        """None if it takes nobody, or has gone: while nobody is in it, a sweep may take it for abandoned."""
        born = Life()
        try:
            born = self._launch(home, spec, epoch, grouped=True)
            home.group.take(born.pid)  # it has started nothing yet: all that it ever starts is in
        except OSError:
            born.kill()
            return None
        return born

    def _launch(self, home: Home, spec: SandboxSpec, epoch: int, *, grouped: bool) -> Life:
        with ExitStack() as stack:
            listener = stack.enter_context(_listen(home))
            filter_fd = _seccomp(stack)
            oom_fd = _open(stack, home.group.counter) if grouped else None
            info, info_end = os.pipe()
            stack.callback(os.close, info)
            status = stack.enter_context(home.status.open("wb"))
            with os.fdopen(info_end, "wb"):
                argv = [
                    self._bwrap,
                    *self._confined(home, spec, filter_fd),
                    *("--info-fd", str(info_end), "--json-status-fd", str(status.fileno()), "--"),
                    *self._program(home, spec, epoch, listener=listener.fileno(), oom_fd=oom_fd),
                ]
                passed = [listener.fileno(), info_end, status.fileno(), filter_fd, oom_fd]
                _spawn(argv, home.log, [fd for fd in passed if fd is not None])
            return _life(info, home.log, epoch)

    def _confined(self, home: Home, spec: SandboxSpec, filter_fd: int | None) -> list[str]:
        return bwrap_arguments.arguments(
            identity=home.identity,
            limits=spec.limits,
            workspace=home.workspace,
            etc=self._etc,
            names=home.folder,
            runner=self._runner,
            interpreter=self._interpreter,
            seccomp=filter_fd,
        )

    def _program(
        self, home: Home, spec: SandboxSpec, epoch: int, *, listener: int, oom_fd: int | None
    ) -> list[str]:
        settings = {
            **asdict(spec.limits),
            "listener": listener,
            "oom_fd": oom_fd,
            "uid": home.identity.uid if home.identity.drop else None,
            "epoch": epoch,
            "orphan_seconds": self._patience.lasting(spec),
            "git_name": spec.git_name,
            "git_email": spec.git_email,
            "no_input": f"{AT}/runner/bin/no-input",
        }
        # Isolated, without site: faster, and nothing of the agent's can change what is imported.
        flags = ("-I", "-S", "-X", "utf8", "-c", BOOT)
        return [self._interpreter.program, *flags, json.dumps(settings)]


def collect_children() -> None:
    """Let the zombies of ended sandboxes go."""
    for pid in list(_children):
        try:
            ended = os.waitpid(pid, os.WNOHANG)[0] == pid
        except ChildProcessError:
            ended = True
        if ended:
            _children.discard(pid)


def _listen(home: Home) -> socket.socket:
    """The runner's listening socket, made outside: inside there is no path to it."""
    home.socket.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with short_path(home.folder) as folder:
            listener.bind(f"{folder}/socket")
        listener.listen(16)
    except OSError:  # the folder may be gone: who wanted the sandbox no longer waits for it
        listener.close()
        raise
    return listener


def _open(stack: ExitStack, path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
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


def _spawn(argv: list[str], log: Path, passed: list[int]) -> None:
    with log.open("wb") as output:
        child = subprocess.Popen(  # noqa: S603 - ours, from first to last word
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
    child.returncode = 0  # sandboxes outlive us by design: Popen shall not complain of that


def _life(info: int, log: Path, epoch: int) -> Life:
    """Wait until bwrap has made the process that becomes the runner."""
    said = b""
    while not said.rstrip().endswith(b"}"):
        answers, _, _ = select.select([info], [], [], START_SECONDS)
        piece = os.read(info, 4096) if answers else b""
        if not piece:
            raise failure(log)
        said += piece
    pid = int(json.loads(said)["child-pid"])
    return Life(pid, host_process.start_time(pid) or 0, epoch)


def exit_code(status: Path) -> int | None:
    """With which the runner ended, as bwrap wrote it down; None if it has not."""
    try:
        last = status.read_text().rstrip().rpartition("\n")[2]
        return int(json.loads(last)["exit-code"])
    except (OSError, ValueError, KeyError):
        return None


def failure(log: Path) -> SandboxUnavailable:
    """Why a sandbox did not start, and what to do, from what bwrap or the runner said."""
    said = log.read_text(errors="replace").strip().splitlines()
    last = said[-1][:300] if said else "no reason given"
    if "Operation not permitted" in last or "namespace" in last:
        return SandboxUnavailable(f"Commands cannot run on this server: {last}. {NOT_ALLOWED}")
    return SandboxBroken(f"Commands cannot run on this server: {last}. {NOT_STARTED}")
