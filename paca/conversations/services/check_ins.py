"""Services that add, change and delete the check-ins of an agent, and run one by hand."""

from __future__ import annotations

from datetime import datetime, time
from typing import Any

from django.db import transaction
from django.utils import timezone

from paca.accounts import audit
from paca.agents.models import Agent
from paca.common import validation
from paca.common.errors import Conflict, Invalid, NotFound
from paca.conversations import check_in_slots
from paca.conversations.check_in_slots import MIDNIGHT
from paca.conversations.models import CheckIn, CheckInRun
from paca.conversations.services import check_in_runs
from paca.conversations.services.assignments import lock_agent
from paca.conversations.services.inbox import SubjectDeleted, check_agent_available
from paca.projects.models import Doc, Member, Project, Task

MAX_CHECK_INS = 20
SETTINGS = frozenset(
    {
        "name",
        "prompt",
        "enabled",
        "every_minutes",
        "daily_at",
        "weekdays",
        "active_from",
        "active_to",
        "time_zone",
        "auto_act",
        "with_tasks",
        "task",
        "doc",
    }
)
# A change of one of these moves the next slot. A change of the rest keeps it.
TIMES = (
    "enabled",
    "every_minutes",
    "daily_at",
    "weekdays",
    "active_from",
    "active_to",
    "zone_name",
)


class TooManyCheckIns(Conflict):
    """This agent has as many check-ins as an agent can have. Delete one of them."""

    code = "too_many_check_ins"


class CheckInBusy(Conflict):
    """The former check-in is not finished; nothing was started. Wait for it, or stop its conversation."""

    code = "check_in_busy"


@transaction.atomic
def create(agent: Agent, *, by: Member, **settings: Any) -> CheckIn:
    """Add a check-in to an agent. ``settings`` are any of ``SETTINGS``; it needs name, prompt and times.

    Its first slot is one interval from now, or the next of its hours. Raises ``Invalid`` with the errors of each
    field, and ``TooManyCheckIns``.
    """
    lock_agent(agent)
    if agent.check_ins.count() >= MAX_CHECK_INS:
        raise TooManyCheckIns
    check_in = CheckIn(agent=agent)
    _apply(check_in, settings)
    _plan(check_in, timezone.now())
    check_in.save(force_insert=True)
    audit.record("check_in.created", check_in, by=by, **_place(check_in))
    check_in_runs.tell_pages(check_in)
    return check_in


@transaction.atomic
def change(check_in: CheckIn, *, by: Member, **settings: Any) -> CheckIn:
    """Change the given settings. Other times, or to switch it on, count from now.

    The row is read again under the agent's lock, so that no slot is taken meanwhile. Raises ``Invalid`` with the
    errors of each field.
    """
    lock_agent(check_in.agent)
    check_in.refresh_from_db(fields=["next_at"])
    before = {name: getattr(check_in, name) for name in (*SETTINGS, "zone_name")}
    _apply(check_in, settings)
    if any(before[name] != getattr(check_in, name) for name in TIMES):
        _plan(check_in, timezone.now())
    changed = sorted(name for name in SETTINGS if before[name] != getattr(check_in, name))
    if changed:
        check_in.save()
        audit.record("check_in.changed", check_in, by=by, **_place(check_in), fields=changed)
        check_in_runs.tell_pages(check_in)
    return check_in


@transaction.atomic
def delete(check_in: CheckIn, *, by: Member) -> None:
    """Delete a check-in with its history. Its conversations stay, and one that runs ends by itself."""
    lock_agent(check_in.agent)
    audit.record("check_in.deleted", check_in, by=by, **_place(check_in))
    check_in_runs.tell_pages(check_in)
    check_in.delete()


@transaction.atomic
def run_now(check_in: CheckIn, *, by: Member) -> CheckInRun:
    """Start a run by hand, also of one that is switched off and at any hour. The next slot stays.

    The row is read again under the agent's lock: it may have been deleted meanwhile, or may act no more. Raises
    ``NotFound``, ``CheckInBusy``, ``SubjectDeleted`` if the task or doc that gets its report is deleted, and what
    ``check_agent_available`` raises.
    """
    lock_agent(check_in.agent)
    # guard: run-by-hand-obeys-the-newest-settings
    check_in = _stored(check_in)
    check_agent_available(check_in.agent)
    if check_in_runs.is_busy(check_in):
        raise CheckInBusy
    if check_in_runs.report_is_deleted(check_in):
        raise SubjectDeleted
    run = check_in_runs.start(check_in, slot=None, now=timezone.now(), by=by)
    run.refresh_from_db()  # its conversation is queued now
    return run


@transaction.atomic
def reschedule(project: Project) -> None:
    """Plan the next slots of the project's check-ins without a time zone of their own, whose zone has changed."""
    found = CheckIn.objects.filter(agent__project=project, enabled=True, time_zone="")
    for agent in Agent.objects.filter(check_ins__in=found).distinct().order_by("pk"):
        lock_agent(agent)
    for check_in in found.select_related("agent__project"):
        _plan(check_in, timezone.now())
        check_in.save(update_fields=["next_at", "updated_at"])


def _stored(check_in: CheckIn) -> CheckIn:
    """The check-in as it is stored now. Raises ``NotFound`` if it is deleted."""
    rows = CheckIn.objects.select_related("agent__project", "task__project", "doc__project")
    found = rows.filter(pk=check_in.pk).first()
    if found is None:
        raise NotFound
    return found


def _apply(check_in: CheckIn, settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        if name not in SETTINGS:
            raise TypeError(f"a check-in has no setting {name!r}")
        setattr(check_in, name, value)
    check_in.name = check_in.name.strip()
    check_in.prompt = check_in.prompt.strip()
    if not check_in.enabled:
        check_in.next_at = None
    # ``_check_times`` says better what is wrong with active hours than their constraint.
    validation.check(check_in, exclude=("agent", "task", "doc", "active_to"))
    _check_times(check_in)
    _check_report(check_in)


def _check_times(check_in: CheckIn) -> None:
    """Raises ``Invalid`` if a setting of the times has no effect, or no slot would ever come."""
    errors: dict[str, list[str]] = {}
    begin, end = check_in.active_from, check_in.active_to
    if (begin is None) != (end is None) or (begin is not None and begin == end):
        errors["active_to"] = [
            "Active hours need a beginning and another end; leave both empty for the whole day."
        ]
    elif (check_in.every_minutes is None) == (not check_in.daily_at):
        errors["every_minutes"] = ["Choose either an interval or hours of the day."]
    elif begin is not None and end is not None:
        outside = [each for each in check_in.daily_at if not _is_within(each, begin, end)]
        if outside:
            errors["daily_at"] = [f"Outside of the active hours: {', '.join(outside)}."]
    if errors:
        raise Invalid(fields=errors)


def _is_within(shown: str, begin: time, end: time) -> bool:
    clock = time.fromisoformat(shown)
    if begin < end or end == MIDNIGHT:
        return clock >= begin and (end == MIDNIGHT or clock < end)
    return clock >= begin or clock < end


def _check_report(check_in: CheckIn) -> None:
    subject: Task | Doc | None = check_in.task or check_in.doc
    # guard: check-in-reports-in-its-project
    if subject is not None and subject.project_id != check_in.agent.project_id:
        raise Invalid(fields={"report_to": ["This task or doc belongs to another project."]})


def _plan(check_in: CheckIn, now: datetime) -> None:
    now = now.replace(microsecond=0)
    check_in.next_at = (
        check_in_slots.next_slot(check_in.schedule, now) if check_in.enabled else None
    )


def _place(check_in: CheckIn) -> dict[str, Any]:
    return {"project_id": check_in.agent.project_id, "agent": str(check_in.agent_id)}
