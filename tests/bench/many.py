"""Fifty conversations of fifty turns in one worker, over OpenAI's dialect, with everything stored.

A turn here is one model call and its call of ``think``. The model server runs in this process, the
worker and the bare loop in one process each.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from paca.agents import services as agents
from paca.agents.models import Agent
from paca.conversations import services
from paca.conversations.models import Conversation, Worker
from tests.bench import environment
from tests.bench.figures import Figure
from tests.bench.turns import LAST, cpu_seconds, model, thinking
from tests.support import openai_dialect
from tests.support.model_script import Scripted
from tests.support.model_server import ModelServer
from tests.support.worker_process import WorkerProcess
from tests.support.world import World, make_world

CONVERSATIONS = 50
TURNS = 50
MOST_PER_AGENT = 10  # the most that one agent takes at once
QUESTION = "Think about it, step by step."


def step(body: dict[str, Any]) -> Scripted:
    """The reply of the next turn, whose number is read from the request."""
    turns = sum(map(openai_dialect.is_tool_turn, body["messages"]))
    return thinking(turns) if turns < TURNS else LAST


def many(folder: Path) -> Figure:
    """Both run one small round first, in which the libraries are loaded."""
    with model() as server:
        server.script(step)
        ours_cpu, ours_wall = _ours(server, folder)
        bare_cpu, bare_wall = _bare(server)
    turns = CONVERSATIONS * TURNS
    return Figure(
        "many",
        ours_cpu * 1000 / turns,
        bare_cpu * 1000 / turns,
        "ms CPU",
        f"a turn; {CONVERSATIONS} conversations of {TURNS} turns at once: a worker process on "
        f"{environment.database()}, everything stored / a bare loop on litellm's streams; wall "
        f"{ours_wall:.1f} s / {bare_wall:.1f} s",
        most_times=0.4,
    )


def _ours(server: ModelServer, folder: Path) -> tuple[float, float]:
    """CPU of the worker's process and wall time, in seconds."""
    how = {"base_url": f"{server.base_url}/v1", "llm_api_key": "sk-test-1234"}
    world = make_world("Many", model="openai/gpt-test", limit_steps=1000, **how)
    held = [world.agent, *(_another(world, number, how) for number in range(4))]
    for agent in held:
        agents.configure(agent, by=world.owner, limit_concurrent=MOST_PER_AGENT)
    with WorkerProcess(folder, lease_seconds=15, concurrency=CONVERSATIONS):
        pid = Worker.objects.get().pid
        _run_conversations(world, held[:1])
        return _timed(pid, lambda: _run_conversations(world, held * MOST_PER_AGENT))


def _another(world: World, number: int, how: dict[str, Any]) -> Agent:
    names = {"name": f"Agent {number}", "handle": f"agent{number}"}
    role = world.agent.member.role
    settings = {"model": "openai/gpt-test", "limit_steps": 1000, **how, **names}
    return agents.create(world.project, role=role, by=world.owner, **settings)


def _run_conversations(world: World, held: list[Agent]) -> None:
    sent = [services.start_chat(agent, text=QUESTION, by=world.owner) for agent in held]
    ids = [one.conversation_id for one in sent]
    while True:
        states = Counter(Conversation.objects.filter(pk__in=ids).values_list("status", flat=True))
        if states["finished"] == len(ids):
            return
        assert not states.keys() - {"queued", "running", "finished"}, states
        time.sleep(0.1)


def _bare(server: ModelServer) -> tuple[float, float]:
    command = [sys.executable, "-m", "tests.bench.bare_litellm", server.base_url + "/v1"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as loop:
        assert loop.stdin is not None

        def hold(count: int) -> None:
            assert loop.stdin is not None
            assert loop.stdout is not None
            loop.stdin.write(f"{count} {QUESTION}\n")
            loop.stdin.flush()
            assert loop.stdout.readline() == f"{count * TURNS}\n", "the bare loop ended early"

        hold(1)
        found = _timed(loop.pid, lambda: hold(CONVERSATIONS))
        loop.stdin.close()
    return found


def _timed(pid: int, work: Any) -> tuple[float, float]:
    used, began = cpu_seconds(pid), time.monotonic()
    work()
    return cpu_seconds(pid) - used, time.monotonic() - began
