"""What the rig changes in a process of Paca on purpose: the control that must fail, and another host."""

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
    """Change this process so."""
    {NO_CALL_TABLE: _forget_calls, ELSEWHERE: _be_elsewhere}[variant]()


def _forget_calls() -> None:
    """The runner knows no call again: whoever carries a turn on starts its command anew."""
    original = RunnerWorkspace.run

    async def run(self: RunnerWorkspace, command: Command, *given: Any, **named: Any) -> Any:
        unheard_of = dataclasses.replace(command, call_id=uuid.uuid4().hex)
        return await original(self, unheard_of, *given, **named)

    RunnerWorkspace.run = run  # type: ignore[method-assign]


def _be_elsewhere() -> None:
    """No other worker can see whether this process lives: only the time tells."""
    worker_registry.pid_namespace_id = lambda: f"elsewhere {os.getpid()}"  # type: ignore[assignment]
