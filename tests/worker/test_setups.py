"""The setup of sandboxes: the commands run once for all who wait, and whatever ends a build leaves nothing behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError
from django.utils import timezone

from paca.agents.models import Agent
from paca.agents.services import variables
from paca.common.secret_removal import SecretMask
from paca.conversations import sandbox_setups
from paca.conversations import services as conversations
from paca.conversations.models import SandboxSetup, SetupUse
from paca.engine.workspace import Command, CommandOutcome, SandboxBroken, SandboxUnavailable
from paca.projects.models import Project
from paca.sandbox import start_phases
from paca.sandbox.base import SandboxSpec
from paca.sandbox.egress.booking import Booking, read_lines
from paca.sandbox.egress.folders import GateFolder
from paca.sandbox.egress.reasons import Reason
from paca.sandbox.environment import SetupPlan
from paca.worker.database import Database
from paca.worker.sandboxes import setup_report, setups
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


GATES = SimpleNamespace(close=_close)
MANAGER: Any = SimpleNamespace(with_gate=_same, with_cache=_same, gates=GATES)


@pytest.fixture
def specs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[SandboxSpec]:
    """The sandboxes of three conversations of one agent."""
    monkeypatch.setattr(setups, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(GATES, "folder", lambda files: GateFolder(tmp_path, files), raising=False)
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


def test_a_running_sandbox_keeps_what_it_was_started_with(specs: list[SandboxSpec]) -> None:
    """Whatever the settings say now: else its next turn would wait, fail, or lose its programs."""
    backend = FakeBackend(lambda: "Installed.")
    first = asyncio.run(prepare(specs[0], backend)).setup
    assert first is not None
    sandbox_setups.retire(first)
    changed = replace(specs[0], setup_plan=replace(specs[0].setup_plan, key="l" * 64))

    def prepared(spec: SandboxSpec, **more: Any) -> UUID | None:
        database = Database()
        given = {"manager": MANAGER, "database": database, "worker": "one"}
        try:
            return asyncio.run(
                setups.prepare_environment(
                    spec, cast(Any, backend), lend_slot=nullcontext, **given, **more
                )
            ).setup
        finally:
            database.close()

    assert prepared(changed, is_running=True) == first
    assert prepared(replace(changed, setup_plan=None), is_running=True) == first
    assert prepared(specs[1], is_running=True) is None  # it was started before there was a setup
    assert sandbox_setups.removable("docker", setups.place_of("here"), days=14) == []
    assert prepared(changed) not in (None, first)
    assert prepared(replace(changed, setup_plan=None, setup=first)) is None


def test_a_report_has_the_hosts_and_no_secret(specs: list[SandboxSpec], tmp_path: Path) -> None:
    plan = specs[0].setup_plan
    assert plan is not None
    by = Project.objects.get(pk=plan.project_id).members.get(user__isnull=False)
    agent = Agent.objects.get(pk=plan.agent_id)
    variables.store(agent, name="TOKEN", value="tok-3f9a77d2", by=by)

    def answer(command: Command) -> CommandOutcome:
        folder = GateFolder(tmp_path, UUID(command.call_id.partition("-")[0]))
        folder.create()
        booking = Booking(folder.booked)
        booking.begin("packages.example", 443)
        booking.end("packages.example", 443, Reason.NONE, sent=10, received=2000)
        booking.begin("tok-3f9a77d2.example.org", 443, Reason.NOT_LISTED)
        return CommandOutcome(1, "Sent tok-3f9a77d2\n", 1.0)

    backend = FakeBackend(lambda: answer)
    with pytest.raises(SandboxBroken) as error:
        asyncio.run(prepare(specs[0], backend))
    row = SandboxSetup.objects.get()
    assert row.output == "Sent ***\n"
    assert "tok-3f9a77d2" not in error.value.detail + row.reason + str(row.network)
    found = [(each["host"], each["reason"], each["connections"]) for each in row.network]
    assert found == [("packages.example", "", 1), ("***.example.org", "not_listed", 1)]
    assert row.network[0]["received_bytes"] == 2000


def test_hosts_count_once_when_the_commands_end_during_a_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = GateFolder(tmp_path, uuid4())
    folder.create()
    Booking(folder.booked).begin("packages.example", 443)
    both = threading.Barrier(2, timeout=0.2)

    def read_at_once(*where: Any, **how: Any) -> Any:
        found = read_lines(*where, **how)
        with suppress(threading.BrokenBarrierError):
            both.wait()
        return found

    monkeypatch.setattr(setup_report, "read_lines", read_at_once)
    report = setup_report.SetupReport(SecretMask(()), folder)
    looks = [threading.Thread(target=report.network) for _ in range(2)]
    for look in looks:
        look.start()
    for look in looks:
        look.join()
    assert [each["connections"] for each in report.network()] == [1]


def test_a_build_uses_no_package_cache(specs: list[SandboxSpec]) -> None:
    """Agents write to it, and what a setup installs runs in the sandboxes of others."""
    backend = FakeBackend(lambda: "Installed.")
    project = specs[0].setup_plan.project_id if specs[0].setup_plan else None
    asyncio.run(prepare(replace(specs[0], cache_of=project), backend))
    assert backend.opened[0].cache_of is None


def test_a_database_that_is_away_for_a_moment_ends_no_build(
    specs: list[SandboxSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setups, "RENEW_SECONDS", 0.01)
    renew, answers, renewed = sandbox_setups.renew, iter([True]), threading.Event()

    def away(*given: Any) -> bool:
        if next(answers, False):
            raise OperationalError("the server is starting up")
        renewed.set()
        return renew(*given)

    monkeypatch.setattr(sandbox_setups, "renew", away)

    async def run() -> None:
        running = RunningCommand()
        backend = FakeBackend(lambda: running)
        building = asyncio.create_task(prepare(specs[0], backend))
        assert await asyncio.to_thread(renewed.wait, 30)
        running.finish("Installed.")
        await building
        assert len(backend.opened) == 1

    asyncio.run(run())


def test_output_of_commands_that_run_is_stored_before_the_lease_is_due(
    specs: list[SandboxSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setups, "TELL_SECONDS", 0.01)
    monkeypatch.setattr(setups, "RENEW_SECONDS", 600.0)
    renew, stored = sandbox_setups.renew, threading.Event()

    def renew_and_tell(files: UUID, output: str, network: Any) -> bool:
        is_ours = renew(files, output, network)
        if output == "begun\n":
            stored.set()
        return is_ours

    monkeypatch.setattr(sandbox_setups, "renew", renew_and_tell)

    async def run() -> None:
        running = RunningCommand("begun\n")
        building = asyncio.create_task(prepare(specs[0], FakeBackend(lambda: running)))
        assert await asyncio.to_thread(stored.wait, 30)
        row = await SandboxSetup.objects.aget()
        assert (row.state, row.output) == ("building", "begun\n")
        running.finish("Installed.")
        await building

    asyncio.run(run())


def test_commands_that_run_are_told_as_the_phase_of_the_start(specs: list[SandboxSpec]) -> None:
    class Backend(FakeBackend):
        async def open(self, spec: SandboxSpec, *, epoch: int) -> Any:
            start_phases.enter("start")
            return await super().open(spec, epoch=epoch)

    async def run() -> str:
        running = RunningCommand()
        backend = Backend(lambda: running)
        with start_phases.measure() as phases:
            building = asyncio.create_task(prepare(specs[0], backend))
            await backend.started.wait()
            await running.is_started.wait()
            phase = phases.phase
            running.finish("Installed.")
            await building
        return phase

    assert asyncio.run(run()) == "setup"


def test_failure_without_output_says_so(specs: list[SandboxSpec]) -> None:
    with pytest.raises(SandboxBroken, match="They printed nothing.$"):
        asyncio.run(prepare(specs[0], FakeBackend(lambda: CommandOutcome(1, "", 1.0))))


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
