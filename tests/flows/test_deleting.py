"""A conversation is deleted: its sandbox ends, and its files are deleted."""

import asyncio
from pathlib import Path
from uuid import UUID

import pytest

from paca.conversations import deletion
from paca.conversations.models import Sandbox
from paca.sandbox.base import IdlePolicy
from paca.sandbox.manager import SandboxManager
from paca.worker.database import Database
from paca.worker.sandboxes.sweeper import Sweeper
from tests.support.flow import Flow, ObservedConversation
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


def sweep(flow: Flow, kind: str = "", manager: SandboxManager | None = None) -> None:
    """Sweep once, as a worker does every ten seconds."""
    manager = manager or flow.sandboxes(kind)
    database = Database()

    async def sweep_once() -> None:
        await Sweeper("another", database, manager, IdlePolicy(60)).sweep(set())

    try:
        asyncio.run(sweep_once())
    finally:
        database.close()


def delete(flow: Flow, conversation: ObservedConversation) -> None:
    deletion.delete(conversation.row, by=flow.world.owner)


def has_files(workspaces: Path, conversation: ObservedConversation) -> bool:
    """Whether files of the conversation are stored: in a file system of their own, or in a folder."""
    image = workspaces / f"{conversation.id}.img"
    return image.exists() or (workspaces / str(conversation.id) / "note.txt").exists()


def test_deleted_conversation_loses_its_files_and_others_keep_theirs(flow):
    replies = [calls(bash="echo x > note.txt; chmod 500 ."), says("Done.")]
    conversation, other = flow.ask("Write", replies), flow.ask("Write too", replies)
    workspaces = flow.folder / "workspaces"
    assert has_files(workspaces, conversation)
    delete(flow, conversation)
    sweep(flow)
    assert not list(workspaces.glob(f"{conversation.id}*"))
    assert has_files(workspaces, other)
    assert list(Sandbox.objects.values_list("conversation", flat=True)) == [other.id]


def test_deleted_files_wait_for_a_worker_with_the_right_backend(flow):
    conversation = flow.ask("Write", [calls(bash="echo x > note.txt"), says("Done.")])
    flow.stop_worker()  # it would sweep too
    delete(flow, conversation)
    sweep(flow, kind="none")
    assert Sandbox.objects.filter(conversation=conversation.id).exists()
    sweep(flow)
    assert not list((flow.folder / "workspaces").glob(f"{conversation.id}*"))


class FirstDeletionFails(SandboxManager):
    """The files of the conversation that comes first cannot be removed."""

    stuck: UUID | None = None

    async def remove(self, conversation_id: UUID, backend_name: str = "", volume: str = "") -> bool:
        self.stuck = self.stuck or conversation_id
        if conversation_id == self.stuck:
            raise OSError("Input/output error")
        return await super().remove(conversation_id, backend_name, volume)


def test_sweep_goes_on_after_files_that_cannot_be_removed(flow):
    replies = [calls(bash="echo x > note.txt"), says("Done.")]
    both = [flow.ask("Write", replies), flow.ask("Write too", replies)]
    flow.stop_worker()  # it would sweep too
    for conversation in both:
        delete(flow, conversation)
    manager = FirstDeletionFails(kind="bubblewrap", data_dir=flow.folder, install_id="any")
    sweep(flow, manager=manager)
    assert list(Sandbox.objects.values_list("conversation", flat=True)) == [manager.stuck]
    left = {path.name.removesuffix(".img") for path in (flow.folder / "workspaces").iterdir()}
    assert left == {str(manager.stuck)}
