"""How many frames a second a socket may send."""

import pytest

from paca.realtime import rate_limit
from paca.realtime.rate_limit import FRAMES_A_SECOND, Allowance, TooFast
from tests.support.fake_clock import FakeClock


def test_a_socket_may_send_twenty_frames_at_once_and_not_one_more():
    with FakeClock():
        allowance = Allowance()
        for _ in range(FRAMES_A_SECOND):
            allowance.spend()
        with pytest.raises(TooFast):
            allowance.spend()


def test_an_empty_allowance_fills_up_at_twenty_a_second_and_never_above_twenty():
    with FakeClock() as clock:
        allowance = Allowance()
        for _ in range(FRAMES_A_SECOND):
            allowance.spend()
        clock.advance(0.06)
        allowance.spend()
        with pytest.raises(TooFast):
            allowance.spend()
        clock.advance(3600)
        for _ in range(rate_limit.FRAMES_A_SECOND):
            allowance.spend()
        with pytest.raises(TooFast):
            allowance.spend()
