"""The slots of a check-in: when it is due. Pure functions of a schedule and an instant, without a clock.

An instant is an aware ``datetime`` in UTC. Hours of a day are those of the clocks in the schedule's time zone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

MIDNIGHT = time(0)
ALL_DAYS = frozenset(range(1, 8))
# A weekday comes again within 7 days. A second week is looked at for a day whose hours a clock change skips.
DAYS_AHEAD = 15
MAX_MISSED = 10_000
SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Either every so many minutes, or daily at these hours; on ``weekdays`` (ISO: Monday is 1).

    The minutes pass as time does, whatever the clocks show. Without ``active_from`` and ``active_to`` the whole
    day is active. Hours over midnight belong to the day on which they begin.
    """

    zone: ZoneInfo
    every_minutes: int | None = None
    daily_at: tuple[time, ...] = ()
    weekdays: frozenset[int] = ALL_DAYS
    active_from: time | None = None
    active_to: time | None = None


@dataclass(frozen=True, slots=True)
class DueSlot:
    """The newest slot that is due, how many due ones before it were missed, the last of them, and the next one."""

    slot: datetime
    missed: int
    last_missed: datetime | None
    following: datetime | None


def next_slot(schedule: Schedule, after: datetime) -> datetime | None:
    """The first slot after an instant; None if no time is ever active.

    An interval counts from ``after``, which is the slot before. One that ends outside of the active hours is
    due when they begin again. Of hours that a clock change skips, the first instant after the change counts; of
    daily hours that come twice, the first.
    """
    if schedule.every_minutes is None:
        return next((slot for slot in _daily(schedule, after) if slot > after), None)
    candidate = after + timedelta(minutes=schedule.every_minutes)
    return candidate if is_active(schedule, candidate) else _next_opening(schedule, candidate)


def due_slot(schedule: Schedule, slot: datetime, now: datetime) -> DueSlot:
    """What to do at ``now`` about a ``slot`` that is due: slots are not piled up, only the newest may run.

    More than ``MAX_MISSED`` slots are not counted; the next one is then counted from ``now``.
    """
    missed, before, following = 0, None, next_slot(schedule, slot)
    # guard: missed-slots-are-not-piled-up
    while following is not None and following <= now and missed < MAX_MISSED:
        before, slot, missed = slot, following, missed + 1
        following = next_slot(schedule, slot)
    if following is not None and following <= now:
        following = next_slot(schedule, now)
    return DueSlot(slot, missed, before, following)


def is_active(schedule: Schedule, at: datetime) -> bool:
    """Whether the instant is within the active hours of one of the weekdays."""
    return is_open(schedule, at.astimezone(schedule.zone).replace(tzinfo=None))


def is_open(schedule: Schedule, local: datetime) -> bool:
    """Whether this date and time, as the clocks show it, is active."""
    begin, end = schedule.active_from, schedule.active_to
    today, clock = local.isoweekday() in schedule.weekdays, local.time()
    if begin is None or end is None:
        return today
    if begin < end:
        return today and begin <= clock < end
    yesterday = (local - timedelta(days=1)).isoweekday() in schedule.weekdays
    return today and clock >= begin or yesterday and clock < end


def _daily(schedule: Schedule, after: datetime) -> Iterator[datetime]:
    """The instants of the daily hours from the day of ``after`` on, in order."""
    for day in _days(schedule, after):
        shown = (datetime.combine(day, at) for at in schedule.daily_at)
        yield from sorted(
            to_instant(each, schedule.zone) for each in shown if is_open(schedule, each)
        )


def _next_opening(schedule: Schedule, after: datetime) -> datetime | None:
    for day in _days(schedule, after):
        if day.isoweekday() not in schedule.weekdays:
            continue
        for opening in _openings(schedule, day):
            # A clock change may skip all hours of a day.
            if opening > after and is_active(schedule, opening):
                return opening
    return None


def _openings(schedule: Schedule, day: date) -> list[datetime]:
    """When the active hours of a day begin: twice, if a clock change makes their beginning come twice."""
    shown = datetime.combine(day, schedule.active_from or MIDNIGHT)
    again = shown.replace(tzinfo=schedule.zone, fold=1).astimezone(UTC)
    comes_again = again.astimezone(schedule.zone).replace(tzinfo=None) == shown
    first = to_instant(shown, schedule.zone)
    return [first, again] if comes_again and again > first else [first]


def _days(schedule: Schedule, after: datetime) -> Iterator[date]:
    first = after.astimezone(schedule.zone).date()
    return (first + timedelta(days=n) for n in range(DAYS_AHEAD))


def to_instant(shown: datetime, zone: ZoneInfo) -> datetime:
    """The instant at which the clocks of the zone show this; the first one if they show it twice.

    If they skip it, the instant at which they do.
    """
    before = shown.replace(tzinfo=zone)
    instant = before.astimezone(UTC)
    if instant.astimezone(zone).replace(tzinfo=None) == shown:
        return instant
    # The clocks change within these two instants: what they show jumps over ``shown``.
    low, high = shown.replace(tzinfo=zone, fold=1).astimezone(UTC), instant
    while high - low > SECOND:
        middle = low + (high - low) / 2
        if middle.astimezone(zone).replace(tzinfo=None) > shown:
            high = middle
        else:
            low = middle
    return high.replace(microsecond=0)
