"""Starts bwrap so that it outlives this process, with the runner as its process 1."""

import json
import os
import socket
import subprocess
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from paca.engine.workspace import SandboxUnavailable
from paca.sandbox import confinement, inside, life, seccomp
from paca.sandbox.base import SandboxSpec
from paca.sandbox.home import Home, short_path
from paca.sandbox.inside import AT, Interpreter
from paca.sandbox.life import Life

BOOT = (
    f"import sys;sys.path.insert(0,'{AT}/runner/lib');import paca.sandbox.runner.main as m;m.main()"
)
ENTER_GROUPS = (
    'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 1; shift; done; shift; exec "$@"'
)
# Sandboxes live on when we end: nobody waits for them, but their zombies are collected.
_children: list[subprocess.Popen[bytes]] = []


class Launcher:
    """Knows the programs; makes processes."""

    def __init__(
        self, bwrap: str, interpreter: Interpreter, runner: Path, *, idle_seconds: float
    ) -> None:
        self._bwrap = bwrap
        self._interpreter = interpreter
        self._runner = runner
        self._idle_seconds = idle_seconds

    def launch(self, home: Home, spec: SandboxSpec, epoch: int) -> Life:
        """Start the sandbox; its runner then comes up and accepts on the home's socket."""
        grouped = home.group.make(spec.limits)
        with ExitStack() as open_here:
            listener = open_here.enter_context(_listen(home))
            seccomp_fd = _seccomp(open_here)
            status, status_end = os.pipe()
            open_here.callback(os.close, status)
            passed = [listener.fileno(), status_end, *([] if seccomp_fd is None else [seccomp_fd])]
            oom_fd = None
            if grouped:
                oom_fd = os.open(home.group.counter, os.O_RDONLY | os.O_CLOEXEC)
                open_here.callback(os.close, oom_fd)
                passed.append(oom_fd)
            settings = self._settings(home, spec, epoch, listener=listener.fileno(), oom_fd=oom_fd)
            confined = confinement.arguments(
                identity=home.identity,
                limits=spec.limits,
                workspace=home.workspace,
                etc=home.etc,
                runner=self._runner,
                interpreter=self._interpreter,
                seccomp=seccomp_fd,
            )
            argv = [
                self._bwrap,
                *confined,
                "--json-status-fd",
                str(status_end),
                "--",
                *self._program(settings),
            ]
            if grouped:
                argv = [
                    "/bin/sh",
                    "-c",
                    ENTER_GROUPS,
                    "sh",
                    *map(str, home.group.folders),
                    "--",
                    *argv,
                ]
            try:
                _spawn(argv, home.log, passed)
            finally:
                os.close(status_end)
            return _born(status, home.log, epoch)

    def _program(self, settings: dict[str, Any]) -> list[str]:
        # Isolated, without site: faster, and nothing of the agent's can change what is imported.
        return [
            self._interpreter.program,
            "-I",
            "-S",
            "-X",
            "utf8",
            "-c",
            BOOT,
            json.dumps(settings),
        ]

    def _settings(
        self, home: Home, spec: SandboxSpec, epoch: int, *, listener: int, oom_fd: int | None
    ) -> dict[str, Any]:
        return {
            **asdict(spec.limits),
            "listener": listener,
            "oom_fd": oom_fd,
            "uid": home.identity.uid if home.identity.drop else None,
            "epoch": epoch,
            "orphan_seconds": self._idle_seconds,
            "git_name": spec.git_name,
            "git_email": spec.git_email,
            "no_input": f"{AT}/runner/bin/no-input",
        }


def collect_children() -> None:
    """Let the zombies of ended sandboxes go."""
    _children[:] = [child for child in _children if child.poll() is None]


def _listen(home: Home) -> socket.socket:
    """The runner's listening socket, made outside: inside there is no path to it."""
    home.socket.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with short_path(home.folder) as folder:
        listener.bind(f"{folder}/socket")
    listener.listen(16)
    return listener


def _seccomp(open_here: ExitStack) -> int | None:
    program = seccomp.program()
    if program is None:
        return None
    descriptor = os.memfd_create("seccomp")
    open_here.callback(os.close, descriptor)
    os.write(descriptor, program)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _spawn(argv: list[str], log: Path, passed: list[int]) -> None:
    with log.open("wb") as output:
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=passed,
            start_new_session=True,
            env={},
            cwd="/",
        )
    _children.append(child)


def _born(status: int, log: Path, epoch: int) -> Life:
    """Wait until bwrap has made the process that becomes the runner."""
    said = b""
    while b"\n" not in said:
        piece = os.read(status, 4096)
        if not piece:
            raise SandboxUnavailable(explain(log))
        said += piece
    pid = int(json.loads(said.partition(b"\n")[0])["child-pid"])
    return Life(pid, life.start_time(pid) or 0, epoch)


def explain(log: Path) -> str:
    """Why a sandbox did not start, and what to do, from what bwrap or the runner said."""
    said = log.read_text(errors="replace").strip().splitlines()
    last = said[-1][:300] if said else "no reason given"
    advice = "See docs/architecture.md, or set PACA_SANDBOX=none to work without commands."
    if "user namespace" in last or "Operation not permitted" in last or "namespace" in last:
        advice = (
            "Allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, or "
            "kernel.apparmor_restrict_unprivileged_userns=0), or set PACA_SANDBOX=none to work without commands."
        )
    return f"Commands cannot run on this server: {last}. {advice}"
