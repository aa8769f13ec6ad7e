"""Another model goes on where the agent's fails before the first token: over HTTP, in both dialects, with its own key."""

import pytest

from paca.accounts.models import User
from paca.agents import services as agents
from paca.agents.services import model_keys
from paca.conversations import services, usage
from paca.conversations.models import ModelCall
from paca.projects.services import members
from tests.support.flow import BOTH_DIALECTS, UNTIL_ALLOWED, assert_replay_matches, wait_until
from tests.support.model_script import calls, fails, says, thinks
from tests.support.world import MODEL

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]

KEY = "sk-fallback-5678"


def give_fallback(flow, **changes):
    """A fallback at the same server in the other dialect."""
    other = {
        "openai": {"fallback_model": MODEL, "fallback_base_url": flow.model.base_url},
        "anthropic": {
            "fallback_model": "openai/gpt-test",
            "fallback_base_url": f"{flow.model.base_url}/v1",
        },
    }[flow.dialect]
    settings = {"fallback_api_key": KEY, **other, **changes}
    agents.configure(flow.world.agent, by=flow.world.owner, **settings)
    return other["fallback_model"]


def keys_of(flow):
    """Which key each request had: the agent's own, or that of the fallback."""
    return ["fallback" if KEY in str(request.headers) else "own" for request in flow.model.requests]


@BOTH_DIALECTS
def test_refused_key_lets_the_fallback_answer_with_its_own_key(flow):
    first, model = flow.world.agent.model, give_fallback(flow)
    replies = [
        thinks("Hm.") + calls(bash="echo a"),
        fails("401"),
        calls(bash="echo b"),
        says("Done."),
    ]
    conversation = flow.ask("Go", replies)
    assert (conversation.status, conversation.answers) == ("finished/answered", ["Done."])
    assert keys_of(flow) == ["own", "own", "fallback", "fallback"]
    assert flow.model.violations == []
    (switched,) = conversation.event_data("model.switched")
    assert (switched["from_model"], switched["to_model"]) == (first, model)
    assert switched["code"] == "key_refused"
    rows = ModelCall.objects.filter(conversation=conversation.id).order_by("started_at")
    assert list(rows.values_list("model", "status")) == [
        (first, "done"),
        (first, "failed"),
        (model, "done"),
        (model, "done"),
    ]
    assert_replay_matches(conversation)
    # The next turn asks the own model again.
    flow.ask("Again", [says("Own again.")], after=conversation)
    assert keys_of(flow)[-1] == "own"


@BOTH_DIALECTS
def test_both_models_fail_and_the_pause_names_both_causes(flow):
    model = give_fallback(flow)
    conversation = flow.ask("Go", [fails("401"), *[fails("529", retry_after=0.01)] * 4])
    assert conversation.status == "paused/model_unavailable"
    detail = conversation.row.detail
    assert "refused the key" in detail
    assert model in detail
    assert KEY not in detail
    assert_replay_matches(conversation)
    flow.model.script([says("Back.")])
    services.continue_(conversation.row, by=flow.world.owner)
    assert flow.wait_until_idle(conversation) == "finished/answered"


@BOTH_DIALECTS
def test_key_that_is_missing_lets_the_fallback_answer(flow):
    give_fallback(flow)
    agents.configure(
        flow.world.agent, by=flow.world.owner, model="openai/gpt-5", base_url="", llm_api_key=""
    )
    conversation = flow.ask("Go", [says("Done.")])
    assert conversation.answers == ["Done."]
    (switched,) = conversation.event_data("model.switched")
    assert switched["code"] == "model_misconfigured"


def test_fallback_is_not_asked_after_a_shown_token(flow):
    give_fallback(flow)
    conversation = flow.ask("Go", [fails("cut"), *[fails("529", retry_after=0.01)] * 3])
    assert conversation.status == "paused/model_unavailable"
    assert keys_of(flow) == ["own"] * 4
    assert conversation.event_data("model.switched") == []
    assert_replay_matches(conversation)


def test_stop_reaches_the_fallback(flow):
    give_fallback(flow)
    conversation = flow.begin("Go", [fails("401"), fails("hang")])
    wait_until(lambda: len(flow.model.requests) == 2)
    flow.stop(conversation)
    assert flow.wait_until_idle(conversation) == "stopped/by_person"
    assert_replay_matches(conversation)


@BOTH_DIALECTS
def test_effort_of_a_message_picks_its_model_and_parameters(flow):
    provider = flow.world.agent.model.partition("/")[0]
    efforts = {
        "quick": {"model": f"{provider}/small"},
        "determined": {"model": f"{provider}/large", "max_tokens": 1234},
    }
    agents.configure(flow.world.agent, by=flow.world.owner, efforts=efforts)
    conversation = flow.ask("One", [says("1")])
    for effort in ("quick", "determined"):
        flow.model.script([says(effort)])
        flow.send(conversation, effort, effort=effort)
        flow.wait_until_idle(conversation)
    asked = [request.body["model"] for request in flow.model.requests]
    assert asked[1:] == ["small", "large"]
    assert 1234 in flow.model.requests[-1].body.values()
    received = conversation.event_data("message.received")
    assert [fact["effort"] for fact in received] == ["", "quick", "determined"]
    assert_replay_matches(conversation)


# --- whose key is used ----------------------------------------------------------------------------

PERSON, PROJECT = "sk-of-a-person-1", "sk-of-the-project-1"


def test_key_of_a_person_pays_for_the_turns_of_this_person_alone(flow):
    agents.configure(flow.world.agent, by=flow.world.owner, llm_api_key="")
    provider, base_url = flow.world.agent.model.partition("/")[0], flow.world.agent.base_url
    where = {"provider": provider, "base_url": base_url, "by": flow.world.owner}
    model_keys.store(key=PERSON, user=flow.world.user, **where)
    model_keys.store(key=PROJECT, project=flow.world.project, **where)
    bob = User.objects.create_user(username="bob", password="a long password 7")
    role = flow.world.role("member")
    bob = members.add_person(flow.world.project, user=bob, role=role, by=flow.world.owner)
    conversation = flow.ask("Mine", [says("1")])
    flow.model.script([says("2")])
    services.send(conversation.row, text="Bob's", by=bob)
    flow.wait_until_idle(conversation)
    # Bob writes in a turn of Ada: its next call no longer has her key.
    flow.model.script([calls(bash=UNTIL_ALLOWED), says("3")])
    flow.send(conversation, "Mine again")
    wait_until(lambda: conversation.has_event("tool.started"))
    services.send(conversation.row, text="Bob's too", by=bob)
    flow.let_command_end(conversation)
    flow.wait_until_idle(conversation)
    used = ["person" if PERSON in str(each.headers) else "project" for each in flow.model.requests]
    assert used == ["person", "project", "person", "project"]
    rows = ModelCall.objects.filter(conversation=conversation.id, status="done")
    sources = list(rows.order_by("started_at").values_list("key_source", flat=True))
    assert sources == ["user", "project", "user", "project"]
    report = usage.report([flow.world.project.pk], usage.Period.of(None, None), "key")
    # A call that was about to begin with Ada's key when Bob's message came counts, with nothing used.
    assert {row.key: row.figures.output > 0 for row in report.rows} == {
        "user": True,
        "project": True,
    }
    assert conversation.answers == ["1", "2", "3"]
    log = str(conversation.frames)
    assert PERSON not in log
    assert PROJECT not in log
    assert_replay_matches(conversation)
