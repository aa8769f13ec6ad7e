"""A budget that conversations share, in a whole journey: refused, named, raised, and gone on with."""

import threading
from dataclasses import replace

import pytest

from paca.agents.services import agents
from paca.conversations import services
from paca.conversations.models import Teammate
from tests.support.api import Api
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.model_script import Scripted, calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


def taking(tokens: int, reply: Scripted) -> Scripted:
    """A reply to a request of so many tokens, as its provider counts them."""
    return replace(reply, input_tokens=tokens)


def test_budget_of_a_day_pauses_before_any_call_until_a_person_raises_it(flow):
    agents.configure(flow.world.agent, by=flow.world.owner, limit_day_tokens=1000)
    conversation = flow.begin("Go", [calls(bash="echo done"), says("Done.")])
    flow.wait_until_idle(conversation)
    assert conversation.status == "paused/token_budget"
    assert flow.model.requests == []
    [paused] = conversation.event_data("conversation.paused")
    assert (paused["budget"], paused["limit"], paused["used"]) == ("agent_day", 1000, 0)
    assert paused["raised_by"] == [flow.world.owner.name]

    services.continue_(conversation.row, by=flow.world.owner)
    flow.wait_until_idle(conversation)
    assert conversation.status == "paused/token_budget"  # Continue gives no portion of it
    assert flow.model.requests == []

    address = f"/projects/{flow.world.project.pk}/agents/{flow.world.agent.pk}/"
    Api(flow.world.user).patch(address, {"limits": {"day_tokens": 10**6}})
    services.continue_(conversation.row, by=flow.world.owner)
    flow.wait_until_idle(conversation)
    assert (conversation.status, conversation.answers) == ("finished/answered", ["Done."])
    assert flow.model.violations == []
    assert_replay_matches(conversation)


def test_lead_that_is_continued_at_its_budget_has_a_team_that_works_again(tmp_path):
    lead_has_answered = threading.Event()
    with Flow(tmp_path, limit_concurrent=4, teams=True, limit_tokens=150_000) as flow:
        flow.model.script(
            [
                taking(5_000, calls(spawn_teammate={"name": "ann", "role": "tester", "work": "A"})),
                taking(5_000, says("Ann works.")),
                taking(5_000, calls(send_message={"to": "ann", "text": "Look again."})),
                says("Ann looks again."),
                says("All is done."),
            ],
            to="Lead a team",
        )
        flow.model.script(
            [
                taking(50_000, calls(list_team={})).after(lead_has_answered),
                taking(86_000, says("First.")),
                taking(5_000, says("Again.")),
            ],
            to="tester",
        )
        conversation = flow.begin("Lead a team")
        wait_until(lambda: "Ann works." in conversation.answers)
        lead_has_answered.set()
        wait_until(lambda: conversation.status == "paused/token_budget")
        [paused] = conversation.event_data("conversation.paused")
        assert paused["budget"] == "conversation"
        services.continue_(conversation.row, by=flow.world.owner)
        wait_until(lambda: "All is done." in conversation.answers)
        ann = ObservedConversation(Teammate.objects.get().conversation_id)
        assert ann.answers == ["First.", "Again."]
