"""All changes to sandbox rows and to the rows of the warm pool.

``SANDBOX_MOVES`` lists the moves that a sandbox may make. Each caller locks the row of the conversation
first, so that two moves of its sandbox never happen at once.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now

from paca.conversations import budgets, sandbox_queries
from paca.conversations.models import ReadySandbox, Sandbox, SandboxState
from paca.conversations.models.statuses import (
    SANDBOX_MOVES,
    STORED_SANDBOX_STATES,
    IllegalStatusMove,
)


def check_move(current: SandboxState, to: SandboxState) -> None:
    """Raises ``IllegalStatusMove`` if a sandbox may not go from one state to the other."""
    # guard: sandbox-moves-as-allowed
    if to not in SANDBOX_MOVES[current]:
        raise IllegalStatusMove(f"A sandbox cannot go from {current.value} to {to.value}.")


def move(conversation_id: UUID, to: SandboxState, **changes: Any) -> None:
    """Move the sandbox of a conversation to a state. ``changes`` are other columns of its row.

    Only ``start`` makes a row: if a sandbox without one is resumed, nothing is recorded. A helper moves nothing:
    another one may have started the sandbox anew since, and whoever opens it next sees for itself whether it runs.
    Raises ``IllegalStatusMove``.
    """
    # guard: helper-ends-no-sandbox-of-others
    if sandbox_queries.owner_of(conversation_id) != conversation_id:
        return
    check_move(_state(conversation_id), to)
    rows = Sandbox.objects.filter(conversation=conversation_id)
    if to is SandboxState.ABSENT:
        rows.delete()
    elif to not in STORED_SANDBOX_STATES:
        raise IllegalStatusMove(f"The sandbox of a conversation cannot be {to.value}.")
    else:
        rows.update(state=to, **changes)


def start(conversation_id: UUID, *, backend: str, boot_id: str, at: datetime) -> None:
    """Record that a sandbox of the conversation has started. Raises ``IllegalStatusMove``.

    That of a helper is the sandbox of the conversation that started it.
    """
    owner = sandbox_queries.owner_of(conversation_id)
    if owner != conversation_id:
        budgets.lock(owner)  # two helpers may start it at once
        conversation_id = owner
    current = _state(conversation_id)
    check_move(current, SandboxState.RUNNING)
    columns = {"backend": backend, "boot_id": boot_id, "last_used_at": at}
    if current is SandboxState.ABSENT:
        Sandbox.objects.create(
            conversation_id=conversation_id, state=SandboxState.RUNNING, **columns
        )
    else:
        move(conversation_id, SandboxState.RUNNING, updated_at=at, **columns)


def begin_with_files(conversation_id: UUID, *, backend: str, at: datetime) -> None:
    """Record that a conversation has files, and no sandbox has used them yet.

    Raises ``IllegalStatusMove`` if it has a sandbox already.
    """
    if Sandbox.objects.filter(conversation=conversation_id).exists():
        raise IllegalStatusMove("This conversation has a sandbox already.")
    Sandbox.objects.create(
        conversation_id=conversation_id,
        backend=backend,
        state=SandboxState.ENDED,
        last_used_at=at,
    )


def _state(conversation_id: UUID) -> SandboxState:
    rows = Sandbox.objects.filter(conversation=conversation_id)
    return SandboxState(next(iter(rows.values_list("state", flat=True)), SandboxState.ABSENT))


def record_use(conversation_id: UUID, *, size: int | None = None, limit: int | None = None) -> None:
    """Record that the sandbox was used until now, and how many bytes of how many its workspace holds.

    None leaves the recorded size: it was not measured.
    """
    measured = {} if size is None else {"workspace_bytes": size, "workspace_limit_bytes": limit}
    rows = Sandbox.objects.filter(conversation=conversation_id)
    rows.update(last_used_at=Now(), **measured)


def forget_all() -> None:
    """Delete the rows of all sandboxes, which were removed with their files while no worker ran."""
    Sandbox.objects.all().delete()
    ReadySandbox.objects.all().delete()


# --- the warm pool --------------------------------------------------------------------------------


def register_ready(volume: str, *, worker_id: str) -> None:
    """Add a sandbox to the warm pool before it is made. A sweep removes containers without a row."""
    check_move(SandboxState.ABSENT, SandboxState.READY)
    ReadySandbox.objects.create(volume=volume, worker_id=worker_id)


@transaction.atomic
def assign_ready(conversation_id: UUID, volume: str) -> bool:
    """Give the volume of a ready sandbox to a conversation; False if it is no longer ready.

    Raises ``IllegalStatusMove`` if the conversation has a sandbox already.
    """
    if not ReadySandbox.objects.filter(volume=volume).delete()[0]:
        return False
    if Sandbox.objects.filter(conversation=conversation_id).exists():
        raise IllegalStatusMove("This conversation has a sandbox already.")
    check_move(SandboxState.READY, SandboxState.ENDED)
    Sandbox.objects.create(
        conversation_id=conversation_id,
        backend="docker",
        state=SandboxState.ENDED,
        volume=volume,
        last_used_at=Now(),
    )
    return True


@transaction.atomic
def remove_from_pool(volume: str) -> bool:
    """Remove a sandbox from the warm pool.

    Returns whether its volume may be removed: not if a conversation has it by now.
    """
    check_move(SandboxState.READY, SandboxState.ABSENT)
    ReadySandbox.objects.filter(volume=volume).delete()
    return not Sandbox.objects.filter(volume=volume).exists()


def remove_from_pool_except_of(workers: set[str]) -> None:
    """Remove all sandboxes of other workers than these from the warm pool."""
    check_move(SandboxState.READY, SandboxState.ABSENT)
    ReadySandbox.objects.exclude(worker__in=workers).delete()
