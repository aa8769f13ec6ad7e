"""A turn that a shared budget ends: nothing of it is lost, and people read who can raise the budget."""

import asyncio
from uuid import uuid4

import pytest

from paca import events
from paca.bus import get_bus
from paca.conversations.models import Event, ModelCall
from paca.engine.budgets import Amounts, Budget, BudgetScope
from paca.engine.limits import ReachedLimit, TurnLimitReached
from paca.engine.turn import ModelCallStarted, TurnOutcome
from paca.worker import budget_pauses, turn_end
from paca.worker.database import Database
from paca.worker.run_log import CachedHistory, RunLog
from paca.worker.stream_buffer import StreamBuffer
from tests.conversations.chat import Chat

pytestmark = pytest.mark.django_db(transaction=True)

DAY = Budget(BudgetScope.AGENT_DAY, tokens=1000)


def test_call_that_a_budget_refuses_is_not_stored_and_everything_else_is():
    chat = Chat()
    lease = chat.start_turn(chat.start()["conversation"])
    database = Database()
    buffer = StreamBuffer(lease.conversation_id, get_bus())
    log = RunLog(lease, CachedHistory(), [], database=database, stream_buffer=buffer)

    async def run() -> None:
        log.add(events.GuardNoticed(guard="repeated_step", note="Try something else."))
        call = ModelCallStarted(
            call_id=str(uuid4()), model="m", at_most=Amounts(1001), budgets=(DAY,)
        )
        with pytest.raises(TurnLimitReached):
            await log.commit(call)
        await log.commit()

    try:
        asyncio.run(run())
    finally:
        database.close()
    assert Event.objects.filter(type="agent.guard.noticed").count() == 1
    assert not ModelCall.objects.exists()


def paused(limit: ReachedLimit) -> TurnOutcome:
    return TurnOutcome(
        "paused",
        limit.reason,
        limit.detail,
        limit=limit.limit,
        budget=limit.budget,
        used=limit.used,
    )


@pytest.mark.parametrize(
    ("scope", "where"),
    [
        ("agent_day", "in the settings of the agent"),
        ("project_month", "in the settings of the project"),
    ],
)
def test_pause_at_a_shared_budget_names_its_figures_and_who_can_raise_it(scope, where):
    chat = Chat()
    chat.add_member("bob", "member")
    lease = chat.start_turn(chat.start()["conversation"])
    limit = ReachedLimit("cost_budget", 5.0, scope, used=4.8, at_most=0.42)
    turn_end.end_turn(lease, (), paused(limit), steps=1)
    row = chat.row(lease.conversation_id)
    assert (row.status, row.reason) == ("paused", "cost_budget")
    assert "has used $4.80 of its limit of $5.00" in row.detail
    assert "the next model call may take up to $0.42" in row.detail
    assert row.detail.endswith(f"{chat.world.owner.name} can raise it {where}.")
    payload = Event.objects.get(type="agent.conversation.paused").payload
    assert f'"budget":"{scope}"' in payload
    assert f'"raised_by":["{chat.world.owner.name}"]' in payload


def test_pause_at_the_budget_of_a_conversation_says_what_continue_gives():
    chat = Chat()
    lease = chat.start_turn(chat.start()["conversation"])
    limit = ReachedLimit("token_budget", 1000, "conversation", used=1000)
    outcome = budget_pauses.name_people(lease.conversation_id, paused(limit))
    assert outcome.detail.endswith("Continue or a message gives it 1,000 tokens more.")
    assert outcome.raised_by == (chat.world.owner.name,)
    other = TurnOutcome("paused", "step_limit")
    assert budget_pauses.name_people(lease.conversation_id, other) is other
