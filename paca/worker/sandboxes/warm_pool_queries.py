"""Which sandboxes stand ready, and whose each becomes: whoever removes the row of one decides it, once."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models.functions import Now

from paca.conversations.models import Conversation, ReadySandbox, SandboxState, Worker
from paca.conversations.models import Sandbox as SandboxRow
from paca.conversations.store import Fenced, Lease


def enter(volume: str, *, worker_id: str) -> None:
    """Before it is made: what has no row can never be taken, and is nobody's."""
    ReadySandbox.objects.create(volume=volume, worker_id=worker_id)


@transaction.atomic
def take(lease: Lease, ready: str | None) -> str:
    """Where the conversation's files are, blank if its name says so: in ``ready`` from now on, if they are
    nowhere yet and it still stands ready. Raises ``Fenced``."""
    mine = Conversation.objects.filter(
        pk=lease.conversation_id, lease_owner=lease.owner, lease_epoch=lease.epoch, deleted_at=None
    )
    if not list(mine.for_update()):
        raise Fenced
    known = SandboxRow.objects.filter(conversation=lease.conversation_id)
    volumes = list(known.values_list("volume", flat=True))
    if volumes or not ready or not ReadySandbox.objects.filter(volume=ready).delete()[0]:
        return volumes[0] if volumes else ""
    SandboxRow.objects.create(
        conversation_id=lease.conversation_id,
        backend="docker",
        state=SandboxState.ENDED,
        volume=ready,
        last_used_at=Now(),
    )
    return ready


@transaction.atomic
def withdraw(volume: str) -> bool:
    """Let nobody take it any more; whether its volume may be removed: not if somebody has."""
    ReadySandbox.objects.filter(volume=volume).delete()
    return not SandboxRow.objects.filter(volume=volume).exists()


def withdraw_of_the_dead(standing: dict[str, str]) -> dict[str, bool]:
    """The same for those of ``standing``, by volume and worker, whose worker has ended or is silent."""
    alive = set(Worker.objects.alive().values_list("pk", flat=True))
    ReadySandbox.objects.exclude(worker__in=alive).delete()
    return {volume: withdraw(volume) for volume, owner in standing.items() if owner not in alive}


def recorded(volumes: Iterable[str]) -> set[str]:
    """Of these, those which stand ready or are a conversation's. One that is just taken is in either."""
    asked = [volume for volume in volumes if volume]
    ready = set(ReadySandbox.objects.filter(volume__in=asked).values_list("volume", flat=True))
    # In this order: it goes from there to here.
    return ready | set(SandboxRow.objects.filter(volume__in=asked).values_list("volume", flat=True))
