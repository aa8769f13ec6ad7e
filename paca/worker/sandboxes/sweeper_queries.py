"""What the rows say of sandboxes to who sweeps them, and what he writes of what he did."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from paca import events
from paca.agents.models import Agent
from paca.common.errors import NotFound
from paca.conversations import store
from paca.conversations.models import Conversation, SandboxState, Worker
from paca.conversations.models import Sandbox as SandboxRow
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.events import Event
from paca.sandbox.base import IdlePolicy
from paca.sandbox.exit_cause import ExitCause, ExitKind
from paca.worker.sandboxes import warm_pool_queries


@dataclass(frozen=True, slots=True)
class Kept:
    """A sandbox as its row has it."""

    conversation_id: UUID
    backend: str
    boot_id: str
    volume: str


def in_use(patience: IdlePolicy) -> set[UUID]:
    """Conversations whose sandbox is to be kept: held, used a moment ago, or to be paused first."""
    recent = Q(sandbox__last_used_at__gte=_ago(patience.idle_seconds))
    pausable = Q(agent__sandbox_life=Agent.SandboxLife.PERSISTENT) & Q(
        sandbox__last_used_at__gte=_ago(patience.idle_seconds + patience.paused_seconds)
    )
    wanted = (recent | pausable) & ~Q(sandbox__state=SandboxState.FREEING)
    # One that is held may have a sandbox of which there is no row yet.
    kept = Conversation.objects.filter(wanted | Q(status__in=ACTIVE_STATUSES), deleted_at=None)
    return set(kept.values_list("pk", flat=True))


def to_pause(patience: IdlePolicy) -> list[Kept]:
    """Those of persistent agents that nobody has used for a while."""
    return _kept(
        _at_rest(state=SandboxState.RUNNING).filter(
            conversation__agent__sandbox_life=Agent.SandboxLife.PERSISTENT,
            last_used_at__lt=_ago(patience.idle_seconds),
            last_used_at__gte=_ago(patience.idle_seconds + patience.paused_seconds),
        )
    )


def living() -> list[Kept]:
    """Those that live, as far as the rows know, while nobody holds them and would notice their end."""
    return _kept(_at_rest(state__in=SandboxState.LIVING))


def deleted() -> list[Kept]:
    """Those of conversations that are deleted."""
    return _kept(SandboxRow.objects.filter(conversation__deleted_at__isnull=False))


def to_free() -> list[Kept]:
    """Those whose files a person wants gone, and in which nothing happens."""
    return _kept(_at_rest(state=SandboxState.FREEING))


def unknown(kept: dict[UUID, str]) -> set[UUID]:
    """Of these, which are named each after something and in a volume, the ones that are no conversation's.

    None, if there is not one conversation: then this is another database than the files are of.
    """
    if not Conversation.objects.exists():
        return set()
    there = Conversation.objects.filter(pk__in=kept, deleted_at=None)
    known = set(there.values_list("pk", flat=True))
    others = {each: kept[each] for each in kept if each not in known}
    recorded = warm_pool_queries.recorded(others.values())
    return {each for each, volume in others.items() if volume not in recorded}


# --- writing ------------------------------------------------------------------------------------


def note_paused(kept: Kept) -> bool:
    """Say that it is paused; False if a worker has taken the conversation meanwhile."""
    return _note(kept, (SandboxState.RUNNING,), events.SandboxPaused())


def note_ended(kept: Kept) -> bool:
    """Say that it is gone; its files are kept for the next message."""
    return _note(kept, SandboxState.LIVING, events.SandboxRemoved(kept=True))


def note_lost(kept: Kept, loss: ExitCause) -> bool:
    """Say what it died of, unless it ended in its time."""
    if loss.kind is ExitKind.RETIRED:
        return note_ended(kept)
    lost = events.SandboxLost(cause=loss.sentence, end=loss.kind, exit_code=loss.exit_code)
    return _note(kept, SandboxState.LIVING, lost)


def note_freed(kept: Kept) -> bool:
    """Say that its files are gone."""
    return _note(kept, (SandboxState.FREEING,), events.SandboxRemoved(kept=False))


def forget(conversation_id: UUID) -> None:
    """Of a deleted conversation there is no log to say it in."""
    SandboxRow.objects.filter(conversation=conversation_id).delete()


def count(worker_id: str, number: int) -> None:
    """Add to what this worker has removed since it began."""
    Worker.objects.filter(id=worker_id).update(sandboxes_reaped=F("sandboxes_reaped") + number)


@transaction.atomic
def _note(kept: Kept, states: tuple[str, ...], event: Event) -> bool:
    """Once, whoever else sweeps; never for one that is held, whose worker sees to it itself, nor of a
    later life than the one that was looked at: a turn may have begun and ended meanwhile."""
    with suppress(NotFound):  # it was deleted a moment ago
        held = list(Conversation.objects.filter(pk=kept.conversation_id).for_update())
        rows = SandboxRow.objects.filter(conversation=kept.conversation_id, boot_id=kept.boot_id)
        if (
            held
            and held[0].status not in ACTIVE_STATUSES
            and rows.filter(state__in=states).exists()
        ):
            store.append(kept.conversation_id, event)
            return True
    return False


def _at_rest(**state: object) -> QuerySet[SandboxRow]:
    rows = SandboxRow.objects.filter(**state, conversation__deleted_at=None)
    return rows.exclude(conversation__status__in=ACTIVE_STATUSES)


def _kept(rows: QuerySet[SandboxRow]) -> list[Kept]:
    return [
        Kept(*found) for found in rows.values_list("conversation", "backend", "boot_id", "volume")
    ]


def _ago(seconds: float) -> object:
    return Now() - timedelta(seconds=seconds)
