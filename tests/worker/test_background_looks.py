"""Looks at background commands: sandboxes that started anew or do not answer, old runners, and databases that fail."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

import pytest
from django.db import OperationalError

from paca.conversations import store
from paca.engine.tools.background_state import BackgroundCommand
from paca.engine.workspace import CallReport, CallUnknown, SandboxGone, WorkspaceError
from paca.sandbox.base import SandboxSpec
from paca.sandbox.manager import SandboxManager
from paca.sandbox.runner_client import Attachment
from paca.sandbox.runner_workspace import RunnerWorkspace
from paca.worker import background_looks, background_monitor, background_watch
from paca.worker.background_looks import LiveProgress
from paca.worker.background_monitor import BackgroundMonitor
from paca.worker.background_watch import IdleConversation
from tests.support.fake_sandbox_workspace import FakeSandboxWorkspace

pytestmark = pytest.mark.anyio


async def test_commands_of_another_start_of_the_sandbox_are_lost():
    """A helper has started the sandbox of its conversation anew, whose own log tells nothing of it."""
    workspace = FakeSandboxWorkspace()
    command = BackgroundCommand("a" * 32, "bg1", "make", "earlier")
    found = await background_looks.look(workspace, [command], {command.call_id: "ada"})
    assert [(each.handle, each.cause) for each in found.ended] == [("bg1", "lost")]


class SilentBackend:
    """The first sandbox never answers; the others do not run."""

    def __init__(self, silent: object) -> None:
        self.silent = silent
        self.asked: list[object] = []

    async def attach(self, spec: SandboxSpec, *, epoch: int) -> None:
        self.asked.append(spec.conversation_id)
        if spec.conversation_id == self.silent:
            await asyncio.Event().wait()


async def test_sandbox_that_does_not_answer_holds_up_no_other(monkeypatch):
    ids = [uuid4() for _ in range(3)]
    backend, woken = SilentBackend(ids[0]), []
    idle = [
        IdleConversation(each, 1, SandboxSpec(each), (BackgroundCommand("a", "bg1", "make", "b"),))
        for each in ids
    ]

    async def call(function: Any, *args: Any) -> Any:
        if function is background_watch.take_due:
            return idle
        if function is background_looks.read_stops:
            return {}
        woken.append(args[0])
        return None

    async def choose(name: str) -> SilentBackend:
        return backend

    monkeypatch.setattr(background_watch, "LONGEST_LOOK_SECONDS", 0.05)
    manager = cast(
        SandboxManager, SimpleNamespace(choose_backend=choose, with_open_gate=lambda spec: spec)
    )
    await background_watch.watch(cast(Any, SimpleNamespace(call=call)), manager, LiveProgress())
    assert sorted(backend.asked) == sorted(ids)
    assert sorted(woken) == sorted(ids[1:])


async def test_monitor_goes_on_after_an_error_of_the_database_and_ends_with_its_lease(monkeypatch):
    monkeypatch.setattr(background_monitor, "LOOK_SECONDS", 0)
    errors = [OperationalError("database is locked"), SandboxGone(), store.Fenced()]

    class Failing(BackgroundMonitor):
        async def look(self) -> None:
            raise errors.pop(0)

    monitor = Failing(cast(Any, None), cast(Any, None), cast(Any, None))
    async with asyncio.timeout(120):
        await monitor._watch()
    assert errors == []


class OlderRunner:
    """An attachment to a runner that knows no ``look``."""

    seconds = {"runs": 12.5, "ended": 0.0}
    has_gate = False

    async def request(self, op: str, **fields: Any) -> dict[str, float]:
        if op != "follow":
            raise WorkspaceError("This runner does not know the request.")
        if fields["call_id"] not in self.seconds:
            raise CallUnknown
        return {"seconds": self.seconds[fields["call_id"]]}


async def test_an_older_runner_tells_which_commands_have_ended():
    workspace = RunnerWorkspace(cast(Attachment, OlderRunner()), {})
    found = await workspace.look(["runs", "ended", "never"])
    assert found == {"runs": CallReport(False, 0.0, ""), "ended": CallReport(True, 0.0, "")}
