"""Which model answers: the fallback before the first shown token only, and the strongest effort of a turn's messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from paca import events
from paca.engine import fallback
from paca.engine.budgets import Budget, BudgetScope
from paca.engine.limits import TurnLimits
from paca.engine.llm import model_errors
from paca.engine.model_state import ModelChoice, ModelState
from paca.engine.turn import AgentProfile, OpenedModel
from tests.engine.world import PROFILE, World
from tests.support.model_script import calls, fails, says
from tests.support.scripted_llm import ScriptedLLM

pytestmark = pytest.mark.anyio

OWN, FALLBACK = PROFILE.model, "openai/gpt-5"
STRONG = "anthropic/claude-opus-5"


class Models:
    """What ``open_model`` opens: the fallback and the models of efforts."""

    def __init__(self, world: World, *, fallback: Any = None, **efforts: Any) -> None:
        self.world = world
        self.fallback, self.efforts = fallback, efforts
        self.profile: dict[str, Any] = {}
        self.opened: list[ModelChoice] = []

    def __call__(self, choice: ModelChoice) -> OpenedModel:
        self.opened.append(choice)
        own: AgentProfile = self.world.profile
        if choice.fallback:
            if isinstance(self.fallback, model_errors.ModelError):
                raise self.fallback
            return OpenedModel(replace(own, model=FALLBACK, **self.profile), self.fallback)
        if choice.effort in self.efforts:
            return OpenedModel(
                replace(own, model=STRONG, **self.profile), self.efforts[choice.effort]
            )
        return OpenedModel(own, self.world.llm)


def world_with(*replies: Any, fallback: Any = None, key_owner: str = "", **profile: Any) -> World:
    efforts = profile.pop("efforts", {})
    if fallback is not None:
        profile["fallback_model"] = FALLBACK
    world = World(*replies, retries=profile.pop("retries", 0), key_owner=key_owner, **profile)
    world.open_model = Models(world, fallback=fallback, **efforts)
    world.checks_after_each_turn = False  # they read the requests of the own model alone
    return world


def models_of(world: World) -> list[tuple[str, str]]:
    return [(each.model, each.outcome) for each in world.find(events.UsageRecorded)]


# --- the fallback ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        model_errors.Unreachable(),
        model_errors.Overloaded(),
        model_errors.RateLimited(),
        model_errors.KeyRefused(),
        model_errors.NoCredit(),
        model_errors.ModelMisconfigured(),
        model_errors.RequestRefused(),
        model_errors.ToolsUnsupported(),
        model_errors.TimedOut(),
        model_errors.EmptyReply(),
    ],
)
async def test_fallback_answers_the_step_whose_model_fails(error):
    other = ScriptedLLM([calls(bash="ls"), says("Done.")])
    world = world_with(error, fallback=other, commands={"ls": "a.txt"})
    await world.ask("Hi")
    assert (world.status, world.answers) == ("finished/answered", ["Done."])
    (switched,) = world.find(events.ModelSwitched)
    assert (switched.from_model, switched.to_model, switched.code) == (OWN, FALLBACK, error.code)
    assert switched.cause == error.detail
    assert models_of(world) == [(OWN, "failed"), (FALLBACK, "done"), (FALLBACK, "done")]
    # The turn stays with the fallback: the own model is not asked again at the next step.
    assert len(world.llm.requests) == 1


async def test_own_model_has_its_retries_before_the_fallback_is_asked():
    other = ScriptedLLM([says("Done.")])
    errors = [model_errors.Overloaded(retry_after_seconds=0)] * 3
    world = world_with(*errors, fallback=other, retries=2)
    await world.ask("Hi")
    assert [each for each in world.event_types if each.startswith("model.")] == [
        "model.retried",
        "model.retried",
        "model.switched",
    ]
    assert world.answers == ["Done."]


async def test_fallback_is_never_asked_after_a_shown_token():
    other = ScriptedLLM([says("Never.")])
    world = world_with(fails("cut"), fallback=other)
    await world.ask("Hi")
    assert (world.status, other.requests) == ("paused/model_unavailable", [])
    assert world.find(events.ModelSwitched) == []


async def test_fallback_is_not_asked_if_an_earlier_attempt_of_the_call_was_shown():
    other = ScriptedLLM([says("Never.")])
    world = world_with(fails("cut"), model_errors.KeyRefused(), fallback=other, retries=1)
    await world.ask("Hi")
    assert (world.status, other.requests) == ("failed/configuration", [])


async def test_next_turn_tries_the_own_model_once_and_does_not_pay_for_its_retries():
    other = ScriptedLLM([says("One."), says("Two.")])
    world = world_with(model_errors.Unreachable(), fallback=other)
    await world.ask("Hi")
    world.profile = replace(world.profile, retries=5)
    await world.ask("Again", model_errors.Unreachable())
    assert world.answers == ["One.", "Two."]
    assert len(world.llm.requests) == 2
    await world.ask("Back?", says("Three."))
    assert world.answers[-1] == "Three."


async def test_own_model_has_its_retries_again_some_time_after_the_switch(monkeypatch):
    monkeypatch.setattr(fallback, "UNSURE_SECONDS", 0.0)
    other = ScriptedLLM([says("One.")])
    world = world_with(model_errors.Unreachable(), fallback=other)
    await world.ask("Hi")
    world.profile = replace(world.profile, retries=1)
    again = model_errors.Overloaded(retry_after_seconds=0)
    await world.ask("Again", again, says("Two."))
    assert world.answers == ["One.", "Two."]


async def test_pause_names_both_causes_if_both_fail():
    other = ScriptedLLM([model_errors.KeyRefused(said="bad key")])
    world = world_with(model_errors.Unreachable("No route."), fallback=other)
    await world.ask("Hi")
    # Time may help the own model, so a message or Continue goes on.
    assert world.status == "paused/model_unavailable"
    assert "No route." in world.outcome.detail
    assert "bad key" in world.outcome.detail
    assert FALLBACK in world.outcome.detail
    assert models_of(world) == [(OWN, "failed"), (FALLBACK, "failed")]


async def test_fallback_whose_settings_cannot_work_leaves_the_pause_with_both_causes():
    world = world_with(
        model_errors.RateLimited(), fallback=model_errors.ModelMisconfigured("No key.")
    )
    await world.ask("Hi")
    assert world.status == "paused/rate_limited"
    assert "No key." in world.outcome.detail
    assert world.find(events.ModelSwitched) == []


async def test_budget_reserves_anew_with_the_price_of_the_fallback():
    other = ScriptedLLM([says("Never.")])
    month = Budget(BudgetScope.AGENT_DAY, cost_usd=0.05)
    world = world_with(
        model_errors.Unreachable(),
        fallback=other,
        model="anthropic/claude-haiku-4-5-20251001",
        limits=TurnLimits(steps=9, shared=(month,)),
        max_tokens=8192,
    )
    await world.ask("Hi")  # 8,192 tokens of an answer cost 0.04 and 0.08 dollars
    assert (world.status, other.requests) == ("paused/cost_budget", [])


async def test_fallback_of_unknown_price_is_not_asked_under_a_limit_in_dollars():
    other = ScriptedLLM([says("Never.")])
    world = world_with(
        model_errors.Unreachable(),
        fallback=other,
        model="anthropic/claude-sonnet-5",
        limits=TurnLimits(steps=9, cost_usd=5.0),
    )
    world.open_model.profile = {"base_url": "http://llm.internal"}
    await world.ask("Hi")
    assert (world.status, other.requests) == ("paused/model_unavailable", [])
    assert f"The price of {FALLBACK} is not known" in world.outcome.detail


async def test_history_is_shortened_for_the_smaller_window_of_the_fallback():
    other = ScriptedLLM([says("A summary."), says("A summary."), says("Done.")])
    world = world_with(says("x " * 20_000), fallback=other)
    world.open_model.profile = {"context_window": 8_000, "max_tokens": 1_000}
    await world.ask("Hi")
    await world.ask("More", model_errors.Unreachable())
    assert world.answers[-1] == "Done."
    assert len(world.find(events.ContextCompacted)) == 1
    assert sum(len(str(each)) for each in other.requests[-1].messages) < 4 * 8_000


async def test_stop_during_the_switch_ends_the_turn():
    other = ScriptedLLM([fails("hang")])
    world = world_with(model_errors.Unreachable(), fallback=other)
    world.send("Hi")
    await world.wait_until(lambda: other.requests)
    world.stop()
    await world.wait_until_idle()
    assert world.status == "stopped/by_person"
    assert models_of(world) == [(OWN, "failed"), (FALLBACK, "cancelled")]


async def test_next_worker_asks_the_fallback_after_a_crash_between_switch_and_answer():
    other = ScriptedLLM([fails("hang"), says("Done.")])
    world = world_with(model_errors.Unreachable(), fallback=other)
    world.send("Hi")
    await world.wait_until(lambda: other.requests and fails("hang") not in other.replies)
    await world.kill_worker()
    await world.take_over()
    assert (world.answers, len(world.llm.requests)) == (["Done."], 1)
    assert len(world.find(events.ModelSwitched)) == 1


async def test_agent_whose_fallback_was_removed_asks_its_own_model():
    other = ScriptedLLM([fails("hang")])
    world = world_with(model_errors.Unreachable(), fallback=other)
    world.send("Hi")
    await world.wait_until(lambda: other.requests and fails("hang") not in other.replies)
    await world.kill_worker()
    world.profile = replace(world.profile, fallback_model="")
    world.llm.replies.append(says("Done."))
    await world.take_over()
    assert world.answers == ["Done."]


# --- efforts --------------------------------------------------------------------------------------


async def test_message_is_answered_by_the_model_of_its_effort():
    strong = ScriptedLLM([says("Strong.")])
    world = world_with(says("Own."), efforts={"determined": strong})
    await world.ask("Hi", effort="determined")
    await world.ask("Hi again")
    assert world.answers == ["Strong.", "Own."]
    assert [model for model, _ in models_of(world)] == [STRONG, OWN]


async def test_strongest_effort_of_the_messages_of_a_turn_wins():
    strong, quick = ScriptedLLM([says("Strong.")]), ScriptedLLM([])
    world = world_with(efforts={"determined": strong, "quick": quick})
    world.log.append(events.MessageReceived(text="One", effort="determined"))
    world.log.append(events.MessageReceived(text="Two"))
    await world.ask("Three", effort="quick")
    assert world.answers == ["Strong."]


async def test_plain_message_beside_a_quick_one_is_answered_as_standard():
    quick = ScriptedLLM([])
    world = world_with(says("Own."), efforts={"quick": quick})
    world.log.append(events.MessageReceived(text="One", effort="quick"))
    await world.ask("Two")
    assert (world.answers, quick.requests) == (["Own."], [])


async def test_message_that_is_read_with_the_start_of_a_call_has_its_effort():
    strong = ScriptedLLM([says("Strong.")])
    world = world_with(calls(bash="ls"), efforts={"determined": strong})
    read = world._read_limits

    async def read_limits():
        if world.llm.requests and len(world.find(events.MessageReceived)) == 1:
            world.log.append(events.MessageReceived(text="Harder", effort="determined"))
        return await read()

    world._read_limits = read_limits
    await world.ask("Hi")
    assert world.answers == ["Strong."]
    # The call that had begun with the own model sent nothing, and is booked as nothing.
    assert models_of(world) == [(OWN, "done"), (OWN, "cancelled"), (STRONG, "done")]
    cancelled = world.find(events.UsageRecorded)[1]
    assert (cancelled.input, cancelled.output) == (0, 0)
    assert len(world.llm.requests) == 1


async def test_effort_has_a_step_limit_of_its_own():
    strong = ScriptedLLM([calls(bash="ls")] * 3 + [says("A summary.")])
    world = world_with(efforts={"determined": strong}, commands={"ls": "a"})
    world.open_model.profile = {"effort_steps": 2}
    await world.ask("Hi", effort="determined")
    assert world.status == "paused/step_limit"
    assert len(strong.requests) == 3


@pytest.mark.parametrize("read_with_the_call", [False, True])
async def test_effort_of_unknown_price_is_not_asked_in_the_middle_of_a_turn(read_with_the_call):
    strong = ScriptedLLM([says("Never.")])
    world = world_with(
        efforts={"determined": strong},
        commands={"ls": "a"},
        model="anthropic/claude-sonnet-5",
        limits=TurnLimits(steps=9, cost_usd=5.0),
    )
    world.open_model.profile = {"base_url": "http://llm.internal"}
    read = world._read_limits

    def send():
        if len(world.find(events.MessageReceived)) == 1:
            world.log.append(events.MessageReceived(text="Harder", effort="determined"))

    async def read_limits():
        if world.llm.requests and read_with_the_call:
            send()
        return await read()

    def answer(_request):
        if not read_with_the_call:
            send()
        return calls(bash="ls")

    world.llm.replies.append(answer)
    world._read_limits = read_limits
    await world.ask("Hi")
    assert (world.status, strong.requests) == ("failed/configuration", [])
    assert f"The price of {STRONG} is not known" in world.outcome.detail


async def test_continue_keeps_the_effort_of_the_turn():
    strong = ScriptedLLM([model_errors.Overloaded(), says("Done.")])
    world = world_with(efforts={"determined": strong})
    await world.ask("Hi", effort="determined")
    assert world.status == "paused/model_unavailable"
    await world.proceed()
    assert world.answers == ["Done."]


def test_withdrawn_message_has_no_say():
    state = ModelState()
    for seq, event in enumerate(
        [
            events.MessageReceived(text="a"),
            events.MessageReceived(text="b", effort="determined"),
            events.MessageWithdrawn(event_seq=2),
        ],
        1,
    ):
        state = state.advance(event, seq)
    assert state.effort == "standard"


def test_unknown_effort_of_a_later_version_counts_as_standard():
    state = ModelState().advance(events.MessageReceived(text="a", effort="heroic"), 1)
    assert state.effort == "heroic"
    state = state.advance(events.MessageReceived(text="b", effort="determined"), 2)
    assert state.effort == "determined"


# --- the key of a person --------------------------------------------------------------------------


async def test_key_of_a_person_is_not_used_after_a_message_of_another_one():
    world = world_with(key_owner="ada")

    def send_late(_request):
        world.log.append(events.MessageReceived(text="Mine", author_id="bob"))
        return calls(bash="ls")

    world.llm.replies += [send_late, says("Done.")]
    await world.ask("Hi", author_id="ada")
    assert [choice.shared_key for choice in world.open_model.opened] == [True]
    assert world.answers == ["Done."]


async def test_key_of_a_person_is_used_while_only_that_person_writes():
    world = world_with(calls(bash="ls"), says("Done."), key_owner="ada")
    await world.ask("Hi", author_id="ada")
    assert world.open_model.opened == []


def test_key_of_whoever_continues_is_used_though_another_one_has_written_the_turn_before():
    state = ModelState()
    begun = (
        events.MessageReceived(text="Hi", author_id="ada"),
        events.TurnStarted(number=1),
        events.TurnStarted(number=2),
    )
    for seq, event in enumerate(begun, 1):
        state = state.advance(event, seq)
    assert not state.has_other_author("bob")
    late = state.advance(events.MessageReceived(text="And this", author_id="ada"), 4)
    assert late.has_other_author("bob")
