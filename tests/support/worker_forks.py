"""Forks of one process that has imported Paca: the imports take each worker process of a test seconds of the core."""

from __future__ import annotations

import ctypes
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any

# What a worker loads before or while it takes its first turn.
LOADED = (
    "docker.errors",
    "paca.bus.redis.bus",
    "paca.engine.llm.transport",
    "paca.worker.thread",
    "tests.chaos.points",
    "tests.support.docker_backend",
    "tests.support.worker_process",
)
OF_ONE_TEST = "PYTEST_CURRENT_TEST"
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
MAX_MESSAGE = 1 << 16


class ForkedWorker:
    """A process that runs ``run`` of ``tests/support/worker_process.py``, in this environment."""

    def __init__(self, environment: Mapping[str, str], **arguments: Any) -> None:
        self._template = _template(
            frozenset(each for each in environment.items() if each[0] != OF_ONE_TEST)
        )
        reader, writer = os.pipe()
        self.pid = int(self._template.ask(writer, 2, start=arguments))
        os.close(writer)
        self._output = os.fdopen(reader)
        self._status: int | None = None

    def wait_until_ready(self) -> None:
        assert self._output.readline() == "ready\n", f"process {self.pid} has not started"

    def send(self, number: signal.Signals) -> None:
        """Send a signal. Until ``wait`` the process is a zombie, so that no other one has its number."""
        if self._status is None:
            os.kill(self.pid, number)

    def wait(self, seconds: float = 60) -> int:
        """Wait until it has ended. Gives the code of its end; that of a signal is negative. Raises ``TimeoutError``."""
        if self._status is None:
            answer = self._template.ask(wait=self.pid, seconds=seconds)
            if not answer:
                raise TimeoutError(f"process {self.pid} does not end")
            self._status = os.waitstatus_to_exitcode(int(answer))
            self._output.close()
        return self._status


class Template:
    """The process that forks. It ends when nobody holds it any more, and its forks with it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                env=dict(environment),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )

    def ask(self, *descriptors: int, **request: Any) -> str:
        socket.send_fds(self._socket, [json.dumps(request).encode()], descriptors)
        answer = self._socket.recv(MAX_MESSAGE).decode()
        assert answer, "the process that forks has ended"
        return answer.removeprefix("=")


@lru_cache(maxsize=2)
def _template(environment: frozenset[tuple[str, str]]) -> Template:
    return Template(dict(environment))


# --- the process that forks -------------------------------------------------------------------------


def main(descriptor: str) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    import django

    django.setup()
    for name in LOADED:
        import_module(name)
    assert threading.active_count() == 1, "a fork has no threads"
    requests = socket.socket(fileno=int(descriptor))
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, MAX_MESSAGE, 2)
        if not message:
            return
        answer = _answer(json.loads(message), descriptors)
        for each in descriptors:
            os.close(each)
        requests.send(f"={answer}".encode())


def _answer(request: dict[str, Any], descriptors: list[int]) -> str:
    if "start" in request:
        return str(os.fork() or _run(request["start"], *descriptors))
    end = time.monotonic() + request["seconds"]
    while time.monotonic() < end:
        pid, status = os.waitpid(request["wait"], os.WNOHANG)
        if pid:
            return str(status)
        time.sleep(0.005)
    return ""


def _run(arguments: dict[str, Any], output: int, errors: int) -> int:
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    os.dup2(output, 1)
    os.dup2(errors, 2)
    os.closerange(3, max(output, errors) + 1)
    random.seed()
    code = 1
    try:
        import_module("tests.support.worker_process").run(**arguments)
        code = 0
    finally:
        if code:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
