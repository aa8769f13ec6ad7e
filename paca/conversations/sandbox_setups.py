"""Rows of setups: one worker builds each, the others wait; unused ones are removed.

Times are those of the workers' clocks. A clock that is wrong by seconds only shortens or lengthens a lease.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from paca.accounts import audit
from paca.agents.models import Agent
from paca.conversations.models import SandboxSetup, SetupState, SetupUse
from paca.conversations.models.statuses import LIVING_SANDBOX_STATES
from paca.projects.models import Member
from paca.projects.signals import project_changed
from paca.sandbox.environment import SetupPlan

LEASE_SECONDS = 60.0
# A failure may have been the network's. After this time the next sandbox tries again by itself.
FAILED_SECONDS = 300.0
# A sandbox that is about to start has no row yet.
STARTING_SECONDS = 1800.0
MAX_OUTPUT_CHARACTERS = 64_000
KEPT_FAILURES_DAYS = 7
MAX_KEPT = 20  # of one project at one place: whoever tries out a script leaves one for each attempt

Reached = Sequence[dict[str, Any]]


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
    # guard: setups-of-living-workers-are-theirs
    over = rows.filter(_is_over(now))
    # Those who wait ask often: reading takes no lock.
    if (row := rows.first()) is not None and not over.exists():
        return Built(SetupState(row.state), row.files, row.reason)
    # The former attempt keeps its row, so that its files are found and removed.
    over.update(retired_at=now)
    try:
        with transaction.atomic():
            row = SandboxSetup.objects.create(
                project_id=plan.project_id,
                agent_id=plan.agent_id,
                key=plan.key,
                image=image,
                backend=backend,
                place=place,
                files=files,
                state=SetupState.BUILDING,
                worker=worker,
                lease_until=now + timedelta(seconds=LEASE_SECONDS),
                started_at=now,
                last_used_at=now,
            )
            _tell_pages([row])
    except IntegrityError:  # another worker was faster
        row = rows.first()
        if row is None:  # and it has given up already
            return Built(SetupState.BUILDING, files)
        return Built(SetupState(row.state), row.files, row.reason)
    return Built(SetupState.BUILDING, files, is_mine=True)


def _is_over(now: datetime) -> Q:
    """The attempts of workers that are gone, and failures that are long past."""
    abandoned = Q(state=SetupState.BUILDING, lease_until__lt=now)
    failed = Q(state=SetupState.FAILED, ended_at__lt=now - timedelta(seconds=FAILED_SECONDS))
    return abandoned | failed


def end_leases_of(workers: Collection[str]) -> None:
    """Let others take over at once what these workers build: their processes have ended."""
    building = SandboxSetup.objects.filter(state=SetupState.BUILDING, retired_at=None)
    building.filter(worker__in=workers).update(lease_until=timezone.now())


def renew(files: UUID, output: str, network: Reached = ()) -> bool:
    """Keep building and store what happened so far; False if another worker has it now, or it is not wanted any more."""
    now = timezone.now()
    return _update_build(
        files,
        lease_until=now + timedelta(seconds=LEASE_SECONDS),
        output=output[-MAX_OUTPUT_CHARACTERS:],
        network=list(network),
        last_used_at=now,
    )


def finish(files: UUID, *, output: str, reason: str = "", network: Reached = ()) -> bool:
    """The setup is ready, or has failed for this reason. False if another worker has it now."""
    now = timezone.now()
    return _update_build(
        files,
        state=SetupState.FAILED if reason else SetupState.READY,
        output=output[-MAX_OUTPUT_CHARACTERS:],
        network=list(network),
        reason=reason,
        ended_at=now,
        last_used_at=now,
    )


def _update_build(files: UUID, **values: Any) -> bool:
    """Store what the builder of these files tells; False if another worker has the build now."""
    # guard: setup-is-finished-by-its-worker
    is_ours = bool(_building(files).update(**values))
    if is_ours:
        _tell_pages(SandboxSetup.objects.filter(files=files).only("project"))
    return is_ours


def give_up(files: UUID) -> None:
    """Nobody here waits for the setup any more: the next who needs it builds it."""
    rows = _building(files)
    given_up = list(rows)
    rows.delete()
    _tell_pages(given_up)


def _tell_pages(rows: Iterable[SandboxSetup]) -> None:
    """Let open pages read these setups again."""
    for row in rows:
        project_changed.send(
            sender=SandboxSetup, project_id=row.project_id, noun="sandbox_setup", id=row.pk
        )


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


def used_by(conversation_id: UUID) -> UUID | None:
    """The files with which the sandbox of the conversation was started last; None if it had no setup."""
    rows = SetupUse.objects.filter(conversation=conversation_id)
    return rows.values_list("setup__files", flat=True).first()


def retire(files: UUID) -> None:
    """No new sandbox gets the files any more."""
    SandboxSetup.objects.filter(files=files, retired_at=None).update(retired_at=timezone.now())


@transaction.atomic
def rebuild(agent: Agent, key: str, *, by: Member) -> int:
    """Have the next sandbox build the setup again; gives how many were retired. One that is being built goes on."""
    done = SandboxSetup.objects.filter(project=agent.project_id, key=key, retired_at=None)
    ended = list(done.exclude(state=SetupState.BUILDING).defer("output", "network"))
    retired = done.filter(pk__in=[row.pk for row in ended]).update(retired_at=timezone.now())
    audit.record("agent.setup_rebuilt", agent, by=by, project_id=agent.project_id)
    _tell_pages(ended)
    return retired


# --- what sweepers ask --------------------------------------------------------------------------------------


def in_use() -> set[UUID]:
    """The sandboxes that build a setup now."""
    building = SandboxSetup.objects.filter(state=SetupState.BUILDING, retired_at=None)
    rows = building.filter(lease_until__gte=timezone.now())
    return set(rows.values_list("files", flat=True))


def known(files: Collection[UUID]) -> set[UUID]:
    """Of these, those that belong to a setup."""
    return set(SandboxSetup.objects.filter(files__in=files).values_list("files", flat=True))


def removable(backend: str, place: str, *, days: float) -> list[UUID]:
    """The files at a place that no sandbox uses or will get. Those that none has used for so many days are retired."""
    rows = SandboxSetup.objects.filter(backend=backend, place=place)
    _retire_unused(rows, days=days)
    # Read after that: from now on no sandbox starts with them, and one that has just started is seen.
    # guard: setups-in-use-stay
    rows = rows.exclude(Exists(_living_uses()))
    return list(rows.filter(retired_at__isnull=False).values_list("files", flat=True))


def _retire_unused(rows: QuerySet[SandboxSetup], *, days: float) -> None:
    now = timezone.now()
    rows = rows.filter(retired_at=None)
    old = Q(last_used_at__lt=now - timedelta(days=days)) & ~Q(state=SetupState.BUILDING)
    old |= Q(
        state=SetupState.FAILED, ended_at__lt=now - timedelta(days=min(days, KEPT_FAILURES_DAYS))
    )
    abandoned = Q(state=SetupState.BUILDING, lease_until__lt=now - timedelta(days=1))
    unwanted = old | abandoned | Q(project__deleted_at__isnull=False) | Q(pk__in=_too_many(rows))
    if found := list(rows.filter(unwanted).values_list("pk", flat=True)):
        rows.filter(pk__in=found).update(retired_at=now)


def _too_many(rows: QuerySet[SandboxSetup]) -> list[UUID]:
    """The setups of each project beyond those that it used last."""
    kept: Counter[UUID] = Counter()
    ready = rows.filter(state=SetupState.READY).order_by("-last_used_at")
    found = []
    for pk, project_id in ready.values_list("pk", "project"):
        kept[project_id] += 1
        if kept[project_id] > MAX_KEPT:
            found.append(pk)
    return found


def _living_uses() -> QuerySet[SetupUse]:
    living = Q(conversation__sandbox__state__in=LIVING_SANDBOX_STATES)
    starting = Q(used_at__gte=timezone.now() - timedelta(seconds=STARTING_SECONDS))
    return SetupUse.objects.filter(setup=OuterRef("pk")).filter(living | starting)


def forget(files: UUID) -> None:
    """Delete the row of a setup whose files are removed."""
    SandboxSetup.objects.filter(files=files).delete()
