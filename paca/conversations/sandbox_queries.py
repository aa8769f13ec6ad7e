"""All queries about sandboxes and the warm pool."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from paca.agents.models import Agent
from paca.conversations import sandbox_setups
from paca.conversations.models import (
    BackgroundCommand,
    Conversation,
    ReadySandbox,
    Sandbox,
    SandboxState,
)
from paca.conversations.models.conversation import waits_for_person
from paca.conversations.models.statuses import ACTIVE_STATUSES, LIVING_SANDBOX_STATES
from paca.sandbox.base import IdlePolicy

OVERDUE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class SandboxRecord:
    """A sandbox as its row describes it."""

    conversation_id: UUID
    backend: str
    boot_id: str
    volume: str


# --- sandboxes of conversations -------------------------------------------------------------------


def any_exist() -> bool:
    """Whether any conversation of this installation has a sandbox."""
    return Sandbox.objects.exists()


def backends_with_sandboxes() -> set[str]:
    """The names of the backends that have sandboxes or files of this installation, according to its rows."""
    names = set(Sandbox.objects.order_by().values_list("backend", flat=True).distinct())
    return names | ({"docker"} if ReadySandbox.objects.exists() else set())


def of_conversation(conversation_id: UUID) -> QuerySet[Sandbox]:
    """The row of the conversation's sandbox, if it has one."""
    return Sandbox.objects.filter(conversation=conversation_id)


def owner_of(conversation_id: UUID) -> UUID:
    """The conversation whose sandbox this one uses: its own, or for a helper the one that started it."""
    rows = Conversation.objects.filter(pk=conversation_id).values_list("parent", flat=True)
    return rows.first() or conversation_id


def with_files(conversation_id: UUID) -> Sandbox | None:
    """The conversation's sandbox, unless it has none, or a person has asked to delete its files."""
    rows = of_conversation(conversation_id).exclude(state=SandboxState.FILES_TO_DELETE)
    return rows.first()


def same_life(record: SandboxRecord, states: Collection[SandboxState]) -> bool:
    """Whether the sandbox has the boot id of the record and one of these states."""
    rows = of_conversation(record.conversation_id).filter(boot_id=record.boot_id)
    return rows.filter(state__in=states).exists()


def is_running(conversation_id: UUID) -> bool:
    """Whether the conversation has a sandbox that runs, according to its row."""
    return of_conversation(conversation_id).filter(state=SandboxState.RUNNING).exists()


def needed_conversations(policy: IdlePolicy) -> set[UUID]:
    """Conversations whose sandbox must not end: they run, used it recently, or it is paused first."""
    recent = Q(sandbox__last_used_at__gte=_ago(policy.idle_seconds))
    pausable = Q(agent__sandbox_life=Agent.SandboxLife.PERSISTENT) & Q(
        sandbox__last_used_at__gte=_ago(policy.idle_seconds + policy.paused_seconds)
    )
    # guard: background-work-keeps-its-sandbox
    works = Exists(_background(OuterRef("pk")))
    needed = (recent | pausable | works) & ~Q(sandbox__state=SandboxState.FILES_TO_DELETE)
    # A running conversation may have a sandbox that has no row yet.
    runs = Q(status__in=ACTIVE_STATUSES) & ~waits_for_person()
    # guard: teammate-at-work-keeps-the-sandbox
    runs |= Q(Exists(team_at_work(OuterRef("pk"))))
    found = Conversation.objects.filter(needed | runs, deleted_at=None)
    return set(found.values_list("pk", flat=True))


def to_pause(policy: IdlePolicy) -> list[SandboxRecord]:
    """Running sandboxes of persistent agents that were not used for the idle time."""
    rows = _not_in_use(SandboxState.RUNNING).filter(
        conversation__agent__sandbox_life=Agent.SandboxLife.PERSISTENT,
        last_used_at__lt=_ago(policy.idle_seconds),
        last_used_at__gte=_ago(policy.idle_seconds + policy.paused_seconds),
    )
    # guard: background-work-is-not-paused
    rows = rows.exclude(Exists(_background(OuterRef("conversation"))))
    return _records(rows)


def _background(conversation: OuterRef) -> QuerySet[BackgroundCommand]:
    """The background commands that run, and whose time limit is not long over: the runner ends them at it."""
    recent = BackgroundCommand.objects.running().filter(deadline_at__gte=_ago(OVERDUE_SECONDS))
    return recent.filter(conversation=conversation).order_by()


def living() -> list[SandboxRecord]:
    """Sandboxes that live according to their rows, and that no run is using."""
    return _records(_not_in_use(*LIVING_SANDBOX_STATES))


def of_deleted_conversations() -> list[SandboxRecord]:
    """Sandboxes whose conversation is deleted."""
    return _records(Sandbox.objects.filter(conversation__deleted_at__isnull=False))


def with_files_to_delete() -> list[SandboxRecord]:
    """Sandboxes whose files a person has asked to delete, and that no run is using."""
    return _records(_not_in_use(SandboxState.FILES_TO_DELETE))


def orphans(volumes: dict[UUID, str]) -> set[UUID]:
    """Of these workspaces, by the conversation they are named after, those without a row.

    The set is empty if there is no conversation at all: then this database is not that of the files.
    """
    if not Conversation.objects.exists():
        return set()
    existing = Conversation.objects.filter(pk__in=volumes, deleted_at=None)
    known = set(existing.values_list("pk", flat=True))
    # guard: setups-are-no-orphans
    known |= sandbox_setups.known(volumes)
    others = {each: volumes[each] for each in volumes if each not in known}
    recorded = recorded_volumes(others.values())
    return {each for each, volume in others.items() if volume not in recorded}


def count() -> int:
    """The number of sandboxes, those with nothing but files included."""
    return Sandbox.objects.count()


def count_by_backend_and_state() -> dict[tuple[str, ...], int]:
    """Number of sandboxes for each pair of backend and state. Those of the warm pool are ready."""
    counted = Sandbox.objects.order_by().values_list("backend", "state").annotate(n=Count("pk"))
    counts: dict[tuple[str, ...], int] = {(backend, state): n for backend, state, n in counted}
    if ready := ReadySandbox.objects.count():
        counts["docker", SandboxState.READY.value] = ready
    return counts


def _not_in_use(*states: SandboxState) -> QuerySet[Sandbox]:
    rows = Sandbox.objects.filter(state__in=states, conversation__deleted_at=None)
    runs = Q(conversation__status__in=ACTIVE_STATUSES) & ~waits_for_person("conversation__")
    # guard: sandbox-of-a-team-is-in-use
    runs |= Q(Exists(team_at_work(OuterRef("conversation"))))
    return rows.exclude(runs)


def team_at_work(conversation: OuterRef | UUID) -> QuerySet[Conversation]:
    """The conversations of helpers and teammates that use its sandbox now. Its own turn may be over."""
    active = Conversation.objects.filter(parent=conversation, status__in=ACTIVE_STATUSES)
    return active.exclude(waits_for_person()).order_by()


def _records(rows: QuerySet[Sandbox]) -> list[SandboxRecord]:
    columns = rows.values_list("conversation", "backend", "boot_id", "volume")
    return [SandboxRecord(*values) for values in columns]


def _ago(seconds: float) -> object:
    return Now() - timedelta(seconds=seconds)


# --- volumes --------------------------------------------------------------------------------------


def volume_of(conversation_id: UUID) -> str | None:
    """The volume of the conversation's sandbox; blank if it is named after it; None without a row."""
    return next(iter(of_conversation(conversation_id).values_list("volume", flat=True)), None)


def owners_of_volumes() -> dict[str, UUID]:
    """The conversations by their volume, where its name does not follow from the conversation."""
    rows = Sandbox.objects.exclude(volume="")
    return {row.volume: row.conversation_id for row in rows.only("volume", "conversation_id")}


def recorded_volumes(volumes: Iterable[str]) -> set[str]:
    """Of these volumes, those that belong to the warm pool or to a conversation."""
    asked = [volume for volume in volumes if volume]
    ready = set(ReadySandbox.objects.filter(volume__in=asked).values_list("volume", flat=True))
    # In this order: a volume goes from the warm pool to a conversation.
    return ready | set(Sandbox.objects.filter(volume__in=asked).values_list("volume", flat=True))
