"""The time limits of one attempt: what is asked for again, and what is not."""

import pytest

from paca.engine.llm import own_parameters
from paca.engine.llm.base import ModelLoading, RateLimited, StreamBroken, TimedOut, Unreachable
from paca.engine.llm.http_pool import TimeLimits
from paca.engine.llm.response_body import AttemptBudget
from tests.support.fake_clock import FakeClock

OWN = TimeLimits(own_server=True, loading=300)


@pytest.mark.parametrize(
    ("limits", "begun", "error", "setting"),
    [
        (TimeLimits(), False, TimedOut, "first_token_seconds"),
        (TimeLimits(), True, StreamBroken, "silence_seconds"),
        (OWN, False, TimedOut, "first_token_seconds"),
        (OWN, True, TimedOut, "silence_seconds"),
    ],
)
def test_answer_that_does_not_come_in_time_names_the_setting(limits, begun, error, setting):
    """A request that the server may still be working on is not sent again."""
    budget = AttemptBudget(limits)
    budget.begun = begun
    found = budget.timeout_error("http://model/v1")
    assert (type(found), found.retryable) == (error, error is StreamBroken)
    assert setting in found.detail


def test_answer_that_takes_too_long_in_total_is_not_asked_for_again():
    with FakeClock() as clock:
        budget = AttemptBudget(TimeLimits(total=900))
        budget.begun = True
        clock.advance(901)
        found = budget.timeout_error()
    assert (type(found), "total_seconds" in found.detail) == (TimedOut, True)


def test_own_server_that_does_not_listen_yet_is_asked_again_for_a_while():
    for limits, error, patience in (
        (OWN, Unreachable("refused"), 300),
        (TimeLimits(loading=300), Unreachable("refused"), 0),
        (TimeLimits(loading=300), ModelLoading("loading"), 300),
        (OWN, RateLimited("slow"), 0),
    ):
        assert AttemptBudget(limits).with_patience(error).patience_seconds == patience


def test_agents_own_time_limits_replace_those_of_the_installation():
    given = {"first_token_seconds": 2000, "silence_seconds": 5}
    found = own_parameters.time_limits(given, TimeLimits(total=1800))
    assert (found.first_token, found.gap, found.total) == (2000, 5, 2000)
