"""Variants of a Paca process: it knows no earlier call or write, or it seems to be on another host."""

import dataclasses
import os
import uuid
from typing import Any

from paca.engine.workspace import Command
from paca.projects.tools import access
from paca.sandbox.runner_workspace import RunnerWorkspace
from paca.worker import worker_registry

VARIABLE = "PACA_VARIANT"
NO_CALL_TABLE, NO_WRITE_KEYS, ELSEWHERE = "no-call-table", "no-write-keys", "elsewhere"


def apply(variant: str) -> None:
    """Turn this process into the variant."""
    {
        NO_CALL_TABLE: _renew_call_ids,
        NO_WRITE_KEYS: _renew_write_keys,
        ELSEWHERE: _hide_from_other_workers,
    }[variant]()


def _renew_call_ids() -> None:
    """Give each command a new call id. A worker that continues a turn then starts its command again."""
    original = RunnerWorkspace.run

    async def run(self: RunnerWorkspace, command: Command, *given: Any, **named: Any) -> Any:
        with_new_id = dataclasses.replace(command, call_id=uuid.uuid4().hex)
        return await original(self, with_new_id, *given, **named)

    RunnerWorkspace.run = run  # type: ignore[method-assign]


def _renew_write_keys() -> None:
    """Give each write on a project a new key. A worker that continues a turn then writes again."""
    access._key = lambda _agent, _call_id: uuid.uuid4().hex


def _hide_from_other_workers() -> None:
    """Make this process invisible to other workers: they notice its death only when its lease expires."""
    worker_registry.pid_namespace_id = lambda: f"elsewhere {os.getpid()}"  # type: ignore[assignment]
