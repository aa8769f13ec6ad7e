"""The time limits of one attempt: what is asked for again, and what is not."""

import pytest

from paca.engine.llm import own_parameters, registry
from paca.engine.llm.http_pool import TimeLimits, new_pool
from paca.engine.llm.model_errors import (
    ModelLoading,
    Overloaded,
    RateLimited,
    StreamBroken,
    TimedOut,
    Unreachable,
)
from paca.engine.llm.response_body import AttemptBudget
from tests.engine.llm.request_builders import chunks_of, request_with
from tests.support.fake_clock import FakeClock
from tests.support.model_script import Raw

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


@pytest.mark.parametrize("status", [408, 504, 524])
def test_request_that_a_proxy_of_an_own_server_gave_up_is_not_sent_again(status):
    gave_up = AttemptBudget(OWN).refusal(Overloaded("Gateway Time-out"), status)
    assert (type(gave_up), "proxy_read_timeout" in gave_up.detail) == (TimedOut, True)
    elsewhere = AttemptBudget(TimeLimits()).refusal(Overloaded("Gateway Time-out"), status)
    assert elsewhere.retryable
    assert AttemptBudget(OWN).refusal(Overloaded("busy"), 503).retryable
    assert type(AttemptBudget(OWN).refusal(ModelLoading("loading"), status)) is ModelLoading


@pytest.mark.anyio
@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
async def test_adapter_does_not_repeat_a_request_that_a_proxy_gave_up(server, dialect):
    base_url = server.base_url if dialect == "anthropic" else f"{server.base_url}/v1"
    server.script([Raw(b"<h1>504 Gateway Time-out</h1>", status=504)])
    async with new_pool() as http:
        llm = registry.open_llm(
            f"{dialect}/m", base_url=base_url, api_key="k", limits=OWN, http=http
        )
        with pytest.raises(TimedOut):
            await chunks_of(llm, request_with("Hi"))


def test_agents_own_time_limits_replace_those_of_the_installation():
    given = {"first_token_seconds": 2000, "silence_seconds": 5}
    found = own_parameters.time_limits(given, TimeLimits(total=1800))
    assert (found.first_token, found.gap, found.total) == (2000, 5, 2000)
