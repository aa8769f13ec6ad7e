"""The budget that a lead and its team use together."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast
from uuid import uuid4

import pytest
from django.db import transaction
from django.utils import timezone

from paca import events
from paca.agents.services import agents
from paca.conversations import budgets, store, team_budgets
from paca.conversations.models import Conversation, ModelCall, Teammate
from paca.engine import helper_allowance
from paca.engine.budgets import Amounts, BudgetScope
from paca.engine.helpers.requests import HelpersRequested, Piece
from paca.engine.limits import TurnLimitReached, TurnLimits, TurnProgress
from paca.engine.turn import ModelCallStarted
from paca.worker import claim, helper_wait, turn_limits
from paca.worker.database import Database
from tests.conversations.team_desk import TeamDesk
from tests.conversations.test_api_repeats import at_once
from tests.projects.tools.conftest import run_without_loop

pytestmark = pytest.mark.django_db


class DirectDatabase:
    """Calls in the thread of the test, whose transaction another one could not see."""

    async def call(self, function: Any, *args: Any) -> Any:
        return function(*args)


def spend(conversation: Conversation, tokens: int, *, running: bool = False) -> None:
    """A model call of the conversation: it has used so many tokens, or holds them while it runs."""
    used = {"held_tokens": tokens} if running else {"input_tokens": tokens, "status": "done"}
    ModelCall.objects.create(
        id=uuid4(),
        project_id=conversation.project_id,
        agent_id=conversation.agent_id,
        conversation=conversation,
        turn=1,
        model="m",
        epoch=1,
        started_at=timezone.now(),
        **used,
    )


def used_by_lead(desk: TeamDesk) -> int:
    """The tokens that count for the budget of the lead, whose log tells of all that its team has told."""
    limits = turn_limits.read_limits(desk.team.world.agent.pk, None, desk.lead.pk)
    progress = TurnProgress()
    for event in desk.told(events.TeammateChanged):
        progress = progress.advance(event)
    (budget,) = limits.budgets(progress)
    return budget.used.tokens


def test_what_teammates_at_work_use_counts_for_the_budget_of_the_lead_once():
    desk = TeamDesk(limit_tokens=5_000)
    ann = desk.spawn()
    assert used_by_lead(desk) == 0
    spend(ann.conversation, 900)
    spend(ann.conversation, 100, running=True)
    assert used_by_lead(desk) == 1_000
    desk.end(ann)
    assert used_by_lead(desk) == 1_000


def test_teammate_has_what_is_left_of_the_conversation_with_its_lead_and_all_of_the_team():
    desk = TeamDesk(limit_tokens=5_000)
    spend(desk.lead, 2_000)
    left = {"tokens": 3_000, "cost_usd": None}
    team_used = {"tokens": 0, "cost_usd": 0.0}
    left_of_each = {**left, "conversation": left, "team_used": team_used}
    asked = {"role": "coder", "work": "Do it.", "allowance": left_of_each}
    desk.call(desk.lead, "spawn_teammate", name="ann", **asked)
    Conversation.objects.filter(pk=desk.lead.pk).update(turn_number=2)  # in a later turn
    desk.call(desk.lead, "spawn_teammate", name="bob", **asked)
    ann, bob = (desk.mate(name).conversation for name in ("ann", "bob"))
    assert ann.parent_call != bob.parent_call
    for conversation in (desk.lead, ann, bob):
        spend(conversation, 900)
    family = budgets.family_of(ann)
    owner = budgets.Owner(ann.agent_id, ann.project_id, family)
    agent, project = desk.team.world.agent, desk.team.world.project
    limits = turn_limits.limits_of(agent, project, family)
    assert [(each.scope, each.tokens) for each in limits.shared] == [
        (BudgetScope.FAMILY, 3_000),
        (BudgetScope.TEAM, 5_000),
    ]
    budgets.reserve(limits.shared, Amounts(300), owner)
    with pytest.raises(TurnLimitReached) as reached:
        budgets.reserve(limits.shared, Amounts(301), owner)
    assert reached.value.limit.budget == "team"


def spawned(desk: TeamDesk) -> Teammate:
    """A teammate that was given what its lead has left before its call."""
    left = helper_allowance.left_for_team(limits_of_lead(desk), TurnProgress())
    desk.call(desk.lead, "spawn_teammate", name="ann", role="coder", work="Do.", allowance=left)
    desk.claim()
    return desk.mate("ann")


def limits_of_lead(desk: TeamDesk) -> TurnLimits:
    return turn_limits.read_limits(desk.team.world.agent.pk, None, desk.lead.pk)


def limits_of(mate: Teammate) -> TurnLimits:
    family = budgets.family_of(mate.conversation)
    return turn_limits.read_limits(mate.conversation.agent_id, family)


def call_of(desk: TeamDesk, who: Conversation, limits: TurnLimits, at_most: int) -> str:
    """Store the start of a model call; gives the budget that refuses it, empty if none does."""
    entry = ModelCallStarted(
        call_id=str(uuid4()),
        model="m",
        at_most=Amounts(at_most),
        budgets=(*limits.budgets_of_lead(TurnProgress(tokens=1)), *limits.shared),
        team_used=limits.team_used or Amounts(),
    )
    try:
        with transaction.atomic():
            store.append(who.pk, entry, lease=desk.leases[who.pk])
    except TurnLimitReached as reached:
        return reached.limit.budget
    return ""


@pytest.mark.django_db(transaction=True)
def test_lead_and_teammate_at_the_same_moment_cannot_both_take_the_last_of_their_budget():
    desk = TeamDesk(limit_tokens=5_000)
    ann = spawned(desk)
    limits = [limits_of_lead(desk), limits_of(ann)]
    who = [desk.lead, ann.conversation]
    refused = at_once(lambda number: call_of(desk, who[number], limits[number], 3_000))
    assert sorted(map(bool, refused)) == [False, True]
    assert ModelCall.objects.count() == 1


def test_lead_is_refused_by_what_its_team_has_begun_since_it_looked():
    desk = TeamDesk(limit_tokens=5_000)
    ann = spawned(desk)
    before = limits_of_lead(desk)
    assert call_of(desk, ann.conversation, limits_of(ann), 3_000) == ""
    assert call_of(desk, desk.lead, before, 3_000) == "conversation"
    assert call_of(desk, desk.lead, before, 1_900) == ""


def test_teammate_is_not_given_what_another_one_has_used_since_their_lead_looked():
    desk = TeamDesk(limit_tokens=5_000)
    left = helper_allowance.left_for_team(limits_of_lead(desk), TurnProgress())
    spend(spawned(desk).conversation, 1_000)
    Conversation.objects.filter(pk=desk.lead.pk).update(
        turn_number=2
    )  # bob shares no family with ann
    desk.call(desk.lead, "spawn_teammate", name="bob", role="coder", work="Do.", allowance=left)
    desk.claim()
    bob = desk.mate("bob")
    assert call_of(desk, bob.conversation, limits_of(bob), 4_001) != ""
    assert call_of(desk, bob.conversation, limits_of(bob), 4_000) == ""


@pytest.mark.parametrize("limit", ["limit_tokens", "limit_turn_tokens"])
def test_new_portion_of_a_lead_is_for_a_teammate_at_work_too(limit: str):
    desk = TeamDesk(**{limit: 5_000})
    ann = spawned(desk)
    family = budgets.family_of(ann.conversation)  # as its running turn has it
    spend(ann.conversation, 5_000)
    assert call_of(desk, ann.conversation, limits_of(ann), 1) != ""
    left = {"tokens": 2_000, "cost_usd": None}
    team_used = {"tokens": 5_000, "cost_usd": 0.0}
    renewed = {**left, "conversation": left if limit == "limit_tokens" else None}
    team_budgets.renew(desk.leases[desk.lead.pk], {**renewed, "team_used": team_used})
    limits = turn_limits.read_limits(desk.team.world.agent.pk, family)
    assert call_of(desk, ann.conversation, limits, 2_001) != ""
    assert call_of(desk, ann.conversation, limits, 2_000) == ""


def test_new_portion_is_refused_to_a_worker_that_has_lost_the_lead():
    desk = TeamDesk(limit_tokens=5_000)
    ann = spawned(desk)
    left = helper_allowance.left_for_team(limits_of_lead(desk), TurnProgress())
    before = Conversation.objects.get(pk=ann.conversation_id).allowance
    lost = desk.leases[desk.lead.pk]
    past = timezone.now() - timedelta(hours=1)
    Conversation.objects.filter(pk=desk.lead.pk).update(lease_until=past)
    [other] = claim.claim("other", lease_seconds=60, limit=1)
    assert other.lease.conversation_id == desk.lead.pk
    spend(desk.lead, 4_000)
    with pytest.raises(store.Fenced):
        team_budgets.renew(lost, left)
    assert Conversation.objects.get(pk=ann.conversation_id).allowance == before


def test_limit_that_is_taken_away_before_a_lead_goes_on_binds_its_team_no_longer():
    desk = TeamDesk(limit_tokens=5_000)
    ann = spawned(desk)
    family = budgets.family_of(ann.conversation)  # as its running turn has it
    spend(ann.conversation, 5_000)
    agents.configure(desk.team.world.agent, by=desk.team.ada, limit_tokens=None)
    give_team_anew(desk)
    limits = turn_limits.read_limits(desk.team.world.agent.pk, family)
    assert limits.shared == ()
    assert call_of(desk, ann.conversation, limits, 10**6) == ""


def give_team_anew(desk: TeamDesk) -> None:
    """What a worker does when it begins a turn of the lead that has its budget again."""
    progress = TurnProgress(has_new_portion=True)
    lease = desk.leases[desk.lead.pk]
    database = cast(Database, DirectDatabase())
    run_without_loop(turn_limits.give_team_anew(lease, limits_of_lead(desk), progress, database))


@pytest.mark.parametrize("limit", ["limit_tokens", "limit_turn_tokens"])
def test_helpers_of_a_lead_and_its_team_cannot_pass_their_budget_together(limit: str):
    desk = TeamDesk(**{limit: 5_000})
    ann = spawned(desk)
    spend(ann.conversation, 1_000)
    helper = started_helper(desk)
    spend(ann.conversation, 3_000)
    limits = turn_limits.read_limits(helper.agent_id, budgets.family_of(helper))
    assert call_of(desk, helper, limits, 1_001) == "team"
    assert call_of(desk, helper, limits, 1_000) == ""


def started_helper(desk: TeamDesk) -> Conversation:
    """A helper that the lead waits for, at work."""
    left = helper_allowance.left_for_helpers(limits_of_lead(desk), TurnProgress())
    call_id = uuid4().hex
    request = HelpersRequested(call_id, (Piece(kind="code", task="Write it."),))
    called = events.ToolCalled(call_id=call_id, tool="delegate", arguments={})
    helper_wait.begin(desk.leases[desk.lead.pk], [called], request, allowance=left)
    desk.claim()
    return Conversation.objects.get(parent_call=call_id)


def test_turn_that_spawns_a_teammate_tells_what_is_left_of_each_budget():
    limits = TurnLimits(
        steps=9, tokens=5_000, turn_tokens=1_000, team_used=Amounts(800), untold=Amounts(300)
    )
    progress = TurnProgress(tokens=2_000, of_turn=Amounts(100))
    assert helper_allowance.left_for_team(limits, progress) == {
        "tokens": 600,
        "cost_usd": None,
        "conversation": {"tokens": 2_700, "cost_usd": None},
        "team_used": {"tokens": 800, "cost_usd": 0.0},
    }
    assert helper_allowance.left_for_team(TurnLimits(steps=9), progress) is None
