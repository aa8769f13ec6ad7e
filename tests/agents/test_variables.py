"""Environment variables of agents and projects: who gets them, which are refused, and that secrets are not shown."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from paca.accounts.models import AuditEntry
from paca.agents import context_preview, encryption, variable_names
from paca.agents import services as agents
from paca.agents.models import Agent, EnvVar, ModelKey
from paca.agents.services import model_keys, variables
from paca.common.errors import Invalid
from paca.conversations import known_secrets
from paca.sandbox.runner import forward
from paca.sandbox.runner.spawn import environment
from tests.support.api import Api
from tests.support.world import World, make_world

pytestmark = pytest.mark.django_db
SECRET = "tok-3f9a77d2"


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def api(world: World) -> Api:
    return Api(world.user)


def paths(world: World) -> tuple[str, str]:
    project = f"/projects/{world.project.pk}/"
    return f"{project}variables/", f"{project}agents/{world.agent.pk}/variables/"


def given(world: World) -> variables.Variables:
    return variables.for_commands(world.agent.pk, world.project.pk)


def store(owner: Any, world: World, name: str, value: str = SECRET, **more: Any) -> EnvVar:
    return variables.store(owner, name=name, value=value, by=world.owner, **more)


def refused(owner: Any, world: World, name: str, value: str = SECRET, **more: Any) -> str:
    with pytest.raises(Invalid) as error:
        store(owner, world, name, value, **more)
    return str(error.value.fields)


def test_commands_get_variables_of_project_and_agent_and_the_agent_wins(world: World) -> None:
    store(world.project, world, "STAGE", "of the project")
    store(world.project, world, "REGION", "north", secret=False)
    store(world.agent, world, "STAGE", "of the agent")
    found = given(world)
    assert found.values == {"STAGE": "of the agent", "REGION": "north"}
    assert found.secrets == {"of the agent"}
    other = make_world("Other")
    assert given(other).values == {}


def test_prompt_names_variables_without_their_values(world: World) -> None:
    def parts() -> dict[str, str]:
        agent = Agent.objects.get(pk=world.agent.pk)
        shown = context_preview.preview(agent, project="Harbor", trigger_type="chat_message")
        return {part.name: part.text for part in shown.parts}

    assert "variables" not in parts()
    store(world.agent, world, "DEPLOY_TOKEN")
    text = parts()["variables"]
    assert "DEPLOY_TOKEN" in text
    assert SECRET not in str(parts())


def test_secrets_are_masked_encrypted_and_audited_by_name(world: World, api: Api) -> None:
    for path in paths(world):
        made = api.post(path, {"name": "TOKEN", "value": SECRET})
        assert made.status_code == 201
        plain = api.post(path, {"name": "STAGE", "value": "test", "secret": False})
        assert plain.json()["value"] == "test"
        listed = api.get(path)
        assert SECRET not in listed.content.decode() + made.content.decode()
        assert {row["name"]: row["value"] for row in listed.json()["results"]} == {
            "TOKEN": "***",
            "STAGE": "test",
        }
    assert not EnvVar.objects.filter(encrypted_value__contains=SECRET).exists()
    entries = AuditEntry.objects.filter(action="variable.stored")
    assert {entry.facts["name"] for entry in entries} == {"TOKEN", "STAGE"}
    assert SECRET not in str(list(entries.values()))


def test_a_masked_value_sent_back_keeps_the_stored_one(world: World, api: Api) -> None:
    path = paths(world)[1]
    api.post(path, {"name": "TOKEN", "value": SECRET})
    assert api.post(path, {"name": "TOKEN", "value": "***"}).status_code == 201
    assert given(world).values == {"TOKEN": SECRET}
    shown = api.post(path, {"name": "TOKEN", "value": "***", "secret": False})
    assert (shown.status_code, "never shown" in shown.content.decode()) == (400, True)
    assert EnvVar.objects.get().secret
    assert (
        api.post(path, {"name": "TOKEN", "value": "new-value", "secret": False}).status_code == 201
    )
    row = api.get(path).json()["results"][0]
    assert row["value"] == "new-value"
    assert api.delete(f"{path}{row['id']}/").status_code == 204
    assert given(world).values == {}


@pytest.mark.parametrize(
    "name",
    ["PATH", "Path", "LD_PRELOAD", "ld_library_path", "PYTHONPATH", "PYTHONSTARTUP", "GIT_SSH_COMMAND"]
    + ["GIT_CONFIG_COUNT", "http_proxy", "HTTPS_PROXY", "NO_PROXY", "BASH_ENV", "BASH_FUNC_ls", "ENV", "IFS"]
    + ["NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "SSL_CERT_FILE", "PACA_DATA_DIR", "PROMPT_COMMAND", "HOME"],
)  # fmt: skip
def test_names_that_change_programs_are_refused(world: World, name: str) -> None:
    assert "Take another name" in (text := refused(world.agent, world, name)) or "gate" in text


def test_every_variable_that_a_sandbox_sets_is_refused() -> None:
    settings = {"no_input": "", "git_name": "", "git_email": ""}
    own = {*environment(settings), *forward.ENVIRONMENT}
    assert [name for name in own if not variable_names.find_error(name)] == []
    for name in ("DATABASE_URL", "NPM_TOKEN", "AWS_ACCESS_KEY_ID", "_X", "PIP_INDEX_URL"):
        assert variable_names.find_error(name) == ""


def test_a_model_key_is_refused_wherever_it_comes_from(world: World) -> None:
    model_keys.store(
        provider="openai", key="sk-project-1234", project=world.project, by=world.owner
    )
    model_keys.store(provider="openai", key="sk-person-1234", user=world.user, by=world.user)
    model_keys.store(provider="openai", key="sk-server-1234", by=None)
    for key in ("sk-project-1234", "sk-person-1234", "sk-server-1234", "Bearer sk-server-1234"):
        assert "key of a model" in refused(world.agent, world, "TOKEN", key)
        assert "key of a model" in refused(world.project, world, "TOKEN", key, secret=False)
    assert not EnvVar.objects.exists()


def test_a_model_key_that_a_variable_has_already_is_refused(world: World) -> None:
    """Whoever stores it: the project, a member, the server, or the agent for itself."""
    store(world.project, world, "TOKEN", "Bearer sk-later-1234")
    stores: list[Any] = [
        lambda: model_keys.store(
            provider="openai", key="sk-later-1234", project=world.project, by=world.owner
        ),
        lambda: model_keys.store(
            provider="openai", key="sk-later-1234", user=world.user, by=world.user
        ),
        lambda: model_keys.store(provider="openai", key="sk-later-1234", by=None),
        lambda: agents.configure(world.agent, by=world.owner, llm_api_key="sk-later-1234"),
    ]
    for each in stores:
        with pytest.raises(Invalid) as error:
            each()
        assert "variable TOKEN of" in str(error.value.fields)
        assert "sk-later-1234" not in str(error.value.fields)
    other = make_world("Other")
    model_keys.store(provider="openai", key="sk-later-1234", project=other.project, by=other.owner)
    model_keys.store(provider="openai", key="EMPTY", project=world.project, by=world.owner)
    store(world.project, world, "MODE", "EMPTY", secret=False)


def test_a_variable_that_has_become_a_model_key_is_withheld(world: World) -> None:
    """A person with that key has joined the project since."""
    store(world.agent, world, "TOKEN", "sk-later-1234")
    store(world.agent, world, "STAGE", "test", secret=False)
    ModelKey.objects.create(provider="openai", encrypted_key=encryption.encrypt("sk-later-1234"))
    found = given(world)
    assert (found.values, found.withheld) == ({"STAGE": "test"}, ("TOKEN",))
    assert "TOKEN" in found.describe()
    assert "sk-later-1234" in found.secrets  # it stays masked


@pytest.mark.parametrize(
    "value", ["production", " Development ", "00000000", "http://localhost:8000/", "127.0.0.1:5432"]
)
def test_words_of_ordinary_texts_are_no_secrets(world: World, value: str) -> None:
    assert "not secret" in refused(world.agent, world, "STAGE", value)
    assert store(world.agent, world, "STAGE", value, secret=False)


def test_sizes_are_limited(world: World) -> None:
    assert "at least 8 characters" in refused(world.agent, world, "TOKEN", "short")
    assert "at most 64 KiB" in str([refused_at(world, number) for number in range(10)][-1])
    EnvVar.objects.all().delete()
    for number in range(variables.MAX_VARIABLES):
        store(world.agent, world, f"V{number}")
    store(world.agent, world, "V0", "another value")
    with pytest.raises(variables.TooManyVariables):
        store(world.agent, world, "ONE_MORE")


def refused_at(world: World, number: int) -> str:
    try:
        store(world.agent, world, f"V{number}", "xyz0" * 2000)
    except Invalid as error:
        return str(error.fields)
    return ""


def test_a_value_that_cannot_be_read_is_named_and_left_out(world: World, settings: Any) -> None:
    store(world.agent, world, "OLD")
    settings.ENCRYPTION_KEY = [Fernet.generate_key().decode()]
    store(world.project, world, "FRESH")
    found = given(world)
    assert (set(found.values), found.unreadable) == ({"FRESH"}, ("OLD",))
    assert "cannot be read on this server" in found.describe()


def test_traces_and_memory_know_the_secrets(world: World) -> None:
    store(world.project, world, "TOKEN")
    store(world.agent, world, "TOKEN", "of-the-agent")
    store(world.agent, world, "STAGE", "production", secret=False)
    known = known_secrets.of_agent(world.agent.pk)
    assert {SECRET, "of-the-agent"} <= known
    assert "production" not in known
    assert {SECRET, "of-the-agent"} <= known_secrets.of_project(world.project.pk)


def test_a_list_costs_the_same_queries_for_three_and_thirty(world: World, api: Api) -> None:
    counts = []
    for many in (3, 30):
        for number in range(EnvVar.objects.count(), many):
            store(world.agent, world, f"V{number}")
        with CaptureQueriesContext(connection) as counted:
            assert len(api.get(paths(world)[1]).json()["results"]) == many
        counts.append(len(counted))
    assert counts[0] == counts[1]


def test_a_variable_belongs_to_an_agent_or_a_project(world: World) -> None:
    for owner in ({}, {"agent": world.agent, "project": world.project}):
        with pytest.raises(IntegrityError), transaction.atomic():
            EnvVar.objects.create(name="A", encrypted_value="x", **owner)
