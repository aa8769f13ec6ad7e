"""Wall time from the commit of a trigger to the first byte that the model sends, through Redis."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
from django.db import transaction

import paca.bus
from paca.bus.redis.bus import RedisBus
from paca.conversations import services
from tests.bench import environment
from tests.bench.figures import Figure, percentile
from tests.support.flow import ObservedConversation
from tests.support.model_script import Scripted, says
from tests.support.model_server import ModelServer
from tests.support.valkey_server import ValkeyServer, running
from tests.support.worker_process import WorkerProcess
from tests.support.world import MODEL, make_world

TRIGGERS = 200
WARM_UP = 20
BETWEEN_SECONDS = 0.02
SHARE = 0.99


def to_first_byte(folder: Path) -> Figure:
    """Our worker and a bare reader of a Redis stream, which alternate."""
    with running() as valkey, ModelServer() as model, worker(folder, valkey) as bus:
        model.record = False
        ours = Ours(model)
        with plain(valkey) as bare:
            for _ in range(WARM_UP + TRIGGERS):
                ours.once()
                bare.once()
        bus.close()
    return Figure(
        "trigger",
        percentile(ours.times[WARM_UP:], SHARE),
        percentile(bare.times[WARM_UP:], SHARE),
        "ms",
        f"p99 of {TRIGGERS}: commit of a message to the model server's first byte, a worker process on "
        f"{environment.database()} / XADD to XREADGROUP between two processes, the same Valkey",
        most_times=8,
    )


@contextmanager
def worker(folder: Path, valkey: ValkeyServer) -> Iterator[RedisBus]:
    """Start a worker process. This process takes the part of the web server, on the bus it yields."""
    os.environ["REDIS_URL"] = valkey.url
    paca.bus._bus = bus = RedisBus(valkey.url)
    try:
        with WorkerProcess(folder, lease_seconds=15):
            yield bus
    finally:
        del os.environ["REDIS_URL"]
        paca.bus._bus = None


class Ours:
    """Measures a chat: from the commit of its first message to the answer of the scripted model."""

    def __init__(self, model: ModelServer) -> None:
        self.times: list[float] = []
        self._model = model
        self._answered = 0.0
        self._asked = threading.Event()
        self._world = make_world(
            "Triggers", model=MODEL, base_url=model.base_url, llm_api_key="sk-test-1234"
        )

    def once(self) -> None:
        self._model.script(self._answer)
        self._asked.clear()
        committed: list[float] = []
        with transaction.atomic():
            transaction.on_commit(lambda: committed.append(time.monotonic()))
            sent = services.start_chat(self._world.agent, text="Hello", by=self._world.owner)
        # This process only waits: the model server in one of its threads must not be delayed.
        assert self._asked.wait(30)
        observed = ObservedConversation(sent.conversation_id)
        while observed.status in ("queued/", "running/"):
            time.sleep(BETWEEN_SECONDS)
        assert observed.status == "finished/answered", observed.status
        self.times.append((self._answered - committed[0]) * 1000)

    def _answer(self, _body: dict[str, Any]) -> Scripted:
        self._answered = time.monotonic()
        self._asked.set()
        return says("Hello.")


class Plain:
    """Measures an entry of a Redis stream: from its XADD to its arrival in another process."""

    def __init__(self, valkey: ValkeyServer, reader: subprocess.Popen[str]) -> None:
        self.times: list[float] = []
        self._client = redis.Redis.from_url(valkey.url, protocol=2)
        self._reader = reader

    def once(self) -> None:
        assert self._reader.stdout is not None
        time.sleep(BETWEEN_SECONDS)
        began = time.monotonic()
        self._client.xadd("plain", {"trigger_id": "0b6e7f0a-0000-4000-8000-000000000000"})
        self.times.append((float(self._reader.stdout.readline()) - began) * 1000)


@contextmanager
def plain(valkey: ValkeyServer) -> Iterator[Plain]:
    command = [sys.executable, "-m", "tests.bench.plain_reader", valkey.url]
    reader = subprocess.Popen(
        [*command, str(WARM_UP + TRIGGERS)], stdout=subprocess.PIPE, text=True
    )
    with reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
        yield Plain(valkey, reader)
