"""The demo model in the whole product: worker, engine, real tools and sandbox, without an API key."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from paca.engine.llm.demo import scripted_model
from tests.support.flow import Flow, assert_replay_matches, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]

LOOK, PROGRAM, BUG = (prompt for _, prompt in scripted_model.PROMPTS)


@pytest.fixture
def flow(transactional_db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flow]:
    """A flow whose agent has the demo model, without its pauses."""
    monkeypatch.setattr(scripted_model, "PIECES_PER_SECOND", 0)
    with Flow(tmp_path, model=scripted_model.MODEL, base_url="", llm_api_key="") as found:
        yield found


def test_demo_model_carries_out_every_prompt_in_one_conversation(flow):
    conversation = flow.ask(PROGRAM)
    flow.ask(BUG, after=conversation)
    flow.ask(LOOK, after=conversation)
    assert conversation.status == "finished/answered"
    assert not any("try once more" in answer for answer in conversation.answers)
    answers = [fact for fact in conversation.event_data("message.spoken") if "```" in fact["text"]]
    assert [fact["demo"] for fact in answers] == [True] * 3
    program, bug, look = (fact["text"] for fact in answers)
    assert "17 primes below 60" in program
    assert "78498 primes below 1000000" in program
    assert "AssertionError" in bug
    assert "OK" in bug
    assert "primes.py" in look
    assert {usage["cost_usd"] for usage in conversation.event_data("usage.recorded")} == {0.0}
    assert flow.model.requests == []
    assert_replay_matches(conversation)


def test_demo_model_repeats_a_job(flow):
    conversation = flow.ask(BUG)
    flow.ask(BUG, after=conversation)
    assert "The bug is found and fixed" in conversation.answers[-1]
    assert not any("try once more" in answer for answer in conversation.answers)


def test_demo_model_says_what_it_cannot_do(flow):
    conversation = flow.ask("Write me a poem")
    assert conversation.answers == [scripted_model.HELP]
    assert_replay_matches(conversation)


def test_demo_model_goes_on_with_a_stopped_job(flow, monkeypatch):
    monkeypatch.setattr(scripted_model, "PIECES_PER_SECOND", 20)
    conversation = flow.begin(BUG)
    wait_until(lambda: conversation.has_event("tool.returned"))
    flow.stop(conversation)
    flow.wait_until_idle(conversation)
    assert conversation.status == "stopped/by_person"
    flow.ask("continue", after=conversation)
    assert "The bug is found and fixed" in conversation.answers[-1]
    assert_replay_matches(conversation)
