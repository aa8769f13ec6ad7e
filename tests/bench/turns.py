"""CPU of a turn: one model call and its call of ``think``, with everything that a worker stores.

A "turn" of this bench is one step: a model call with its tool call. The scripted model server runs in
this process, the worker and the bare loop in one process each. Whenever the server gets a request, it
reads the CPU time that the process of the caller has used so far.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from paca.conversations import services
from paca.conversations.models import Worker
from tests.bench import environment
from tests.bench.figures import Figure
from tests.support.flow import ObservedConversation
from tests.support.model_script import Scripted, calls, says
from tests.support.model_server import ModelServer
from tests.support.worker_process import WorkerProcess
from tests.support.world import MODEL, make_world

TURNS = 50
ROUNDS = 5
LONG_ROUNDS = 3
AROUND = 10  # turns before and after the measured one
LAST = says("Done.")
QUESTION = "Think about it, step by step."


def thinking(number: int) -> Scripted:
    """A reply with a new thought each time. The loop guard would pause an agent that repeats one."""
    return says("I think about the next step before I take it.") + calls(
        think=f"What is next after step {number:04}?"
    )


def cpu_seconds(pid: int) -> float:
    """The CPU time of all threads of a process so far. The clock id is that of clock_getcpuclockid(3)."""
    return time.clock_gettime((~pid << 3) | 2)


@dataclass
class Watched:
    """The model's script for one conversation. ``used``: CPU seconds of process ``pid`` at each request."""

    pid: int
    turns: int
    used: list[float] = field(default_factory=list)

    def __call__(self, _body: dict[str, Any]) -> Scripted:
        self.used.append(cpu_seconds(self.pid))
        return thinking(len(self.used)) if len(self.used) <= self.turns else LAST

    def ms_per_turn(self, first: int, last: int) -> float:
        """CPU milliseconds for each turn between the requests ``first`` and ``last``, counted from 0."""
        return (self.used[last] - self.used[first]) * 1000 / (last - first)


class Ours:
    """A worker in a process of its own, on the database of this run."""

    def __init__(self, server: ModelServer, folder: Path, project: str) -> None:
        self._server = server
        self._world = make_world(
            project,
            model=MODEL,
            base_url=server.base_url,
            llm_api_key="sk-test-1234",
            limit_steps=1000,
        )
        self._process = WorkerProcess(folder, lease_seconds=15)

    def __enter__(self) -> Ours:
        self._process.__enter__()
        self._pid = Worker.objects.get().pid
        return self

    def __exit__(self, *_: object) -> None:
        self._process.__exit__()

    def run_conversation(self, turns: int) -> Watched:
        watched = Watched(self._pid, turns)
        self._server.script(watched)
        sent = services.start_chat(self._world.agent, text=QUESTION, by=self._world.owner)
        observed = ObservedConversation(sent.conversation_id)
        while observed.status in ("queued/", "running/"):
            time.sleep(0.02)
        assert observed.status == "finished/answered", observed.status
        assert len(observed.event_data("tool.returned")) == turns
        return watched


class Bare:
    """``bare_loop.py`` in a process of its own."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server

    def __enter__(self) -> Bare:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.bare_loop", self._server.base_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=30)

    def run_conversation(self, turns: int) -> Watched:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watched = Watched(self._process.pid, turns)
        self._server.script(watched)
        self._process.stdin.write(f"{QUESTION}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == f"{turns}\n", "the bare loop ended early"
        return watched


@contextmanager
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        server.record = False
        yield server
        assert server.violations == []


def cpu_per_turn(folder: Path) -> Figure:
    """Our worker and the bare loop alternate with the same conversation. The first of each is the warm-up."""
    ours, bare = [], []
    with model() as server, Ours(server, folder, "Turns") as worker, Bare(server) as loop:
        for _ in range(1 + ROUNDS):
            ours.append(worker.run_conversation(TURNS).ms_per_turn(0, TURNS))
            bare.append(loop.run_conversation(TURNS).ms_per_turn(0, TURNS))
    return Figure(
        "turn",
        median(ours[1:]),
        median(bare[1:]),
        "ms CPU",
        f"{TURNS} turns, each one call of think: a worker process on {environment.database()}, everything "
        "stored / "
        "a bare loop on the SDK's raw events in a process of its own",
        most_times=3,
    )


def late_turn(folder: Path) -> Figure:
    """A late and an early turn of one conversation: the figure shows costs that grow with the history."""
    early, late = [], []
    with model() as server, Ours(server, folder, "Late") as worker:
        worker.run_conversation(TURNS)
        for _ in range(LONG_ROUNDS):
            watched = worker.run_conversation(200 + AROUND)
            early.append(watched.ms_per_turn(50 - AROUND, 50 + AROUND))
            late.append(watched.ms_per_turn(200 - AROUND, 200 + AROUND))
    return Figure(
        "late-turn",
        median(late),
        median(early),
        "ms CPU",
        f"turn 200 / turn 50 of one conversation, {AROUND} turns around each: "
        f"a worker process on {environment.database()}",
        most_times=1.5,
    )
