"""The setup of sandboxes: the commands run once for all who wait, and whatever ends a build leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from paca.conversations import sandbox_setups
from paca.conversations import services as conversations
from paca.conversations.models import SandboxSetup, SetupUse
from paca.engine.workspace import CommandOutcome, SandboxBroken, SandboxUnavailable
from paca.sandbox.base import SandboxSpec
from paca.sandbox.environment import SetupPlan
from paca.worker.database import Database
from paca.worker.sandboxes import setups
from paca.worker.sandboxes.setups import SetupBuilder
from tests.support.fake_sandbox_workspace import Answer, FakeSandboxWorkspace, RunningCommand
from tests.support.world import make_world

pytestmark = pytest.mark.django_db(transaction=True)
COMMANDS = "pip install ruff"


class FakeBackend:
    """A backend whose sandboxes are in memory. ``answer``: how the commands end."""

    name = "docker"

    def __init__(self, answer: Callable[[], Answer]) -> None:
        self.answer = answer
        self.kept: set[UUID] = set()
        self.opened: list[SandboxSpec] = []
        self.removed: list[UUID] = []
        self.started = asyncio.Event()
        self.setups = self

    async def place(self) -> str:
        return "here"

    async def image_digest(self, image: str) -> str:
        return "sha256:1"

    async def exists(self, files: UUID) -> bool:
        return files in self.kept

    async def open(self, spec: SandboxSpec, *, epoch: int) -> Any:
        self.opened.append(spec)
        backend, files = self, spec.conversation_id

        class Opened(FakeSandboxWorkspace):
            async def end(self, *, keep_files: bool = True) -> None:
                backend.kept.add(files)

        self.started.set()
        return Opened(answers={COMMANDS: self.answer(), setups.SHARE: ""})

    async def remove(self, files: UUID, volume: str = "") -> None:
        self.removed.append(files)
        self.kept.discard(files)


async def _same(spec: SandboxSpec) -> SandboxSpec:
    return spec


async def _close(_files: UUID) -> None:
    pass


MANAGER: Any = SimpleNamespace(
    with_gate=_same, with_cache=_same, gates=SimpleNamespace(close=_close)
)


@pytest.fixture
def specs(monkeypatch: pytest.MonkeyPatch) -> list[SandboxSpec]:
    """The sandboxes of three conversations of one agent."""
    monkeypatch.setattr(setups, "LOOK_SECONDS", 0.01)
    world = make_world()
    plan = SetupPlan("k" * 64, world.project.pk, world.agent.pk, COMMANDS)
    chats = [
        conversations.start_chat(world.agent, text="Go", by=world.owner).conversation_id
        for _ in range(3)
    ]
    return [SandboxSpec(chat, setup_plan=plan) for chat in chats]


async def prepare(spec: SandboxSpec, backend: Any, worker: str = "one") -> SandboxSpec:
    database = Database()
    try:
        builder = SetupBuilder(
            manager=MANAGER, database=database, worker=worker, lend_slot=nullcontext
        )
        return await builder.prepare(spec, backend)
    finally:
        database.close()


def test_commands_run_once_for_many_conversations_of_two_workers(specs: list[SandboxSpec]) -> None:
    async def run() -> None:
        backend = FakeBackend(lambda: "Installed.\n")
        workers = ("one", "two", "two")
        found = await asyncio.gather(
            *(prepare(spec, backend, worker) for spec, worker in zip(specs, workers, strict=True))
        )
        [built] = backend.opened
        assert {each.setup for each in found} == {built.conversation_id}
        assert (built.builds_setup, built.setup_plan, built.variables.values) == (True, None, {})
        assert backend.kept == {built.conversation_id}

    asyncio.run(run())
    [row] = SandboxSetup.objects.all()
    assert (row.state, row.output, row.reason) == ("ready", "Installed.\n", "")
    assert SetupUse.objects.count() == 3


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (CommandOutcome(1, "E: no such package\n", 3.0), "exit code 1"),
        (CommandOutcome(None, "Building ...\n", 900.0, cause="timed_out"), "timed out"),
        (CommandOutcome(None, "", 9.0, cause="disk_full"), "disk full"),
    ],
)
def test_a_failure_is_told_with_its_last_lines_and_not_repeated(
    specs: list[SandboxSpec], outcome: CommandOutcome, said: str
) -> None:
    backend = FakeBackend(lambda: outcome)
    for spec in specs[:2]:
        with pytest.raises(SandboxBroken, match="Correct the setup commands") as error:
            asyncio.run(prepare(spec, backend))
        assert said in error.value.detail
        assert outcome.output.strip() in error.value.detail
    [built] = backend.opened
    assert backend.removed == [built.conversation_id]
    assert SandboxSetup.objects.get().output == outcome.output


def test_stop_ends_a_build_and_the_next_conversation_builds(specs: list[SandboxSpec]) -> None:
    async def run() -> None:
        backend = FakeBackend(lambda: RunningCommand("Collecting"))
        stopped = asyncio.create_task(prepare(specs[0], backend))
        await backend.started.wait()
        waiting = asyncio.create_task(prepare(specs[1], backend, "two"))
        backend.answer = lambda: "Installed."
        stopped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stopped
        found = await waiting
        first, second = (each.conversation_id for each in backend.opened)
        assert backend.removed == [first]
        assert found.setup == second

    asyncio.run(run())


def test_a_killed_worker_leaves_a_build_that_another_takes_over(specs: list[SandboxSpec]) -> None:
    plan = specs[0].setup_plan
    assert plan is not None
    dead = sandbox_setups.claim(
        plan, image="sha256:1", backend="docker", place=setups.place_of("here"), worker="dead"
    )
    SandboxSetup.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    backend = FakeBackend(lambda: "Installed.")
    found = asyncio.run(prepare(specs[0], backend))
    assert found.setup not in (None, dead.files)
    assert len(backend.opened) == 1


def test_a_worker_that_lost_its_build_keeps_nothing(
    specs: list[SandboxSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It slept, and another one has built meanwhile."""
    monkeypatch.setattr(setups, "RENEW_SECONDS", 0.01)

    async def run() -> None:
        backend = FakeBackend(lambda: RunningCommand())
        sleeper = asyncio.create_task(prepare(specs[0], backend))
        await backend.started.wait()
        other = uuid4()
        backend.kept.add(other)
        rows = SandboxSetup.objects.all()
        await rows.aupdate(files=other, state="ready", worker="two")
        assert (await sleeper).setup == other
        assert backend.removed == [backend.opened[0].conversation_id]

    asyncio.run(run())


def test_files_that_are_gone_are_built_again(specs: list[SandboxSpec]) -> None:
    backend = FakeBackend(lambda: "Installed.")
    first = asyncio.run(prepare(specs[0], backend)).setup
    backend.kept.clear()
    second = asyncio.run(prepare(specs[1], backend)).setup
    assert first != second
    assert len(backend.opened) == 2


def test_a_backend_that_fails_leaves_no_build(specs: list[SandboxSpec]) -> None:
    backend: Any = FakeBackend(lambda: "")

    async def refuse(spec: SandboxSpec, *, epoch: int) -> Any:
        raise SandboxUnavailable("No space.")

    backend.open = refuse
    with pytest.raises(SandboxUnavailable, match="No space"):
        asyncio.run(prepare(specs[0], backend))
    assert not SandboxSetup.objects.exists()


def test_sweeps_remove_what_nothing_needs(specs: list[SandboxSpec]) -> None:
    backend: Any = FakeBackend(lambda: "Installed.")
    database = Database()
    files = asyncio.run(prepare(specs[0], backend)).setup
    assert asyncio.run(setups.remove_unused(backend, database)) == 0
    SetupUse.objects.all().delete()
    sandbox_setups.retire(files)
    assert asyncio.run(setups.remove_unused(backend, database)) == 1
    database.close()
    assert backend.removed == [files]
    assert not SandboxSetup.objects.exists()
