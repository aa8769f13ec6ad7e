"""A budget that conversations share, in a whole journey: refused, named, raised, and gone on with."""

import pytest

from paca.agents.services import agents
from paca.conversations import services
from tests.support.api import Api
from tests.support.flow import assert_replay_matches
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


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
