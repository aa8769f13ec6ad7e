"""The sweeper: sandboxes that no run is using, and files that belong to no conversation."""

import asyncio
import os
import signal
import socket
import uuid
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.functions import Now

from paca.conversations import deletion
from paca.conversations.models import Conversation, Sandbox, Worker
from paca.ops import sandbox_factory
from paca.sandbox.base import IdlePolicy, SandboxSpec
from paca.sandbox.bubblewrap.backend import Bubblewrap
from paca.sandbox.bubblewrap.sandbox_directory import SandboxDirectory
from paca.sandbox.docker.engine import CALL_SECONDS
from paca.sandbox.exit_cause import ExitCause
from paca.sandbox.manager import DockerAddress, SandboxManager
from paca.worker.database import Database
from paca.worker.sandboxes.sweeper import ORPHAN_SECONDS, Sweeper, SweepResult
from paca.worker.sandboxes.warm_pool import WarmPool
from tests.support import docker_backend, runners
from tests.support.fake_clock import FakeClock
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
SERVER = "(while :; do date >> beats; sleep 0.1; done) > /dev/null 2>&1 & echo $! > server.pid"
PERSISTENT = {"sandbox_life": "persistent"}
NO_COLLABORATORS = {"sandbox_manager": None, "database": None, "has_disk_space": None}


def sweep(
    manager: SandboxManager, *, idle: float = 60, paused: float = 60, by: str = ""
) -> SweepResult:
    """Sweep once, as a worker does every ten seconds."""
    database = Database()
    try:
        return asyncio.run(Sweeper(by, database, manager, IdlePolicy(idle, paused)).sweep(set()))
    finally:
        database.close()


def set_last_use(flow: Flow, conversation: ObservedConversation, seconds: float) -> None:
    """Set the last use to so many seconds ago, once the run that records it has ended."""
    if flow.worker is not None:
        wait_until(lambda: not flow.worker._worker._runs)
    Sandbox.objects.filter(conversation=conversation.id).update(
        last_used_at=Now() - timedelta(seconds=seconds)
    )


def kill_runner(flow: Flow, conversation: ObservedConversation) -> None:
    """Kill the runner, and wait until its process has ended."""
    runner = runner_of(flow, conversation)
    os.kill(runner, signal.SIGKILL)
    wait_until(lambda: runners.state(runner) in {"Z", "X"})


def runner_of(flow: Flow, conversation: ObservedConversation) -> int:
    return runners.pid(Bubblewrap(flow.folder, "any"), conversation.id)


# --- ephemeral and persistent ---------------------------------------------------------------------


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def persistent(request, transactional_db, tmp_path):
    if request.param == "docker":
        docker_backend.skip_without()
    with Flow(tmp_path, sandbox=request.param, **PERSISTENT) as flow:
        yield flow
        manager = flow.sandboxes()
        for conversation in Conversation.objects.values_list("pk", flat=True):
            asyncio.run(manager.remove(conversation))


def test_persistent_sandbox_is_paused_and_resumed_by_the_next_message(persistent, monkeypatch):
    # A sandbox that was just attached to is kept.
    monkeypatch.setattr("paca.sandbox.docker.backend.CLOCK_MARGIN_SECONDS", 0)
    flow = persistent
    conversation = flow.ask("Serve", [calls(bash=SERVER), says("Runs.")])
    set_last_use(flow, conversation, 61)
    assert sweep(flow.sandboxes()).ended == 0
    assert conversation.has_event("sandbox.paused")
    assert Sandbox.objects.get(conversation=conversation.id).state == "paused"
    flow.ask(
        "Still?",
        [calls(bash="kill -0 $(cat server.pid) && echo serves"), says("Yes.")],
        after=conversation,
    )
    assert conversation.outputs[1].startswith("serves\n")
    (started,), (resumed,) = (
        conversation.event_data("sandbox.started"),
        conversation.event_data("sandbox.resumed"),
    )
    assert resumed["boot_id"] == started["boot_id"]
    assert Sandbox.objects.get(conversation=conversation.id).state == "running"
    set_last_use(flow, conversation, 121)
    assert sweep(flow.sandboxes()).ended == 1
    assert conversation.event_data("sandbox.removed") == [{"kept": True}]
    flow.ask("Files?", [calls(bash="wc -l < beats"), says("Yes.")], after=conversation)
    assert int(conversation.outputs[2].split()[0]) > 0
    assert_replay_matches(conversation)


def test_ephemeral_sandbox_ends_and_keeps_its_files(flow):
    conversation = flow.ask("Serve", [calls(bash=SERVER), says("Runs.")])
    flow.stop_worker()  # it would sweep too
    set_last_use(flow, conversation, 61)
    assert sweep(flow.sandboxes()).ended == 1
    assert not conversation.has_event("sandbox.paused")
    flow.start_worker()
    flow.ask(
        "Still?",
        [calls(bash="kill -0 $(cat server.pid) || wc -l beats"), says("No.")],
        after=conversation,
    )
    assert "beats" in conversation.outputs[1]


class ClaimedMeanwhile(SandboxManager):
    """A worker claims the conversation while its sandbox is being paused."""

    async def pause(self, conversation_id: uuid.UUID, backend_name: str) -> bool:
        paused = await super().pause(conversation_id, backend_name)
        rows = Conversation.objects.filter(pk=conversation_id)
        await asyncio.to_thread(_with_own_connection, lambda: rows.update(status="queued"))
        await asyncio.to_thread(_with_own_connection, lambda: rows.update(status="running"))
        return paused


def _with_own_connection(work: Callable[[], Any]) -> None:
    try:
        work()
    finally:
        connection.close()


def test_sandbox_paused_during_a_claim_is_resumed(transactional_db, tmp_path):
    with Flow(tmp_path, **PERSISTENT) as flow:
        conversation = flow.ask("Write", [calls(bash="echo x > note.txt"), says("Done.")])
        flow.stop_worker()
        set_last_use(flow, conversation, 61)
        sweep(ClaimedMeanwhile(kind="bubblewrap", data_dir=tmp_path, install_id="any"))
        assert not conversation.has_event("sandbox.paused")
        try:
            assert runners.state(runner_of(flow, conversation)) in {"S", "R"}
        finally:
            kill_runner(flow, conversation)


# --- orphans and leftovers -----------------------------------------------------------


def make_workspace(folder: Path, installation: str, conversation_id: uuid.UUID) -> Path:
    """Make the files of a conversation, for one installation or another."""
    directory = SandboxDirectory(folder, installation, conversation_id)
    directory.create()
    return directory.workspace


def test_sweep_removes_and_counts_workspaces_without_a_conversation(flow):
    conversation = flow.ask("Write", [calls(bash="echo x > note.txt"), says("Done.")])
    flow.stop_worker()
    Worker.objects.create(id="counts", pid=1, concurrency=1, heartbeat_at=Now())
    without_workspace, whole, foreign = (uuid.uuid4() for _ in range(3))
    for orphan in (without_workspace, whole):
        make_workspace(flow.folder, docker_backend.install_id(flow.folder), orphan)
    (flow.folder / "workspaces" / str(without_workspace)).rmdir()
    make_workspace(flow.folder, "another database's", foreign)
    (flow.folder / "workspaces" / "notes of a person").mkdir()
    result = sweep(flow.sandboxes(), by="counts")
    assert (result.ended, result.workspaces) == (0, 2)
    left = {path.name.removesuffix(".img") for path in (flow.folder / "workspaces").iterdir()}
    assert left == {str(conversation.id), str(foreign), "notes of a person"}
    directories = {path.name for path in (flow.folder / "run" / "sandboxes").iterdir()}
    assert directories == {str(conversation.id), str(foreign)}
    assert Worker.objects.get(id="counts").sandboxes_reaped == result.total
    assert sweep(flow.sandboxes()).workspaces == 0


def test_sweep_removes_files_of_a_deleted_conversation_without_a_sandbox_row(flow):
    conversation = flow.ask("Write", [calls(bash="echo x > note.txt"), says("Done.")])
    flow.stop_worker()
    Sandbox.objects.all().delete()
    assert sweep(flow.sandboxes()).workspaces == 0
    deletion.delete(conversation.row, by=flow.world.owner)
    assert sweep(flow.sandboxes()).workspaces == 1
    assert not list((flow.folder / "workspaces").glob(f"{conversation.id}*"))


def test_sweep_removes_no_files_if_the_database_has_no_conversations(transactional_db, tmp_path):
    """Such a database may not be restored yet."""
    workspace = make_workspace(tmp_path, "any", uuid.uuid4())
    manager = SandboxManager(kind="bubblewrap", data_dir=tmp_path, install_id="any")
    assert sweep(manager).workspaces == 0
    assert workspace.exists()


def test_sweep_of_a_worker_keeps_orphaned_workspaces_for_a_day(flow):
    flow.ask("Write", [calls(bash="echo x > note.txt"), says("Done.")])
    flow.stop_worker()
    workspace = make_workspace(flow.folder, docker_backend.install_id(flow.folder), uuid.uuid4())
    database = Database()
    sweeper = Sweeper("", database, flow.sandboxes(), IdlePolicy(), orphan_seconds=ORPHAN_SECONDS)
    existed = []
    try:
        with FakeClock(now=0.0) as clock:
            for hours in (0, 23, 25):
                clock.now = hours * 3600.0
                asyncio.run(sweeper.sweep(set()))
                existed.append(workspace.exists())
    finally:
        database.close()
    assert existed == [True, True, False]


def test_sweep_removes_old_leftovers_of_failed_starts(flow):
    flow.ask("Write", [calls(bash="echo x > note.txt"), says("Done.")])
    flow.stop_worker()
    old, new = flow.folder / "run" / "making-old", flow.folder / "run" / "making-new"
    for folder in (old, new):
        (folder / "lib").mkdir(parents=True)
    os.utime(old, (0, 0))
    assert sweep(flow.sandboxes()).leftovers >= 1
    assert not old.exists()
    assert new.exists()


def test_sandbox_killed_while_not_in_use_is_recorded_once(flow):
    conversation = flow.ask("Write", [calls(bash="echo x > note.txt"), says("Done.")])
    flow.stop_worker()
    kill_runner(flow, conversation)
    for _ in range(2):
        sweep(flow.sandboxes())
    (lost,) = conversation.event_data("sandbox.lost")
    assert (lost["end"], lost["exit_code"]) == ("killed", 137)
    assert Sandbox.objects.get(conversation=conversation.id).state == "ended"
    flow.start_worker()
    flow.ask("There?", [calls(bash="cat note.txt"), says("Yes.")], after=conversation)
    assert conversation.outputs[1].startswith("x\n")
    assert_replay_matches(conversation)


class RestartedMeanwhile(SandboxManager):
    """A turn starts the sandbox anew and ends, while the sweeper asks why the sandbox ended."""

    async def find_exit_cause(
        self, conversation_id: uuid.UUID, backend_name: str
    ) -> ExitCause | None:
        cause = await super().find_exit_cause(conversation_id, backend_name)
        rows = Sandbox.objects.filter(conversation=conversation_id)
        await asyncio.to_thread(_with_own_connection, lambda: rows.update(boot_id="a later one"))
        return cause


def test_sweep_records_no_exit_for_a_newer_boot_id(flow):
    conversation = flow.ask("Write", [calls(bash="echo x > note.txt"), says("Done.")])
    flow.stop_worker()
    kill_runner(flow, conversation)
    sweep(RestartedMeanwhile(kind="bubblewrap", data_dir=flow.folder, install_id="any"))
    assert not conversation.has_event("sandbox.lost")
    assert Sandbox.objects.get(conversation=conversation.id).state == "running"
    sweep(flow.sandboxes())
    assert conversation.has_event("sandbox.lost"), "the end of the recorded boot id is stored"


@pytest.fixture
def install_id(flow, monkeypatch) -> str:
    """The installation of the flow's worker, for commands too."""
    own = docker_backend.install_id(flow.folder)
    monkeypatch.setattr(sandbox_factory, "install_id", lambda: own)
    return own


def test_reap_sandboxes_command_prints_what_it_has_removed(flow, settings, install_id):
    conversation = flow.ask("Write", [calls(bash="echo x > note.txt"), says("Done.")])
    flow.stop_worker()
    set_last_use(flow, conversation, 3600)
    make_workspace(flow.folder, install_id, uuid.uuid4())
    settings.PACA_DATA_DIR, settings.PACA_SANDBOX = flow.folder, "bubblewrap"
    output = StringIO()
    call_command("reap_sandboxes", stdout=output)
    assert "1 unused sandboxes ended, 1 workspaces removed" in output.getvalue()


def test_reap_sandboxes_removes_all_of_an_installation_that_ends(flow, settings, install_id):
    conversation = flow.ask("Write", [calls(bash="echo x > note.txt"), says("Done.")])
    settings.PACA_DATA_DIR, settings.PACA_SANDBOX = flow.folder, "bubblewrap"

    def reap(*options: str) -> str:
        output = StringIO()
        call_command("reap_sandboxes", "--all", *options, stdout=output)
        return output.getvalue()

    with pytest.raises(CommandError, match="Stop the workers first"):
        reap("--yes")
    flow.stop_worker()
    directory = SandboxDirectory(flow.folder, install_id, uuid.UUID(str(conversation.id)))
    assert "1 sandboxes with their files" in reap()
    assert directory.workspace.exists(), "without --yes nothing is removed"
    assert "1 sandboxes were removed" in reap("--yes")
    assert "0 sandboxes with their files" in reap()
    assert not Sandbox.objects.exists()


@pytest.mark.parametrize("present", ["docker", "none", "auto"])
def test_reap_sandboxes_asks_every_backend_whatever_the_present_setting_is(
    flow, settings, install_id, tmp_path, present
):
    conversation = flow.ask("Write", [calls(bash="echo x > note.txt"), says("Done.")])
    flow.stop_worker()
    settings.PACA_DATA_DIR, settings.PACA_SANDBOX = flow.folder, present
    settings.DOCKER_HOST = f"unix://{tmp_path}/no-docker.sock"
    output, errors = StringIO(), StringIO()
    with pytest.raises(CommandError) if present == "docker" else nullcontext():
        call_command("reap_sandboxes", "--all", "--yes", stdout=output, stderr=errors)
    assert "1 sandboxes were removed" in output.getvalue()
    assert "docker could not be asked" in errors.getvalue()
    assert not list((flow.folder / "workspaces").glob(f"{conversation.id}*"))
    assert Sandbox.objects.exists() == (present == "docker"), (
        "the setting names what did not answer"
    )


def test_reap_sandboxes_fails_while_a_backend_with_sandboxes_does_not_answer(
    flow, settings, install_id, tmp_path
):
    conversation = flow.ask("Write", [says("Done.")])
    flow.stop_worker()
    settings.PACA_DATA_DIR, settings.PACA_SANDBOX = flow.folder, "bubblewrap"
    settings.DOCKER_HOST = f"unix://{tmp_path}/no-docker.sock"
    Sandbox.objects.create(conversation_id=conversation.id, backend="docker", last_used_at=Now())
    with pytest.raises(CommandError, match="Run this again when their backend answers"):
        call_command("reap_sandboxes", "--all", "--yes", stdout=StringIO(), stderr=StringIO())
    assert Sandbox.objects.exists()


def test_sweep_of_bubblewrap_goes_on_while_docker_hangs(flow, tmp_path):
    conversation = flow.ask("Write", [calls(bash="echo x > note.txt"), says("Done.")])
    flow.stop_worker()
    set_last_use(flow, conversation, 3600)
    path = tmp_path / "docker.sock"
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(path))
        silent.listen(64)
        flow.sandbox, flow._docker = "auto", DockerAddress(f"unix://{path}")
        flow.start_worker()
        wait_until(lambda: conversation.has_event("sandbox.removed"), CALL_SECONDS - 2)
    flow.stop_worker()  # the socket is closed: the worker need not wait for the call to time out


class SweeperWithFailingCleanup(Sweeper):
    """Its cleanup after a cancellation fails, which ``tolerated`` hides."""

    async def sweep(self, running: set[uuid.UUID]) -> SweepResult:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("cannot tidy up")


class WarmPoolWithFailingCleanup(WarmPool):
    """Its cleanup after a cancellation fails, which ``tolerated`` hides."""

    async def _refill(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("cannot tidy up")


def test_sweep_loop_ends_when_cancelled_although_its_cleanup_fails():
    assert_ends_when_cancelled(
        SweeperWithFailingCleanup("any", None, None, IdlePolicy()).sweep_repeatedly(set)
    )


def test_warm_pool_loop_ends_when_cancelled_although_its_cleanup_fails():
    pool = WarmPoolWithFailingCleanup(
        SandboxSpec(uuid.uuid4()), 1, worker_id="any", **NO_COLLABORATORS
    )
    assert_ends_when_cancelled(pool.keep_filled())


class StubbornWarmPool(WarmPool):
    """A warm pool in which one sandbox cannot be removed, and the others take a moment."""

    async def _remove(self, volume: str) -> None:
        if volume == "stubborn":
            raise OSError("cannot be removed")
        await asyncio.sleep(0.05)
        self._to_remove.discard(volume)


def test_warm_pool_drain_removes_the_others_if_one_cannot_be_removed():
    async def drained() -> set[str]:
        pool = StubbornWarmPool(SandboxSpec(uuid.uuid4()), 3, worker_id="any", **NO_COLLABORATORS)
        pool._to_remove |= {"one", "stubborn", "another"}
        await pool.drain()
        return pool._to_remove

    assert asyncio.run(drained()) == {"stubborn"}


def assert_ends_when_cancelled(work: Coroutine[None, None, None]) -> None:
    async def cancelled() -> bool:
        task = asyncio.create_task(work)
        await asyncio.sleep(0.05)
        task.cancel()
        ended, _ = await asyncio.wait({task}, timeout=60)
        return bool(ended)

    assert asyncio.run(cancelled())
