"""The slots of check-ins: intervals, hours, time zones and their clock changes, without a database."""

from __future__ import annotations

import random
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from paca.conversations.check_in_slots import Schedule, due_slot, is_active, next_slot, to_instant

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",  # its clocks change by half an hour
    "Asia/Kathmandu",  # 5:45 from UTC
    "America/Santiago",  # its clocks change at midnight
)


def at(text: str, zone: ZoneInfo = BERLIN, *, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold).astimezone(UTC)


def slots(schedule: Schedule, after: datetime, count: int) -> list[str]:
    """The next slots, as the clocks of the schedule show them."""
    shown = []
    for _ in range(count):
        following = next_slot(schedule, after)
        assert following is not None
        assert following > after
        after = following
        shown.append(f"{after.astimezone(schedule.zone):%a %d %H:%M %z}")
    return shown


def test_interval_of_45_minutes_is_never_shorter():
    schedule = Schedule(BERLIN, every_minutes=45)
    assert slots(schedule, at("2026-06-01T08:00"), 3) == [
        "Mon 01 08:45 +0200",
        "Mon 01 09:30 +0200",
        "Mon 01 10:15 +0200",
    ]


def test_interval_goes_on_when_the_active_hours_begin_again():
    schedule = Schedule(
        BERLIN,
        every_minutes=90,
        weekdays=frozenset({1, 2, 3, 4, 5}),
        active_from=time(8),
        active_to=time(11),
    )
    assert slots(schedule, at("2026-06-05T08:00"), 4) == [
        "Fri 05 09:30 +0200",
        "Mon 08 08:00 +0200",
        "Mon 08 09:30 +0200",
        "Tue 09 08:00 +0200",
    ]


def test_interval_longer_than_the_active_hours_still_comes():
    schedule = Schedule(BERLIN, every_minutes=1440, active_from=time(8), active_to=time(12))
    assert slots(schedule, at("2026-06-01T20:00"), 2) == [
        "Wed 03 08:00 +0200",
        "Thu 04 08:00 +0200",
    ]


def test_active_hours_over_midnight_belong_to_the_day_on_which_they_begin():
    schedule = Schedule(
        BERLIN,
        every_minutes=120,
        weekdays=frozenset({5}),
        active_from=time(22),
        active_to=time(3),
    )
    assert slots(schedule, at("2026-06-05T12:00"), 4) == [
        "Fri 05 22:00 +0200",
        "Sat 06 00:00 +0200",
        "Sat 06 02:00 +0200",
        "Fri 12 22:00 +0200",
    ]
    assert not is_active(schedule, at("2026-06-05T02:00"))
    assert not is_active(schedule, at("2026-06-06T03:00"))


def test_daily_hours_come_at_the_hours_of_the_clock_on_both_sides_of_a_change():
    schedule = Schedule(BERLIN, daily_at=(time(9), time(17, 30)))
    assert slots(schedule, at("2026-03-28T10:00"), 3) == [
        "Sat 28 17:30 +0100",
        "Sun 29 09:00 +0200",
        "Sun 29 17:30 +0200",
    ]


def test_skipped_hour_runs_at_the_first_instant_after_the_change_and_once():
    schedule = Schedule(BERLIN, daily_at=(time(2, 10), time(2, 50), time(3)))
    assert slots(schedule, at("2026-03-28T12:00"), 3) == [
        "Sun 29 03:00 +0200",
        "Mon 30 02:10 +0200",
        "Mon 30 02:50 +0200",
    ]


def test_skipped_midnight_of_santiago_and_half_hour_of_lord_howe():
    santiago, howe = ZoneInfo("America/Santiago"), ZoneInfo("Australia/Lord_Howe")
    assert to_instant(datetime.fromisoformat("2026-09-06T00:15"), santiago) == at(
        "2026-09-06T01:00", santiago
    )
    assert to_instant(datetime.fromisoformat("2026-10-04T02:10"), howe) == at(
        "2026-10-04T02:30", howe
    )


def test_doubled_hour_runs_once():
    schedule = Schedule(BERLIN, daily_at=(time(2, 30),))
    assert slots(schedule, at("2026-10-24T12:00"), 2) == [
        "Sun 25 02:30 +0200",
        "Mon 26 02:30 +0100",
    ]


def test_interval_passes_through_a_doubled_hour_as_time_does():
    schedule = Schedule(BERLIN, every_minutes=60)
    assert slots(schedule, at("2026-10-25T00:30"), 4) == [
        "Sun 25 01:30 +0200",
        "Sun 25 02:30 +0200",
        "Sun 25 02:30 +0100",
        "Sun 25 03:30 +0100",
    ]


def test_interval_goes_on_when_the_active_hours_begin_a_second_time_in_a_night():
    schedule = Schedule(BERLIN, every_minutes=20, active_from=time(2, 30), active_to=time(3, 30))
    assert slots(schedule, at("2026-10-25T02:20"), 5) == [
        "Sun 25 02:40 +0200",
        "Sun 25 02:30 +0100",
        "Sun 25 02:50 +0100",
        "Sun 25 03:10 +0100",
        "Mon 26 02:30 +0100",
    ]


def test_day_whose_active_hours_are_skipped_has_no_slot():
    schedule = Schedule(BERLIN, every_minutes=600, active_from=time(2), active_to=time(3))
    assert slots(schedule, at("2026-03-28T02:00"), 1) == ["Mon 30 02:00 +0200"]


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(BERLIN, every_minutes=5, weekdays=frozenset()),
        Schedule(BERLIN, daily_at=(time(9),), active_from=time(10), active_to=time(11)),
        Schedule(BERLIN, daily_at=()),
    ],
    ids=["no weekday", "hour outside of the active hours", "no hour"],
)
def test_schedule_that_is_never_active_has_no_slot(schedule):
    assert next_slot(schedule, at("2026-06-01T08:00")) is None


def test_missed_slots_become_one():
    schedule = Schedule(BERLIN, every_minutes=60)
    due = due_slot(schedule, at("2026-06-01T08:00"), at("2026-06-01T11:20"))
    assert (due.slot, due.missed) == (at("2026-06-01T11:00"), 3)
    assert due.following == at("2026-06-01T12:00")


def test_slot_that_is_taken_a_moment_late_does_not_move_the_next_one():
    schedule = Schedule(BERLIN, every_minutes=60)
    due = due_slot(schedule, at("2026-06-01T08:00"), at("2026-06-01T08:00") + timedelta(seconds=9))
    assert (due.missed, due.following) == (0, at("2026-06-01T09:00"))


def test_slots_of_a_long_downtime_are_counted_up_to_a_bound():
    schedule = Schedule(BERLIN, every_minutes=5)
    due = due_slot(schedule, at("2026-01-01T00:00"), at("2027-01-01T00:00"))
    assert due.missed == 10_000
    assert due.following == at("2027-01-01T00:05")


SCHEDULES = (
    {"every_minutes": 240},
    {"every_minutes": 95, "active_from": time(22), "active_to": time(4, 30)},
    {"daily_at": (time(0), time(2, 30), time(9), time(17, 45))},
    {"every_minutes": 720, "weekdays": frozenset({1, 3, 6})},
)


class Row:
    """The row of one check-in in memory: two workers race for its slot by compare-and-swap."""

    def __init__(self, schedule: Schedule, start: datetime) -> None:
        self.schedule = schedule
        self.next_at = next_slot(schedule, start)
        self.run: list[datetime] = []
        self.missed = 0

    def tick(self, now: datetime, dice: random.Random) -> None:
        seen = [self.next_at] * 2  # both workers have read the row before either writes
        dice.shuffle(seen)
        for read in seen:
            if read is None or read > now:
                continue
            due = due_slot(self.schedule, read, now)
            if self.next_at == read:
                self.next_at = due.following
                self.run.append(due.slot)
                self.missed += due.missed


def expected_slots(schedule: Schedule, start: datetime, end: datetime) -> list[datetime]:
    found, slot = [], next_slot(schedule, start)
    while slot is not None and slot <= end:
        found.append(slot)
        slot = next_slot(schedule, slot)
    return found


def test_ten_thousand_slots_over_two_years_and_five_zones_run_once_each():
    start, end = datetime(2026, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)
    dice, total = random.Random(7), 0
    for zone in ZONES:
        for options in SCHEDULES:
            row = Row(Schedule(ZoneInfo(zone), **options), start)
            wanted = expected_slots(row.schedule, start, end)
            for slot in wanted:  # the clock moves to a moment after each slot, sometimes twice
                row.tick(slot + timedelta(seconds=dice.uniform(0, 40)), dice)
                if dice.random() < 0.1:
                    row.tick(slot + timedelta(seconds=50), dice)
            assert row.run == wanted, (zone, options)
            assert row.missed == 0
            assert all(
                is_active(row.schedule, slot) for slot in wanted if "every_minutes" in options
            )
            total += len(wanted)
    assert total > 10_000


def test_every_missed_slot_is_counted_or_run_whenever_the_workers_are_up():
    start, end = datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 15, tzinfo=UTC)
    dice = random.Random(3)
    for zone in ZONES:
        for options in SCHEDULES:
            row = Row(Schedule(ZoneInfo(zone), **options), start)
            now = start
            while now < end:
                now += timedelta(minutes=dice.choice((7, 400, 5000)))
                row.tick(now, dice)
            assert len(row.run) + row.missed == len(expected_slots(row.schedule, start, now))
            assert len(set(row.run)) == len(row.run)
