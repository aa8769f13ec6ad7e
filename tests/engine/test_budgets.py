"""Budgets in tokens and dollars: portions, bounds of calls, hints and summaries at every kind of limit."""

from dataclasses import replace

import pytest

from paca import events
from paca.engine import summary_at_limit
from paca.engine.budgets import Amounts, Budget, BudgetScope
from paca.engine.limits import TurnLimits, TurnProgress, reached_limit, refusal
from paca.engine.llm.base import Usage
from paca.engine.llm.model_errors import ContextExceeded, TimedOut
from tests.engine.world import World
from tests.support.fake_sandbox_workspace import RunningCommand
from tests.support.model_script import calls, says

pytestmark = pytest.mark.anyio

MODEL = "anthropic/claude-sonnet-4-5"


def spent(progress: TurnProgress, tokens: int = 0, dollars: float = 0.0) -> TurnProgress:
    used = events.UsageRecorded(call_id="m", model="m", input=tokens, cost_usd=dollars)
    return progress.advance(used)


def bash(*commands: str):
    return [calls(bash=command) for command in commands]


def world(*replies, **limits) -> World:
    return World(*replies, limits=TurnLimits(**{"steps": 50, **limits}), commands={"ls": "a\n"})


# --- what a call may take -------------------------------------------------------------------------


async def test_bound_counts_prompt_tools_answer_and_the_dearest_price():
    """A request that nobody has counted: four characters a token, and a quarter more."""
    conversation = priced(says("Hm."), tokens=10**6, cost_usd=9.0)
    await conversation.ask("x" * 40_000)
    assert conversation.turn is not None
    bound = conversation.turn.next_call
    sent = bound.tokens - 8192
    characters = 40_000 + len("Be brief.") + conversation.turn.toolbox.characters
    assert sent == pytest.approx(characters / 4 * 1.25, rel=0.01)
    assert bound.cost_usd == pytest.approx((sent * 3.75 + 8192 * 15) / 10**6, rel=0.01)


@pytest.mark.parametrize(
    ("budget", "call", "reason"),
    [
        (Budget(BudgetScope.AGENT_DAY, tokens=100, used=Amounts(60)), Amounts(40), ""),
        (Budget(BudgetScope.AGENT_DAY, tokens=100, used=Amounts(60)), Amounts(41), "token_budget"),
        (Budget(BudgetScope.AGENT_DAY, tokens=100, used=Amounts(100)), Amounts(), "token_budget"),
        (Budget(BudgetScope.AGENT_DAY, cost_usd=1, used=Amounts(9, 0.5)), Amounts(9, 0.5), ""),
        (Budget(BudgetScope.AGENT_DAY, cost_usd=1), Amounts(1, 1.1), "cost_budget"),
        (Budget(BudgetScope.TURN, tokens=100), Amounts(900), ""),
        (Budget(BudgetScope.CONVERSATION, cost_usd=1), Amounts(1, 9.0), ""),
    ],
)
def test_budget_refuses_a_call_that_may_take_more_than_is_left(budget, call, reason):
    """A new portion of a turn or a conversation allows its first call."""
    found = refusal(budget, call)
    assert (found.reason if found else "") == reason


def test_conversation_stops_before_a_call_that_may_exceed_its_budget():
    limits = TurnLimits(steps=9, cost_usd=2.0)
    progress = spent(TurnProgress(), 1000, 1.62)
    assert reached_limit(progress, limits, 0, Amounts(1, 0.38)) is None
    found = reached_limit(progress, limits, 0, Amounts(1, 0.42))
    assert found is not None
    assert found.detail == (
        "It has used $1.62 of its limit of $2.00, and the next model call may take up to $0.42."
        " Continue or a message gives it $2.00 more."
    )


def test_turn_has_budgets_of_its_own_that_begin_anew():
    limits = TurnLimits(steps=9, tokens=1000, turn_tokens=100)
    progress = spent(TurnProgress(), 100)
    found = reached_limit(progress, limits, 0)
    assert found is not None
    assert (found.reason, found.budget, found.limit) == ("token_budget", "turn", 100)
    reached = events.LimitReached(which="token_budget", limit=100, budget="turn")
    after = progress.advance(reached).advance(events.TurnStarted(number=2))
    assert reached_limit(after, limits, 0) is None
    assert after.tokens == 100  # the conversation goes on counting


def test_fork_has_the_whole_budget_of_a_conversation():
    """Its log begins with a copy of the other one's usage, which the other one has paid."""
    limits = TurnLimits(steps=9, tokens=100, cost_usd=1.0)
    reached = events.LimitReached(which="token_budget", limit=100, budget="conversation")
    copied = spent(TurnProgress(), 100, 1.0).advance(reached)
    fork = copied.advance(events.ConversationForked(conversation_id="c", seq=9))
    begun = fork.advance(events.TurnStarted(number=2))
    assert (begun.tokens, begun.cost_usd) == (0, 0.0)
    assert reached_limit(begun, limits, 0) is None


@pytest.mark.parametrize("scope", [BudgetScope.AGENT_DAY, BudgetScope.PROJECT_MONTH])
def test_continue_gives_no_portion_of_a_shared_budget(scope):
    reached = events.LimitReached(which="cost_budget", limit=5, budget=scope)
    progress = spent(TurnProgress(), 10, 1.0).advance(reached)
    after = progress.advance(events.TurnStarted(number=2))
    assert (after.tokens, after.cost_usd) == (10, 1.0)
    found = refusal(Budget(scope, cost_usd=5, used=Amounts(1, 4.9)), Amounts(1, 0.2))
    assert found is not None
    assert found.is_shared
    assert "$4.90 of its limit of $5.00" in found.detail
    assert "Continue" not in found.detail


# --- the loop -----------------------------------------------------------------------------------


async def test_second_call_is_refused_if_it_may_exceed_the_budget_of_tokens():
    """15 tokens are used and 4,000 are left; an answer may have 8,192."""
    conversation = world(*bash("ls"), says("Summed up."), tokens=7000)
    await conversation.ask("Go")
    assert conversation.status == "paused/token_budget"
    assert conversation.answers == ["Summed up."]
    assert len(conversation.llm.requests) == 2
    assert conversation.llm.requests[-1].max_tokens == summary_at_limit.SUMMARY_TOKENS


async def test_summary_that_does_not_fit_into_the_budget_is_not_asked_for():
    conversation = world(*bash("ls"), tokens=1000)
    await conversation.ask("Go")
    assert (conversation.status, conversation.answers) == ("paused/token_budget", [])
    [reached] = conversation.find(events.LimitReached)
    assert (reached.budget, reached.summary) == ("conversation", False)
    await conversation.ask("Go on", says("Done."))
    assert conversation.status == "finished/answered"
    assert "is reached" not in str(conversation.llm.requests[-1].messages)


async def test_each_portion_of_dollars_allows_a_call_whatever_it_may_cost():
    """The tokens of the conversation go on counting meanwhile."""
    conversation = priced(*bash("ls"), cost_usd=0.05)
    conversation.llm.usage = Usage(input=100, reported_usd=0.05)
    await conversation.ask("Go")
    assert (conversation.status, len(conversation.llm.requests)) == ("paused/cost_budget", 1)
    for _ in range(2):
        await conversation.ask("On", *bash("ls"))
        assert conversation.status == "paused/cost_budget"
    assert len(conversation.llm.requests) == 3


def priced(*replies, **limits) -> World:
    conversation = world(*replies, **limits)
    conversation.profile = replace(conversation.profile, model=MODEL)
    return conversation


@pytest.mark.parametrize(
    ("limits", "which"),
    [
        ({"steps": 3}, "step_limit"),
        ({"tokens": 40_000}, "token_budget"),
        ({"turn_tokens": 40_000}, "token_budget"),
        ({"cost_usd": 0.25}, "cost_budget"),
        ({"seconds": 1000.0}, "time_limit"),
    ],
)
async def test_model_is_warned_before_each_kind_of_limit_and_sums_up_after_it(
    limits, which, monkeypatch
):
    """Each step takes a sixth to a third of the limit."""
    usages = {"token_budget": Usage(input=6600), "cost_budget": Usage(input=1, reported_usd=0.08)}

    def reply(request):
        return calls(bash="ls") if request.may_call else says("Summed up.")

    conversation = priced(*[reply] * 9, **limits)
    conversation.llm.usage = usages.get(which, Usage(input=10, output=5))

    async def read_limits():
        if which == "time_limit" and conversation.turn is not None:
            conversation.turn.started_at -= 330
        return conversation.profile.limits

    monkeypatch.setattr(conversation, "_read_limits", read_limits)
    await conversation.ask("Go")
    assert conversation.status == f"paused/{which}"
    neared = conversation.find(events.LimitNeared)
    assert {each.which for each in neared} == {which}
    assert len(neared) == 1
    assert conversation.answers == ["Summed up."]
    assert not conversation.llm.requests[-1].may_call
    assert "is reached. Do not call tools" in conversation.last_request()


@pytest.mark.parametrize("fault", [ContextExceeded("It is too long."), TimedOut("No answer.")])
async def test_pause_names_the_limit_also_if_the_summary_comes_to_nothing(fault):
    conversation = world(*bash("ls", "ls -a"), fault, steps=2)
    await conversation.ask("Go")
    assert (conversation.status, conversation.answers) == ("paused/step_limit", [])
    await conversation.ask("Go on", says("Done."))
    assert conversation.status == "finished/answered"


async def test_limits_are_asked_again_before_the_request_that_was_shortened_after_a_refusal():
    commands = {f"ls {n}": "x" * 5000 for n in range(6)}
    refusal = ContextExceeded("This model's maximum context length is 8192 tokens.")
    conversation = World(*bash(*commands), refusal, says("Summed up."), commands=commands)
    conversation.new_limits = {7: TurnLimits(steps=6)}
    await conversation.ask("Go")
    assert conversation.status == "paused/step_limit"
    assert conversation.find(events.ContextTrimmed)
    assert not conversation.llm.requests[-1].may_call


async def test_command_that_the_time_limit_ends_is_summed_up_in_the_time_after_it(monkeypatch):
    command = RunningCommand("begun\n")
    conversation = World(
        calls(bash="serve"),
        says("It was still starting."),
        limits=TurnLimits(steps=9, seconds=0.3),
        commands={"serve": command},
    )
    await conversation.ask("Go")
    assert conversation.status == "paused/time_limit"
    assert conversation.answers == ["It was still starting."]
    assert conversation.find(events.LimitNeared) == []


async def test_shared_budget_that_is_used_up_ends_the_turn_before_any_call():
    day = Budget(BudgetScope.AGENT_DAY, cost_usd=5.0, used=Amounts(1000, 5.0))
    conversation = priced(says("never"), shared=(day,))
    await conversation.ask("Go")
    assert (conversation.status, conversation.llm.requests) == ("paused/cost_budget", [])
    assert conversation.outcome is not None
    assert (conversation.outcome.budget, conversation.outcome.used) == ("agent_day", 5.0)


async def test_call_of_a_lead_reserves_of_the_budget_that_its_team_uses_too():
    conversation = world(says("Hi."), tokens=10**6, team_used=Amounts(900), untold=Amounts(300))
    await conversation.ask("Hello.")
    assert conversation.turn is not None
    row = conversation.turn.call_started("m")
    assert (row.team_used, row.at_most.tokens > 8192) == (Amounts(900), True)
    assert [(each.scope, each.used) for each in row.budgets] == [("conversation", Amounts(300))]


async def test_model_without_a_price_counts_in_tokens_under_a_budget_of_the_project():
    """A limit in dollars of the agent itself needs one of tokens beside it."""
    month = Budget(BudgetScope.PROJECT_MONTH, cost_usd=5.0)
    conversation = world(says("Hello."), shared=(month,))
    await conversation.ask("Go")
    assert conversation.answers == ["Hello."]
    day = Budget(BudgetScope.AGENT_DAY, cost_usd=5.0)
    conversation = world(shared=(day,))
    await conversation.ask("Go")
    assert conversation.status == "failed/configuration"
    assert "Give the agent a limit of tokens." in conversation.outcome.next_step
