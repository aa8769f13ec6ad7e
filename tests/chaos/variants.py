"""Variants of a Paca process: one whose runner knows no earlier call, one that seems to be on another host."""

import dataclasses
import os
import uuid
from typing import Any

from paca.engine.workspace import Command
from paca.sandbox.runner_workspace import RunnerWorkspace
from paca.worker import worker_registry

VARIABLE = "PACA_VARIANT"
NO_CALL_TABLE, ELSEWHERE = "no-call-table", "elsewhere"


def plant(variant: str) -> None:
    """Turn this process into the variant."""
    {NO_CALL_TABLE: _forget_calls, ELSEWHERE: _be_elsewhere}[variant]()


def _forget_calls() -> None:
    """Give each command a new call id. A worker that continues a turn then starts its command again."""
    original = RunnerWorkspace.run

    async def run(self: RunnerWorkspace, command: Command, *given: Any, **named: Any) -> Any:
        unheard_of = dataclasses.replace(command, call_id=uuid.uuid4().hex)
        return await original(self, unheard_of, *given, **named)

    RunnerWorkspace.run = run  # type: ignore[method-assign]


def _be_elsewhere() -> None:
    """Make this process invisible to other workers: they notice its death only when its lease expires."""
    worker_registry.pid_namespace_id = lambda: f"elsewhere {os.getpid()}"  # type: ignore[assignment]
