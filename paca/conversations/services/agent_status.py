"""Services that change the status of an agent: at once, when its running turns are over, or at a set time.

A planned change is a row with its time. One transaction takes the row, by a compare-and-swap on its state, and
changes the agent. So a process that dies before the commit has changed nothing, and the row is still due for any
worker; after the commit it is done and due for nobody. The agent's row is locked first, as everywhere. Its time is the
door of a planned change: the rights of the person who planned it are asked for then, as for an invitation.
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from paca.accounts import audit
from paca.agents import services as agents
from paca.agents.models import Agent, AgentStatus
from paca.agents.services import AgentIsRetired
from paca.common import database_errors, time_zones
from paca.common.best_effort import tolerated
from paca.common.errors import Conflict, Invalid, NotFound
from paca.conversations import agent_impact
from paca.conversations.models import (
    AgentStatusChange,
    StatusChangeState,
    StatusMode,
)
from paca.conversations.services import agent_pauses
from paca.conversations.services.assignments import lock_agent
from paca.projects import permissions
from paca.projects.models import Member
from paca.projects.signals import project_changed

logger = logging.getLogger(__name__)

BATCH = 50
MAX_AHEAD = timedelta(days=366)
RETRY = timedelta(minutes=1)
NOT_ALLOWED_ANY_MORE = "its author may not change agents any more"


class ConfirmationNeeded(Conflict):
    """The change touches work of the agent; send ``confirm`` to make it all the same."""

    code = "confirmation_needed"


class StatusChangePlanned(Conflict):
    """A change of this agent's status is planned already. Cancel it first."""

    code = "status_change_planned"


@transaction.atomic
def change(
    agent: Agent, *, status: str, mode: str, by: Member | None, confirmed: bool = True, **facts: str
) -> None:
    """Give the agent another status now.

    ``graceful``: its running turns finish, and nothing new begins until it is active again. ``immediate``: its running
    turns are paused at their next step, or stopped together with what is queued if it becomes inactive. An agent that
    becomes active again goes on with what a former change has paused. ``facts`` are more of the audit entry.

    Raises ``AgentIsRetired``, and ``ConfirmationNeeded`` if it touches work and is not ``confirmed``.
    """
    lock_agent(agent)
    agent.refresh_from_db()
    if agent.deleted_at is not None:
        raise AgentIsRetired
    impact = _confirmed_impact(agent, status, mode, confirmed)
    # A receiver lets an agent that becomes active go on.
    agents.set_status(agent, status, by=by, mode=mode, touched=asdict(impact), **facts)
    if status != AgentStatus.ACTIVE and mode == StatusMode.IMMEDIATE:
        agent_pauses.end_turns(agent, status, by=by)
    _tell_pages(agent)


@transaction.atomic
def plan(
    agent: Agent,
    *,
    status: str,
    mode: str,
    at: str,
    by: Member,
    time_zone: str = "",
    confirmed: bool = True,
) -> AgentStatusChange:
    """Plan a change for the time ``at``, in ISO form. Without an offset it is meant in ``time_zone``, else the project's.

    Raises ``Invalid`` if the time is malformed, past, does not exist in the zone or is more than a year away,
    ``StatusChangePlanned``, ``AgentIsRetired``, and ``ConfirmationNeeded`` as ``change`` does.
    """
    zone = time_zone or zone_name(agent)
    due_at = _moment(at, zone)
    lock_agent(agent)
    agent.refresh_from_db()
    if agent.deleted_at is not None:
        raise AgentIsRetired
    # guard: one-planned-status-change
    if AgentStatusChange.objects.filter(agent=agent, state=StatusChangeState.PLANNED).exists():
        raise StatusChangePlanned
    _confirmed_impact(agent, status, mode, confirmed)
    planned = AgentStatusChange.objects.create(
        agent=agent,
        status=status,
        mode=mode,
        due_at=due_at,
        time_zone=zone,
        made_by=by,
        made_by_name=by.name,
    )
    _record("agent.status_planned", planned, by=by)
    _tell_pages(agent)
    return planned


@transaction.atomic
def cancel(agent: Agent, *, by: Member) -> None:
    """Give the planned change up. Raises ``NotFound`` if none is planned, or it has just come."""
    lock_agent(agent)
    planned = AgentStatusChange.objects.filter(agent=agent, state=StatusChangeState.PLANNED).first()
    if planned is None:
        raise NotFound("No change of this agent's status is planned.")
    _end(planned, StatusChangeState.CANCELLED)
    _record("agent.status_cancelled", planned, by=by)
    _tell_pages(agent)


def zone_name(agent: Agent) -> str:
    """The time zone in which a time without an offset is meant: the project's, else the server's."""
    return agent.project.time_zone or str(settings.DEFAULT_TIME_ZONE)


# --- planned changes that are due -----------------------------------------------------------------


def take_due(now: datetime) -> datetime | None:
    """Make the planned changes that are due at ``now``; gives when to ask again, as the check-ins do.

    If nothing is due, it costs one query.
    """
    rows = AgentStatusChange.objects.planned().order_by("due_at", "pk")
    found = list(rows.values_list("pk", "due_at")[:BATCH])
    due = [pk for pk, due_at in found if due_at <= now]
    for pk in due:
        take_or_fail(pk, now)
    if due:
        return now
    return found[0][1] if found else None


def take_or_fail(change_id: UUID, now: datetime) -> None:
    """Make one planned change. If it fails, it is told as failed and not tried again.

    While the database is out of reach it stays due. If it cannot be marked either, it is looked at again later.
    """
    for failed in (False, True):
        with tolerated("planned change of an agent's status", change=str(change_id)):
            try:
                take(change_id, now, failed=failed)
            except database_errors.UNAVAILABLE_ERRORS:
                logger.warning("status change stays due", extra={"change": str(change_id)})
            return
    with tolerated("delay of a planned change of an agent's status"):
        stuck = AgentStatusChange.objects.planned().filter(pk=change_id, due_at__lte=now)
        stuck.update(due_at=now + RETRY)


@transaction.atomic
def take(change_id: UUID, now: datetime, *, failed: bool = False) -> bool:
    """Take a planned change that is due at ``now``, and make it; whether this call has taken it.

    ``failed``: a try has failed, so it is only marked. So is the change of somebody who could not make it now.
    """
    for agent in Agent.objects.filter(status_changes=change_id).only("pk"):
        lock_agent(agent)
    rows = AgentStatusChange.objects.planned().filter(due_at__lte=now)
    rows = rows.select_related("agent__project", "made_by__user", "made_by__role")
    planned = rows.filter(pk=change_id).first()
    if planned is None:
        return False
    reason = "a fault" if failed else ""
    # guard: planned-status-change-needs-the-rights-of-its-author
    if not is_allowed_still(planned):
        failed, reason = True, NOT_ALLOWED_ANY_MORE
    # guard: status-change-is-made-once
    if not _end(planned, StatusChangeState.FAILED if failed else StatusChangeState.DONE):
        return False
    if failed:
        _record("agent.status_change_failed", planned, by=None, reason=reason)
        _tell_pages(planned.agent)
    else:
        change(
            planned.agent,
            status=planned.status,
            mode=planned.mode,
            by=planned.made_by,
            planned_for=planned.due_at.isoformat(),
        )
    return True


def is_allowed_still(planned: AgentStatusChange) -> bool:
    """Whether the person who planned it could make it now. Somebody who was removed leaves nothing behind that acts."""
    person = planned.made_by
    if person is None or (person.user is not None and not person.user.is_active):
        return False
    return permissions.allows(person, "agents:write")


# --- parts ------------------------------------------------------------------------------------------


def _confirmed_impact(agent: Agent, status: str, mode: str, confirmed: bool) -> agent_impact.Impact:
    impact = agent_impact.measure(agent)
    changes = status != agent.status or mode == StatusMode.IMMEDIATE
    stops = status != AgentStatus.ACTIVE and changes
    # guard: status-change-is-confirmed
    if stops and impact.touches_anything and not confirmed:
        raise ConfirmationNeeded(f"This touches {impact.in_words}. Confirm it to go on.")
    return impact


def _moment(at: str, zone: str) -> datetime:
    try:
        time_zones.check(zone)
    except ValidationError as error:
        raise Invalid(fields={"time_zone": error.messages}) from None
    try:
        given = datetime.fromisoformat(at)
        moment = given.astimezone(UTC) if given.tzinfo else _local(given, zone)
    except (ValueError, OverflowError):
        raise Invalid(fields={"at": ["Write a time such as 2026-03-01T09:30."]}) from None
    now = timezone.now()
    if not now < moment <= now + MAX_AHEAD:
        raise Invalid(fields={"at": ["Write a time from now on, within a year."]})
    return moment


def _local(given: datetime, zone: str) -> datetime:
    there = ZoneInfo(zone)
    moment = given.replace(tzinfo=there).astimezone(UTC)
    # guard: skipped-hour-is-no-time
    if moment.astimezone(there).replace(tzinfo=None) != given:
        raise Invalid(
            fields={"at": [f"The clocks of {zone} skip this time when summer time begins."]}
        )
    return moment


def _end(planned: AgentStatusChange, state: StatusChangeState) -> int:
    rows = AgentStatusChange.objects.filter(pk=planned.pk, state=StatusChangeState.PLANNED)
    return rows.update(state=state, ended_at=timezone.now())


def _record(action: str, planned: AgentStatusChange, *, by: Member | None, **facts: str) -> None:
    agent = planned.agent
    audit.record(
        action,
        agent,
        by=by,
        project_id=agent.project_id,
        status=planned.status,
        mode=planned.mode,
        at=planned.due_at.isoformat(),
        **facts,
    )


def _tell_pages(agent: Agent) -> None:
    project_changed.send(sender=Agent, project_id=agent.project_id, noun="agent", id=agent.pk)
