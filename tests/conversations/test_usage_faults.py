"""Failures of usage tracking: no run, no turn and no connection test fails by them, and each is counted."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import DataError, connection

from paca import events
from paca.agents import connection_check
from paca.common import best_effort
from paca.conversations import event_log, store
from paca.conversations.models import ModelCall
from paca.engine import think
from paca.engine.llm import prices
from paca.engine.llm.base import Usage
from paca.projects.signals import model_call_ended, model_call_started
from paca.worker import turn_totals
from tests.conversations.chat import Chat
from tests.conversations.leased_conversation import a_conversation, leased
from tests.engine.world import PROFILE
from tests.support.world import World, make_world
from tests.worker.test_turn_totals import end_of_turn, model_call

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def failures() -> Callable[[], int]:
    """How often tracking has failed since the test began."""
    before = best_effort.failures["usage"]
    return lambda: best_effort.failures["usage"] - before


@pytest.fixture
def broken_table(request: pytest.FixtureRequest) -> Any:
    """The database refuses every new row of a model call, or every change of one."""
    with connection.cursor() as cursor:
        _refuse(cursor, request.param)
    yield
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("DROP TRIGGER broken")
        else:
            cursor.execute("DROP TRIGGER broken ON conversations_modelcall")


def _refuse(cursor: Any, operation: str) -> None:
    table = "conversations_modelcall"
    if connection.vendor == "sqlite":
        cursor.execute(
            f"CREATE TRIGGER broken BEFORE {operation} ON {table}"
            " BEGIN SELECT RAISE(ABORT, 'broken'); END"
        )
        return
    cursor.execute(
        "CREATE OR REPLACE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql"
        " AS $$ BEGIN RAISE check_violation USING MESSAGE = 'broken'; END $$"
    )
    cursor.execute(f"CREATE TRIGGER broken BEFORE {operation} ON {table} EXECUTE FUNCTION broken()")


@pytest.mark.parametrize("broken_table", ["INSERT", "UPDATE"], indirect=True)
def test_log_is_stored_whatever_becomes_of_the_row_of_a_call(broken_table, failures):
    conversation = a_conversation(status="running")
    entries = model_call(input=7, cost_usd=0.5)
    store.append(
        conversation.pk,
        events.TurnStarted(number=1),
        *entries,
        events.MessageSpoken(call_id=entries[0].call_id, text="Hello", model="m"),
        lease=leased(conversation),
    )
    kinds = [event.type for _, event in event_log.load_after(conversation.pk, 0)]
    assert kinds[-2:] == ["agent.usage.recorded", "agent.message.spoken"]
    conversation.refresh_from_db()
    assert conversation.cost_usd == 0.5
    assert failures() == 1


def test_turn_ends_without_totals_if_they_cannot_be_read(monkeypatch, failures):
    def fail(*_: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / nothing_of_this_name")

    chat = Chat()
    started = chat.start()["conversation"]
    lease = chat.start_turn(started, *model_call(input=7))
    monkeypatch.setattr(turn_totals, "_measure", fail)
    chat.finish_turn(lease)
    assert chat.row(started).status == "finished"
    assert end_of_turn(started)["usage"] is None
    assert failures() == 1


def test_connection_test_succeeds_if_it_cannot_be_counted(failures):
    world = make_world()

    def fail(**_: Any) -> None:
        raise DataError("broken")

    for signal in (model_call_started, model_call_ended):
        signal.connect(fail)
    try:
        assert connection_check.run(world.agent).works
    finally:
        for signal in (model_call_started, model_call_ended):
            signal.disconnect(fail)
    assert failures() == 2


def test_connection_test_that_breaks_is_counted_as_failed(monkeypatch, failures):
    async def breaks(*_: Any, **__: Any) -> Any:
        raise RuntimeError("broken")

    world: World = make_world()
    monkeypatch.setattr(connection_check.connection_check, "check_connection", breaks)
    with pytest.raises(RuntimeError):
        connection_check.run(world.agent)
    row = ModelCall.objects.get()
    assert (row.status, row.input_tokens, row.cost_usd) == ("failed", None, None)
    assert failures() == 0


def test_demo_agent_has_no_row_because_its_connection_needs_no_call():
    assert connection_check.run(make_world().agent).works
    assert not ModelCall.objects.exists()


def test_price_that_cannot_be_found_leaves_the_cost_unknown(monkeypatch, failures):
    monkeypatch.setattr(prices, "TARIFFS", None)
    fields = think.usage_fields(Usage(input=5), replace(PROFILE, demo=False))
    assert (fields["input"], fields["cost_usd"]) == (5, None)
    assert failures() == 1
