"""What a server refused of a history stands in the log, so that each worker knows it, for a day."""

import time

import pytest

from paca import events
from paca.engine import think
from paca.engine.context.history import History, advance
from paca.engine.llm.base import HistoryForm
from tests.engine.world import World
from tests.support.model_script import says

pytestmark = pytest.mark.anyio
SERVER = "0123456789abcdef"


def sent_for(world):
    """The server that each request was written as text for."""
    return [request.as_text_for for request in world.llm.requests]


async def test_learned_form_is_in_the_log_and_in_the_next_request(monkeypatch):
    world = World(says("One."), says("Two."), says("Three."))
    world.llm.form = HistoryForm(SERVER, as_text=True)
    await world.ask("One?")
    world.llm.form = None
    await world.ask("Two?")
    assert sent_for(world) == ["", SERVER]
    (noticed,) = world.find(events.ModelNoticed)
    assert (noticed.code, noticed.server) == ("history_form", SERVER)
    later = time.time() + think.AS_TEXT_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: later)
    await world.ask("Three?")
    assert sent_for(world)[-1] == ""


async def test_form_that_is_left_is_in_the_log_too():
    world = World(says("One."), says("Two."), says("Three."))
    world.llm.form = HistoryForm(SERVER, as_text=True)
    await world.ask("One?")
    world.llm.form = HistoryForm(SERVER, as_text=False)
    await world.ask("Two?")
    world.llm.form = None
    await world.ask("Three?")
    assert sent_for(world) == ["", SERVER, ""]


def test_another_remark_on_an_answer_changes_no_form():
    form = events.ModelNoticed(code="history_form", text="", server=SERVER, until=9.0)
    history = advance(History(), form, 1)
    other = events.ModelNoticed(code="only_reasoning", text="")
    assert advance(history, other, 2).text_form == history.text_form
    assert history.text_form.server == SERVER
