"""How a worker uses the rows of the warm pool: under its lease, and for workers that are gone."""

from __future__ import annotations

from django.db import transaction

from paca.conversations import sandbox_lifecycle, sandbox_queries
from paca.conversations.models import Conversation, Worker
from paca.conversations.store import Fenced, Lease


@transaction.atomic
def assign_volume(lease: Lease, ready: str | None) -> str:
    """The volume of the conversation's files; blank if the volume is named after the conversation.

    A conversation without a sandbox gets the volume ``ready``, if that is still in the warm pool.
    Raises ``Fenced`` if the lease is lost.
    """
    owned = Conversation.objects.filter(
        pk=lease.conversation_id, lease_owner=lease.owner, lease_epoch=lease.epoch, deleted_at=None
    )
    if not list(owned.for_update()):
        raise Fenced
    volume = sandbox_queries.volume_of(lease.conversation_id)
    if volume is not None:
        return volume
    if ready and sandbox_lifecycle.assign_ready(lease.conversation_id, ready):
        return ready
    return ""


def withdraw_of_dead_workers(owners: dict[str, str]) -> dict[str, bool]:
    """Remove the sandboxes of dead and silent workers from the warm pool.

    ``owners``: the worker of each volume that has a container. Returns the volumes of dead workers,
    and whether each may be deleted.
    """
    alive = set(Worker.objects.alive().values_list("pk", flat=True))
    sandbox_lifecycle.withdraw_ready_except_of(alive)
    return {
        volume: sandbox_lifecycle.withdraw_ready(volume)
        for volume, owner in owners.items()
        if owner not in alive
    }
