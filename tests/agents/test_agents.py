"""The services of agents, and the database constraints."""

import json
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from paca.accounts.models import AuditEntry
from paca.agents import connection_check, encryption
from paca.agents import services as agents
from paca.agents.models import Agent
from paca.agents.services.agents import AgentIsRetired
from paca.common.errors import Invalid
from paca.projects.models import Member
from paca.projects.services import members
from tests.support.world import MODEL, World, make_world

pytestmark = pytest.mark.django_db
KEY = "sk-ant-0123456789-abcdefghij-WXYZ"


@pytest.fixture
def world() -> World:
    return make_world()


def make_agent(world: World, **changes: Any) -> Agent:
    given = {"name": "Bo", "handle": "bo", "model": "demo/guide", **changes}
    return agents.create(world.project, role=world.role("agent"), by=world.owner, **given)


def test_agent_is_made_with_its_membership(world: World) -> None:
    agent = make_agent(world)
    assert agent.member == Member.objects.get(agent=agent)
    assert (agent.member.project, agent.member.role) == (world.project, world.role("agent"))


def test_agent_is_not_made_if_its_membership_fails(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(members, "add_agent", refuse)
    with pytest.raises(RuntimeError, match="disk"):
        make_agent(world)
    assert not Agent.objects.filter(handle="bo").exists()
    assert not AuditEntry.objects.filter(object_name__contains="@bo").exists()


def test_agent_is_not_made_with_a_role_of_another_project(world: World) -> None:
    foreign = make_world("Elsewhere").role("agent")
    with pytest.raises(Invalid):
        agents.create(
            world.project, name="Bo", handle="bo", model="demo/guide", role=foreign, by=world.owner
        )
    assert not Agent.objects.filter(handle="bo").exists()


def test_agent_handle_and_name_are_normalized_and_unique(world: World) -> None:
    assert make_agent(world, name=" Bo ", handle=" @Bo ").handle == "bo"
    with pytest.raises(Invalid) as refused:
        make_agent(world, name="BO", handle="BO")
    assert refused.value.fields == {
        "handle": ["The project has an agent of this handle."],
        "name": ["The project has an agent of this name."],
    }
    assert make_world("Elsewhere", handle="bo").agent.handle == "bo"


def test_database_refuses_a_second_agent_with_the_handle(world: World) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Agent.objects.create(project=world.project, name="Other", handle="rosa", model="demo/guide")


def test_agent_handle_can_be_used_again_after_retirement(world: World) -> None:
    agents.retire(world.agent, by=world.owner)
    assert make_agent(world, name="Rosa", handle="rosa").pk != world.agent.pk


def test_agent_handle_cannot_be_a_username_of_the_project(world: World) -> None:
    with pytest.raises(Invalid) as refused:
        make_agent(world, handle="ADA-harbor")
    assert refused.value.fields == {"handle": ["A person of this project has this username."]}


LIMITS = "agent_limits_are_positive"


@pytest.mark.parametrize(
    ("column", "value", "constraint"),
    [
        ("status", "asleep", "agent_is_active_paused_or_inactive"),
        ("handle", "Rosa", "agent_handle_is_not_empty_and_small"),
        ("handle", "", "agent_handle_is_not_empty_and_small"),
        ("limit_steps", 0, LIMITS),
        ("limit_tokens", 1, LIMITS),
        ("limit_cost_usd", 0, LIMITS),
        ("limit_seconds", 1, LIMITS),
        ("limit_day_tokens", 1, "agent_budgets_are_positive"),
        ("limit_turn_cost_usd", 0, "agent_budgets_are_positive"),
        ("limit_concurrent", 0, "agent_works_in_one_to_ten_conversations"),
        ("limit_concurrent", 11, "agent_works_in_one_to_ten_conversations"),
        ("key_last4", "WXYZ", "agent_key_and_its_last_four_go_together"),
    ],
)
def test_database_constraints_refuse_invalid_agents(
    column: str, value: Any, constraint: str, world: World
) -> None:
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        Agent.objects.filter(pk=world.agent.pk).update(**{column: value})


def test_key_is_stored_encrypted_and_shown_by_its_last_four_characters(world: World) -> None:
    agent = make_agent(world, model=MODEL, llm_api_key=f" {KEY} ")
    agent.refresh_from_db()
    assert KEY not in str(vars(agent))
    assert (agent.has_key, agent.key_last4) == (True, "WXYZ")
    assert encryption.decrypt(agent.encrypted_key) == KEY


def test_key_that_is_short_shows_no_characters(world: World) -> None:
    assert make_agent(world, llm_api_key="ollama").key_last4 == ""


def test_key_of_an_agent_can_be_a_json_object_for_clouds(world):
    """Such as the file of a service account, which is long and has spaces."""
    key = json.dumps({"project_id": "p", "private_key": "-----BEGIN\n" + "x" * 3000}, indent=2)
    agent = make_agent(world, model="vertex_ai/gemini-2.5-pro", llm_api_key=key)
    assert encryption.decrypt(agent.encrypted_key) == key
    assert agent.key_last4 == ""
    with pytest.raises(Invalid) as caught:
        agents.configure(agent, by=world.owner, llm_api_key="{broken")
    assert "no valid JSON" in caught.value.fields["llm_api_key"][0]


def test_key_of_three_stars_keeps_the_stored_key_and_an_empty_one_deletes_it(world: World) -> None:
    agent = make_agent(world, llm_api_key=KEY)
    for same in (None, "***", " *** "):
        agents.configure(agent, by=world.owner, llm_api_key=same)
        assert encryption.decrypt(agent.encrypted_key) == KEY
    agents.configure(agent, by=world.owner, llm_api_key="")
    assert (agent.has_key, agent.key_last4) == (False, "")


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"base_url": "https://evil.example/v1"},
        {"base_url": "http://good.example"},
        {"base_url": ""},
    ],
)
def test_stored_key_is_not_sent_to_another_server(elsewhere: dict[str, str], world: World) -> None:
    agent = make_agent(world, model=MODEL, base_url="https://good.example/v1", llm_api_key=KEY)
    with pytest.raises(Invalid) as refused:
        agents.configure(agent, by=world.owner, **elsewhere)
    assert refused.value.fields == {
        "llm_api_key": [
            "Type the key again: the stored one was given for good.example and is not sent "
            "elsewhere."
        ]
    }
    agent.refresh_from_db()
    assert agent.base_url == "https://good.example/v1"
    agents.configure(agent, by=world.owner, llm_api_key=KEY, **elsewhere)
    assert agent.base_url == elsewhere["base_url"]


def test_stored_key_that_a_local_server_does_not_need_names_the_way_out(world: World) -> None:
    agent = make_agent(world, model="openai/gpt-5", llm_api_key=KEY)
    with pytest.raises(Invalid) as refused:
        agents.configure(agent, by=world.owner, model="ollama/qwen3")
    (text,) = refused.value.fields["llm_api_key"]
    assert "Delete the stored key" in text
    agents.configure(agent, by=world.owner, model="ollama/qwen3", llm_api_key="")
    assert (agent.model, agent.has_key) == ("ollama/qwen3", False)


def test_stored_key_stays_for_another_path_or_model_of_the_same_server(world: World) -> None:
    agent = make_agent(world, model=MODEL, base_url="https://good.example/v1", llm_api_key=KEY)
    agents.configure(
        agent,
        by=world.owner,
        base_url="https://good.example/v2",
        model="anthropic/claude-haiku-4-5",
    )
    assert encryption.decrypt(agent.encrypted_key) == KEY


def test_retirement_ends_the_membership_and_deletes_the_key(world: World) -> None:
    agent = make_agent(world, llm_api_key=KEY)
    agents.retire(agent, by=world.owner)
    agent.refresh_from_db()
    assert (agent.deleted_at is None, agent.has_key, agent.name) == (False, False, "Bo")
    assert Member.objects.get(agent=agent).deleted_at is not None
    with pytest.raises(AgentIsRetired):
        agents.configure(agent, by=world.owner, name="Back")


def test_audit_trail_names_changed_settings_and_never_the_key(world: World) -> None:
    agent = make_agent(world, model=MODEL)
    agents.configure(agent, by=world.owner, llm_api_key=KEY, limit_steps=9)
    entry = AuditEntry.objects.get(action="agent.configured")
    assert entry.facts == {"fields": ["limit_steps", "llm_api_key"]}
    assert KEY not in str(list(AuditEntry.objects.values()))
    agents.configure(agent, by=world.owner, limit_steps=9)
    assert AuditEntry.objects.filter(action="agent.configured").count() == 1


def test_unknown_setting_raises_a_type_error(world: World) -> None:
    with pytest.raises(TypeError, match="no setting 'encrypted_key'"):
        agents.configure(world.agent, by=world.owner, encrypted_key="x")


def test_connection_check_of_the_demo_model_needs_no_key(world: World) -> None:
    result = connection_check.run(world.agent)
    assert result.works, result.detail


def test_connection_check_names_a_missing_key_as_the_cause(world: World) -> None:
    result = connection_check.run(make_agent(world, model=MODEL))
    assert not result.works
    assert "needs an API key" in result.detail


def test_connection_check_reports_busy_when_all_slots_are_taken(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_check, "QUEUE_TIMEOUT_SECONDS", 0.05)
    with connection_check._SLOTS, connection_check._SLOTS:
        assert connection_check.run(world.agent).code == "busy"
    assert connection_check.run(world.agent).works
