"""The settings of an agent's fallback and efforts: what is stored, shown and refused, and what each changes."""

from __future__ import annotations

from dataclasses import fields

import pytest

from paca.accounts.models import AuditEntry
from paca.agents import connection_check, encryption
from paca.agents import services as agents
from paca.agents.models import Agent
from paca.agents.services import model_keys, rotation
from paca.common.errors import Invalid
from paca.conversations import services
from paca.conversations.models import ModelCall
from paca.engine.limits import TurnLimits
from paca.engine.llm.base import Usage
from paca.engine.model_state import ModelChoice
from paca.engine.turn import AgentProfile
from paca.worker import model_profiles
from paca.worker.agent_model import AgentModels, ModelSetup
from tests.support.api import Api
from tests.support.world import World, make_world

KEY, OWN_KEY = "sk-fallback-5678", "sk-own-key-12345678"
FALLBACK = {"fallback_model": "openai/gpt-5", "fallback_api_key": KEY}


@pytest.fixture
def world(db: None) -> World:
    return make_world(model="anthropic/claude-sonnet-5", llm_api_key=OWN_KEY)


def configure(world: World, **changes: object) -> Agent:
    return agents.configure(Agent.objects.get(pk=world.agent.pk), by=world.owner, **changes)


# --- the fallback ---------------------------------------------------------------------------------


def test_key_of_the_fallback_is_encrypted_and_audited_and_never_shown(world: World) -> None:
    configure(world, **FALLBACK)
    stored = Agent.objects.get(pk=world.agent.pk)
    assert encryption.decrypt(stored.fallback_encrypted_key) == KEY
    assert KEY not in stored.fallback_encrypted_key
    assert stored.fallback_key_last4 == "5678"
    facts = str(AuditEntry.objects.get(action="agent.configured").facts)
    assert "fallback_api_key" in facts
    assert KEY not in facts


def test_api_shows_the_fallback_without_its_key(world: World) -> None:
    address = f"/api/v1/projects/{world.project.pk}/agents/{world.agent.pk}/"
    send = Api(world.user).send
    body = {
        **FALLBACK,
        "fallback": {"base_url": "https://llm.example/v1", "parameters": {"temperature": 0.5}},
        "efforts": {"quick": {"effort": "low"}},
    }
    answer = send("PATCH", address, body)
    assert answer.status_code == 200, answer.content
    shown = answer.json()
    assert KEY not in str(shown)
    assert shown["fallback_model"] == "openai/gpt-5"
    assert shown["fallback"] == {
        "base_url": "https://llm.example/v1",
        "key": {"set": True, "last4": "5678"},
        "parameters": {"temperature": 0.5},
        "text_tool_calls": False,
    }
    assert shown["efforts"] == {"quick": {"effort": "low"}}
    wrong = send("PATCH", address, {"fallback": {"base_url": "https://other/v1"}})
    assert "Type the key again" in str(wrong.json()["fields"]["fallback_api_key"])


def test_stored_key_of_the_fallback_is_not_sent_to_another_server(world: World) -> None:
    configure(world, **FALLBACK)
    for elsewhere in ({"fallback_base_url": "https://evil.example"}, {"fallback_model": "groq/x"}):
        with pytest.raises(Invalid) as refused:
            configure(world, **elsewhere)
        assert "not sent elsewhere" in str(refused.value.fields["fallback_api_key"])
    assert configure(world, fallback_model="openai/gpt-5-mini").has_fallback_key


def test_key_of_the_fallback_goes_with_the_fallback(world: World) -> None:
    configure(world, **FALLBACK)
    agent = configure(world, fallback_model="")
    assert (agent.fallback_encrypted_key, agent.fallback_key_last4) == ("", "")
    assert agent.has_key


def test_retirement_deletes_the_key_of_the_fallback(world: World) -> None:
    agents.retire(configure(world, **FALLBACK), by=world.owner)
    assert not Agent.objects.get(pk=world.agent.pk).has_fallback_key


def test_key_of_the_fallback_is_rotated(world: World) -> None:
    configure(world, **FALLBACK)
    assert (Agent, "fallback_encrypted_key") in rotation.SECRET_COLUMNS
    assert rotation.check_readable() == 2


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"fallback_model": "anthropic/claude-sonnet-5"}, "fallback_model", "own model"),
        ({"fallback_model": "demo/guide"}, "fallback_model", "The demo"),
        ({"fallback_model": "acme/x"}, "fallback_model", "not a known model"),
        ({"fallback_base_url": "http://127.0.0.1:1"}, "fallback_model", "Name the model"),
        ({**FALLBACK, "fallback_parameters": {"x": 1}}, "fallback_parameters", "is not known"),
        (
            {**FALLBACK, "fallback_parameters": {"compaction_model": "openai/x"}},
            "fallback_parameters",
            "compaction_model is not known",
        ),
        ({**FALLBACK, "fallback_api_key": "a b"}, "fallback_api_key", "no spaces"),
        ({**FALLBACK, "fallback_base_url": "nonsense"}, "fallback_base_url", "such as https"),
        ({"efforts": {"quick": {"model": "openai/gpt-5"}}}, "efforts", "model of anthropic"),
        ({"efforts": {"quick": {"model": "anthropic/"}}}, "efforts", "must be a model"),
    ],
)
def test_settings_that_cannot_work_are_refused(world: World, changes, field, said) -> None:
    with pytest.raises(Invalid) as refused:
        configure(world, **changes)
    assert said in str(refused.value.fields[field])


def test_connection_of_the_fallback_is_tested_and_counted_as_its_model(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def check(model, **how):
        asked.append((model, how["api_key"], how["base_url"]))
        return connection_check.connection_check.ConnectionCheck(True, "ok", usage=Usage(input=3))

    monkeypatch.setattr(connection_check.connection_check, "check_connection", check)
    address = f"/api/v1/projects/{world.project.pk}/agents/{world.agent.pk}/test-connection/"
    send = Api(world.user).send
    assert send("POST", f"{address}?model=fallback").json()["code"] == "no_fallback"
    configure(world, **FALLBACK)
    assert send("POST", f"{address}?model=fallback").json()["works"]
    assert send("POST", address).json()["works"]
    assert asked == [("openai/gpt-5", KEY, ""), ("anthropic/claude-sonnet-5", OWN_KEY, "")]
    models = ModelCall.objects.order_by("started_at").values_list("model", flat=True)
    assert list(models) == ["openai/gpt-5", "anthropic/claude-sonnet-5"]
    assert send("POST", f"{address}?model=other").status_code == 400


# --- efforts --------------------------------------------------------------------------------------


def profile_of(agent: Agent) -> AgentProfile:
    own = model_profiles.model_fields(agent.model, agent.base_url, agent.parameters)
    return AgentProfile(name="Rosa", system="", limits=TurnLimits(steps=9), **own)


@pytest.mark.parametrize(
    ("given", "field", "changed"),
    [
        ({"model": "anthropic/small"}, "model", "anthropic/small"),
        ({"max_tokens": 99}, "max_tokens", 99),
        ({"steps": 7}, "effort_steps", 7),
        ({"context_window": 9_000}, "context_window", 9_000),
        ({"effort": "low"}, "parameters", {"top_k": 3, "effort": "low"}),
        ({"thinking_budget": 2048}, "parameters", {"top_k": 3, "thinking_budget": 2048}),
    ],
)
def test_each_setting_of_an_effort_has_an_effect(given, field, changed) -> None:
    parameters = {"effort": "high", "top_k": 3}
    agent = Agent(model="anthropic/large", parameters=parameters, efforts={"quick": given})
    own = profile_of(agent)
    quick = model_profiles.of_efforts(agent, own)["quick"]
    assert getattr(quick, field) == changed
    others = [each.name for each in fields(AgentProfile) if each.name != field]
    assert [getattr(quick, name) for name in others] == [getattr(own, name) for name in others]


def test_window_of_the_agent_is_not_that_of_another_model() -> None:
    efforts = {"quick": {"model": "anthropic/small"}, "determined": {"effort": "max"}}
    agent = Agent(model="anthropic/large", parameters={"context_window": 50_000}, efforts=efforts)
    found = model_profiles.of_efforts(agent, profile_of(agent))
    assert found["quick"].context_window is None
    assert found["determined"].context_window == 50_000


def test_unknown_effort_of_a_message_is_refused(world: World) -> None:
    with pytest.raises(Invalid) as refused:
        services.start_chat(world.agent, text="Hi", by=world.owner, effort="heroic")
    assert "quick, standard, determined" in str(refused.value.fields["effort"])


def test_effort_is_stored_with_the_message(world: World) -> None:
    address = f"/api/v1/projects/{world.project.pk}/agents/{world.agent.pk}/chat-sessions/"
    send = Api(world.user).send
    body = {"message": "Hi", "effort": "determined"}
    started = send("POST", address, body).json()
    log = send(
        "GET",
        f"/api/v1/projects/{world.project.pk}/conversations/{started['conversation']}/events/",
    ).json()["results"]
    (received,) = [each["data"] for each in log if each["type"] == "agent.message.received"]
    assert received["effort"] == "determined"
    wrong = send("POST", address, {"message": "Hi", "effort": 1})
    assert wrong.status_code == 400


def test_fallback_keeps_the_step_limit_of_the_effort(world: World) -> None:
    agent = configure(world, **FALLBACK, efforts={"quick": {"steps": 3}})
    own = AgentProfile(name="Rosa", model=agent.model, system="", limits=TurnLimits(steps=50))
    models = AgentModels(
        own=ModelSetup(own),
        efforts=model_profiles.of_efforts(agent, own),
        fallback=ModelSetup(
            model_profiles.of_fallback(agent, own), model_keys.fallback_key_of(agent, user_id=None)
        ),
    )
    steps = {
        effort: models.open(ModelChoice(effort=effort, fallback=True)).profile.effort_steps
        for effort in ("quick", "standard")
    }
    assert steps == {"quick": 3, "standard": None}
