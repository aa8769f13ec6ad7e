"""The limits of a turn, its progress and the warning before the step limit."""

import pytest

from paca import events
from paca.engine.limits import (
    ReachedLimit,
    TurnLimits,
    TurnProgress,
    reached_limit,
    warnings_before_call,
)


def used(*happened: events.Event) -> TurnProgress:
    progress = TurnProgress()
    for event in happened:
        progress = progress.advance(event)
    return progress


def call(**facts: object) -> events.UsageRecorded:
    return events.UsageRecorded(call_id="m", model="m", **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("limits", "progress", "seconds", "reason"),
    [
        (TurnLimits(steps=2), used(call(), call()), 0, "step_limit"),
        (TurnLimits(steps=2), used(call(), call(outcome="failed")), 0, None),
        (TurnLimits(steps=9, tokens=100), used(call(input=60, output=40)), 0, "token_budget"),
        (TurnLimits(steps=9, tokens=100), used(call(input=60, output=39)), 0, None),
        (TurnLimits(steps=9, cost_usd=0.5), used(call(cost_usd=0.5)), 0, "cost_budget"),
        (TurnLimits(steps=9, cost_usd=0.5), used(call(cost_usd=None)), 0, None),
        (TurnLimits(steps=9, seconds=60), TurnProgress(), 60, "time_limit"),
    ],
)
def test_limit_ends_the_turn_before_the_next_call(limits, progress, seconds, reason):
    found = reached_limit(progress, limits, seconds)
    assert (found.reason if found else None) == reason


def test_token_budget_counts_failed_attempts():
    assert used(call(outcome="failed", input=70), call(input=40)).tokens == 110


def test_progress_of_a_new_turn_resets_steps_and_keeps_cost():
    progress = used(call(cost_usd=1.0), events.TurnStarted(number=2))
    assert (progress.steps, progress.cost_usd) == (0, 1.0)


@pytest.mark.parametrize(
    ("which", "tokens", "cost_usd"),
    [("token_budget", 0, 1.0), ("cost_budget", 70, 0.0), ("time_limit", 70, 1.0)],
)
def test_budget_that_was_reached_is_given_again_to_the_next_turn(which, tokens, cost_usd):
    """The other budget goes on."""
    spent = call(input=70, cost_usd=1.0)
    reached = events.LimitReached(which=which, limit=1)
    progress = used(spent, reached, events.TurnStarted(number=2))
    assert (progress.tokens, progress.cost_usd) == (tokens, cost_usd)
    once_more = used(spent, reached, *[events.TurnStarted(number=n) for n in (2, 3)], spent)
    assert once_more.tokens == tokens + 70


def test_fork_begins_with_whole_budgets():
    """The copied calls belong to the origin, and so does the limit that it had reached."""
    spent, reached = (
        call(input=70, cost_usd=1.0),
        events.LimitReached(which="token_budget", limit=1),
    )
    forked = events.ConversationForked(conversation_id="c", seq=3)
    progress = used(spent, reached, forked, call(input=5, cost_usd=0.5))
    assert (progress.tokens, progress.cost_usd) == (5, 0.5)
    next_turn = progress.advance(events.TurnStarted(number=2))
    assert (next_turn.tokens, next_turn.cost_usd) == (5, 0.5)


def test_limit_says_what_continue_gives():
    assert ReachedLimit("token_budget", 100_000).detail == (
        "It has used its limit of 100,000 tokens. Continue or a message gives it 100,000 tokens more."
    )
    assert ReachedLimit("cost_budget", 2.5).amount == "$2.50"
    assert ReachedLimit("step_limit", 1).amount == "1 step"


def test_step_limit_warning_comes_once_and_never_before_the_first_step():
    limits = TurnLimits(steps=2)
    assert warnings_before_call(TurnProgress(), limits, 0) == []
    [near] = warnings_before_call(used(call()), limits, 0)
    assert near == events.LimitNeared(which="step_limit", left=1)
    assert warnings_before_call(used(call(), near), limits, 0) == []
