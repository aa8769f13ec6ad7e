"""A conversation is deleted: what ran for it ends, and its files go."""

import asyncio

import pytest

from paca.conversations import removal
from paca.conversations.models import Sandbox
from paca.sandbox.manager import SandboxManager
from paca.worker.database import Database
from paca.worker.sweep import Sweeper
from tests.support.flow import Flow, Told
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


def sweep(flow: Flow, kind: str = "auto") -> None:
    """What a worker does every few seconds, at once."""
    manager = SandboxManager(kind=kind, data_dir=flow.folder, install_id="tests")
    database = Database()

    async def once() -> None:
        await Sweeper("another", database, manager, idle_seconds=60).sweep(set())

    try:
        asyncio.run(once())
    finally:
        database.close()


def delete(flow: Flow, told: Told) -> None:
    removal.delete(told.row, by=flow.world.owner)


def test_the_files_of_a_deleted_conversation_go_and_those_of_others_stay(flow):
    replies = [calls(bash="echo x > note.txt; chmod 500 ."), says("Done.")]
    told, other = flow.ask("Write", replies), flow.ask("Write too", replies)
    workspaces = flow.folder / "workspaces"
    assert (workspaces / str(told.id) / "note.txt").exists()
    delete(flow, told)
    sweep(flow)
    assert not (workspaces / str(told.id)).exists()
    assert (workspaces / str(other.id) / "note.txt").exists()
    assert list(Sandbox.objects.values_list("conversation", flat=True)) == [other.id]


def test_without_a_sandbox_the_files_wait_for_one_that_can_remove_them(flow):
    told = flow.ask("Write", [calls(bash="echo x > note.txt"), says("Done.")])
    delete(flow, told)
    sweep(flow, kind="none")
    assert Sandbox.objects.filter(conversation=told.id).exists()
    sweep(flow)
    assert not (flow.folder / "workspaces" / str(told.id)).exists()
