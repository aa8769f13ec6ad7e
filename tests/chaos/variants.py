"""Variants of a Paca process: without keys, calls or approvals, with late answers, or as on another host."""

import dataclasses
import os
import uuid
from typing import Any

from django.db import transaction

from paca.engine.approvals import policy
from paca.engine.workspace import Command
from paca.projects.tools import access
from paca.sandbox.runner_workspace import RunnerWorkspace
from paca.worker import turn_end, worker_registry

VARIABLE = "PACA_VARIANT"
NO_CALL_TABLE, NO_WRITE_KEYS, ELSEWHERE = "no-call-table", "no-write-keys", "elsewhere"
ANSWERS_AFTER_THE_COMMIT = "answers-after-the-commit"
NO_APPROVALS = "no-approvals"


def apply(variant: str) -> None:
    """Turn this process into the variant."""
    {
        NO_CALL_TABLE: _renew_call_ids,
        NO_WRITE_KEYS: _renew_write_keys,
        ANSWERS_AFTER_THE_COMMIT: _publish_after_the_commit,
        NO_APPROVALS: _ask_nobody,
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


def _publish_after_the_commit() -> None:
    """Post the answer of a turn after the transaction that ends the turn, not in it."""
    original = turn_end.publish

    def publish(*given: Any, **named: Any) -> None:
        transaction.on_commit(lambda: original(*given, **named))

    turn_end.publish = publish


def _ask_nobody() -> None:
    """Let each call run without a person."""
    policy.finding_of = lambda *_: None


def _hide_from_other_workers() -> None:
    """Make this process invisible to other workers: they notice its death only when its lease expires."""
    worker_registry.pid_namespace_id = lambda: f"elsewhere {os.getpid()}"  # type: ignore[assignment]
