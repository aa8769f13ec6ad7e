"""A fork server: one process imports Paca, and each process of a part is a fork of it.

The imports take seconds of CPU, which is too long for 200 kills. After the fork the process runs
``manage.py`` with its arguments. ``python -m tests.chaos.fork_server`` is the process that forks;
``ForkServer`` is its client. Parts with the same settings use the same process, which ends with this one.
"""

import ctypes
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Self

START_SECONDS = 60
READY = re.compile(r"Paca runs at http://\S+?:(\d+)|Worker\s+takes up to")
COLLECTED = re.compile(
    r"^Exception ignored in: <async_generator .*\nTraceback .*\n(?: .*\n)*"
    r"ValueError: async generator already executing$",
    re.MULTILINE,
)
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
LOADED = (
    "docker.errors",
    "paca.asgi",
    "paca.bus.redis.bus",
    "paca.engine.llm.transport",
    "paca.ops.management.commands.run_worker",
    "paca.ops.management.commands.up",
    "paca.ops.uvicorn.server",
    "paca.urls",
    "tests.chaos.points",
    "tests.chaos.variants",
)


class Process:
    """A process that runs ``manage.py``; its output goes to its log."""

    def __init__(self, pid: int, log: Path) -> None:
        self.pid, self.log = pid, log
        self._is_dead = False

    @property
    def is_alive(self) -> bool:
        # Death is remembered, because by the end of a part another process may have the same pid.
        if not self._is_dead:
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                self._is_dead = True
        return not self._is_dead

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_until_ready(self) -> int:
        """Wait until the process works; gives its port, or 0 for a worker. Raises ``ChildProcessError`` if it does not start."""
        end = time.monotonic() + START_SECONDS
        while not (ready := READY.search(self.output)):
            if not self.is_alive or time.monotonic() > end:
                raise ChildProcessError(f"did not start:\n{self.output}")
            time.sleep(0.02)
        return int(ready[1] or 0)

    def wait_until_dead(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while self.is_alive and time.monotonic() < end:
            time.sleep(0.01)
        return not self.is_alive

    def kill(self) -> None:
        """End it with SIGKILL."""
        if not self.is_alive:
            return
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        assert self.wait_until_dead(20), f"process {self.pid} does not die"


class ForkServer:
    """``with ForkServer(logs, environment) as fork_server: fork_server.start("up")``."""

    def __init__(self, logs: Path, environment: Mapping[str, str]) -> None:
        self._logs = logs
        self._environment = dict(environment)
        self._started: list[Process] = []
        self._one_at_a_time = threading.Lock()

    def __enter__(self) -> Self:
        self._forking = _forking_process(frozenset(self._environment.items()))
        return self

    def __exit__(self, *_: object) -> None:
        self.kill_all()

    def start(self, *arguments: str, **variables: str) -> Process:
        """Fork a process with these arguments of ``manage.py`` and more environment variables."""
        with self._one_at_a_time:
            log = self._new_log(arguments[0])
            request = {"arguments": arguments, "variables": variables, "log": str(log)}
            assert self._forking.stdin is not None
            assert self._forking.stdout is not None
            self._forking.stdin.write(json.dumps(request) + "\n")
            started = Process(int(self._forking.stdout.readline()), log)
            self._started.append(started)
            return started

    def _new_log(self, command: str) -> Path:
        """A new log file. In the file of an earlier process, its output would be taken for that of this one."""
        number = sum(1 for _ in self._logs.glob("*.log"))
        log = self._logs / f"{number:04}-{command}.log"
        log.touch(exist_ok=False)
        return log

    @property
    def dead(self) -> list[str]:
        return [process.log.name for process in self._started if not process.is_alive]

    @property
    def largest_mib(self) -> float:
        """Resident memory of the largest process."""
        return max(resident_mib(process.pid) for process in self._started if process.is_alive)

    @property
    def logged_errors(self) -> list[str]:
        # Python's garbage collector may find a generator that another thread is closing. It then prints
        # a warning and does nothing, so these warnings are not errors.
        output = (COLLECTED.sub("", process.output) for process in self._started)
        lines = (line for text in output for line in text.splitlines())
        return [line for line in lines if '"level": "error"' in line or "Traceback" in line]

    def kill_all(self) -> None:
        for process in self._started:
            process.kill()


@cache
def _forking_process(environment: frozenset[tuple[str, str]]) -> subprocess.Popen[str]:
    """The process that forks with these environment variables. It ends at the end of its input."""
    return subprocess.Popen(
        [sys.executable, "-m", __name__],
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )


def resident_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


# --- the process that forks -------------------------------------------------------------------------


def main() -> None:
    _load()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies: exit codes are not read
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                _run_command(**json.loads(line))
            finally:
                os._exit(1)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


def _load() -> None:
    """Import the modules that the processes need, and start nothing."""
    import django

    django.setup()
    for name in LOADED:
        import_module(name)


def _run_command(arguments: Sequence[str], variables: Mapping[str, Any], log: str) -> None:
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    out = os.open(log, os.O_WRONLY | os.O_APPEND)
    for fd, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out), (2, out)):
        os.dup2(source, fd)
    random.seed()
    os.environ |= variables
    from tests.chaos import points, variants

    if fault := variables.get(points.VARIABLE):
        points.install(fault)
    if variant := variables.get(variants.VARIABLE):
        variants.apply(variant)
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *arguments])
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
