"""The clock of the process: the system's by default, and a fake one inside a test's context."""

import time

from paca.common import clock, disk_space
from tests.support.fake_clock import FakeClock


def test_clock_is_the_systems_monotonic_clock():
    before = time.monotonic()
    assert before <= clock.monotonic() <= time.monotonic()


def test_fake_clock_counts_until_its_context_ends():
    with FakeClock() as fake:
        began = clock.monotonic()
        fake.advance(15)
        assert clock.monotonic() - began == 15
    assert abs(clock.monotonic() - time.monotonic()) < 60


def test_full_database_is_remembered_for_fifteen_seconds():
    with FakeClock() as fake:
        disk_space.report_database_full()
        fake.advance(disk_space.FULL_SECONDS - 0.1)
        assert disk_space.database_is_full()
        fake.advance(0.2)
        assert not disk_space.database_is_full()
    disk_space._full_until = 0.0
