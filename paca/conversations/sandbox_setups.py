"""Rows of setups: one worker builds each, the others wait; unused ones are removed.

Times are those of the workers' clocks. A clock that is wrong by seconds only shortens or lengthens a lease.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from paca.accounts import audit
from paca.agents.models import Agent
from paca.conversations.models import SandboxSetup, SetupState, SetupUse
from paca.conversations.models.statuses import LIVING_SANDBOX_STATES
from paca.projects.models import Member
from paca.sandbox.environment import SetupPlan

LEASE_SECONDS = 60.0
# A failure may have been the network's. After this time the next sandbox tries again by itself.
FAILED_SECONDS = 300.0
# A sandbox that is about to start has no row yet.
STARTING_SECONDS = 1800.0
MAX_OUTPUT_CHARACTERS = 64_000
KEPT_FAILURES_DAYS = 7


@dataclass(frozen=True, slots=True)
class Built:
    """A setup as a worker sees it. ``is_mine``: this worker has to build it now."""

    state: SetupState
    files: UUID
    reason: str = ""
    is_mine: bool = False


def claim(plan: SetupPlan, *, image: str, backend: str, place: str, worker: str) -> Built:
    """The setup of this plan at this place. If there is none, or its worker is gone, this worker has it now."""
    now, files = timezone.now(), uuid4()
    rows = SandboxSetup.objects.filter(key=plan.key, image=image, place=place, retired_at=None)
    abandoned = Q(state=SetupState.BUILDING, lease_until__lt=now)
    failed = Q(state=SetupState.FAILED, ended_at__lt=now - timedelta(seconds=FAILED_SECONDS))
    fresh = {
        "state": SetupState.BUILDING,
        "files": files,
        "worker": worker,
        "lease_until": now + timedelta(seconds=LEASE_SECONDS),
        "output": "",
        "reason": "",
        "started_at": now,
        "ended_at": None,
        "last_used_at": now,
    }
    # One statement: of two workers, the second one finds no row any more.
    # guard: setups-of-living-workers-are-theirs
    if rows.filter(abandoned | failed).update(**fresh):
        return Built(SetupState.BUILDING, files, is_mine=True)
    row = rows.first()
    if row is None:
        owner = {"project_id": plan.project_id, "agent_id": plan.agent_id}
        where = {"key": plan.key, "image": image, "backend": backend, "place": place}
        try:
            with transaction.atomic():
                SandboxSetup.objects.create(**owner, **where, **fresh)
        except IntegrityError:  # another worker was faster
            row = rows.first()
        else:
            return Built(SetupState.BUILDING, files, is_mine=True)
    if row is None:  # and it has given up already
        return Built(SetupState.BUILDING, files)
    return Built(SetupState(row.state), row.files, row.reason)


def renew(files: UUID, output: str) -> bool:
    """Keep building and store the output so far; False if another worker has it now, or it is not wanted any more."""
    now = timezone.now()
    return bool(
        _building(files).update(
            lease_until=now + timedelta(seconds=LEASE_SECONDS),
            output=output[-MAX_OUTPUT_CHARACTERS:],
            last_used_at=now,
        )
    )


def finish(files: UUID, *, output: str, reason: str = "") -> bool:
    """The setup is ready, or has failed for this reason. False if another worker has it now."""
    now = timezone.now()
    # guard: setup-is-finished-by-its-worker
    return bool(
        _building(files).update(
            state=SetupState.FAILED if reason else SetupState.READY,
            output=output[-MAX_OUTPUT_CHARACTERS:],
            reason=reason,
            ended_at=now,
            last_used_at=now,
        )
    )


def give_up(files: UUID) -> None:
    """Nobody here waits for the setup any more: the next who needs it builds it."""
    _building(files).delete()


def _building(files: UUID) -> QuerySet[SandboxSetup]:
    return SandboxSetup.objects.filter(files=files, state=SetupState.BUILDING, retired_at=None)


def use(conversation_id: UUID, files: UUID) -> bool:
    """Note that the conversation's sandbox starts with these files; False if they are not for new sandboxes any more."""
    now = timezone.now()
    with transaction.atomic():
        rows = SandboxSetup.objects.filter(files=files, state=SetupState.READY, retired_at=None)
        # guard: retired-setups-start-no-sandbox
        if not rows.update(last_used_at=now):
            return False
        row = rows.get()
        SetupUse.objects.update_or_create(
            conversation_id=conversation_id, defaults={"setup": row, "used_at": now}
        )
    return True


def retire(files: UUID) -> None:
    """No new sandbox gets the files any more."""
    SandboxSetup.objects.filter(files=files, retired_at=None).update(retired_at=timezone.now())


@transaction.atomic
def rebuild(agent: Agent, key: str, *, by: Member) -> int:
    """Have the next sandbox build the setup again; gives how many were retired. One that is being built goes on."""
    done = SandboxSetup.objects.filter(project=agent.project_id, key=key, retired_at=None)
    retired = done.exclude(state=SetupState.BUILDING).update(retired_at=timezone.now())
    audit.record("agent.setup_rebuilt", agent, by=by, project_id=agent.project_id)
    return retired


# --- what sweepers ask --------------------------------------------------------------------------------------


def in_use() -> set[UUID]:
    """The sandboxes that build a setup now."""
    rows = SandboxSetup.objects.filter(state=SetupState.BUILDING, lease_until__gte=timezone.now())
    return set(rows.values_list("files", flat=True))


def known(files: Collection[UUID]) -> set[UUID]:
    """Of these, those that belong to a setup."""
    return set(SandboxSetup.objects.filter(files__in=files).values_list("files", flat=True))


def removable(backend: str, place: str, *, days: float) -> list[UUID]:
    """The files at a place that no sandbox uses or will get, and those that none has used for so many days."""
    now = timezone.now()
    old = Q(last_used_at__lt=now - timedelta(days=days)) & ~Q(state=SetupState.BUILDING)
    old |= Q(
        state=SetupState.FAILED, ended_at__lt=now - timedelta(days=min(days, KEPT_FAILURES_DAYS))
    )
    abandoned = Q(state=SetupState.BUILDING, lease_until__lt=now - timedelta(days=1))
    rows = SandboxSetup.objects.filter(backend=backend, place=place)
    # guard: setups-in-use-stay
    rows = rows.exclude(Exists(_living_uses()))
    unwanted = Q(retired_at__isnull=False) | Q(project__deleted_at__isnull=False)
    return list(rows.filter(unwanted | old | abandoned).values_list("files", flat=True))


def _living_uses() -> QuerySet[SetupUse]:
    living = Q(conversation__sandbox__state__in=LIVING_SANDBOX_STATES)
    starting = Q(used_at__gte=timezone.now() - timedelta(seconds=STARTING_SECONDS))
    return SetupUse.objects.filter(setup=OuterRef("pk")).filter(living | starting)


def forget(files: UUID) -> None:
    """Delete the row of a setup whose files are removed."""
    SandboxSetup.objects.filter(files=files).delete()
