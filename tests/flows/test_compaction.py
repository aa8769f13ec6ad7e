"""A conversation past its model's window, through the whole product and over HTTP in both dialects."""

import pytest

from paca.agents import services as agents
from paca.conversations import services
from tests.support.flow import BOTH_DIALECTS, assert_replay_matches
from tests.support.model_script import calls, fails, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
LONG = "word " * 1200


@BOTH_DIALECTS
def test_conversation_past_the_window_goes_on_with_a_summary(flow):
    agents.configure(flow.world.agent, by=flow.world.owner, parameters={"context_window": 16_000})
    conversation = flow.ask(f"The first wish. {LONG}", [says("Answer 1.")])
    for number in range(2, 4):
        flow.ask(f"Wish {number}. {LONG}", [says(f"Answer {number}.")], after=conversation)
    replies = [says("Notes on the wishes."), calls(bash="echo ran"), says("Done.")]
    flow.ask(f"And now? {LONG}", replies, after=conversation)
    assert conversation.status == "finished/answered"
    (compacted,) = conversation.event_data("context.compacted")
    assert (compacted["summary"], compacted["by"]) == ("Notes on the wishes.", "automatic")
    assert compacted["tokens_after"] < 0.75 * compacted["tokens_before"]
    assert "The first wish." in compacted["carried"]
    assert flow.model.violations == []
    body = str(flow.model.requests[-1])
    assert "Notes on the wishes." in body
    assert "Wish 2." not in body
    purposes = conversation.row.model_calls.values_list("purpose", "status")
    assert [each for each in purposes if each[0] != "turn"] == [("compaction", "done")]
    assert conversation.row.context["window"] == 16_000
    assert_replay_matches(conversation)


def test_refusal_for_the_length_is_answered_by_a_summary_that_a_person_can_also_ask_for(flow):
    conversation = flow.ask(f"The first wish. {LONG}", [says("Answer 1.")])
    flow.ask(f"Wish 2. {LONG}", [says("Answer 2.")], after=conversation)
    flow.ask("And now?", [fails("ctx"), says("Notes."), says("Done.")], after=conversation)
    assert (conversation.status, conversation.answers[-1]) == ("finished/answered", "Done.")
    (compacted,) = conversation.event_data("context.compacted")
    assert (compacted["refused"], compacted["by"]) == (True, "automatic")
    flow.ask(f"Wish 3. {LONG}", [says("Answer 3.")], after=conversation)
    services.request_summary(conversation.row, by=flow.world.owner, focus="the wishes")
    flow.ask("More?", [says("Notes on all."), says("No.")], after=conversation)
    assert conversation.answers[-1] == "No."
    assert conversation.event_data("context.compacted")[-1]["focus"] == "the wishes"
    assert_replay_matches(conversation)
