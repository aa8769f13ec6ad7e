"""Keys that a person, the project or the server lends to agents: their order, their owner's rights, and what is shown."""

from __future__ import annotations

from io import StringIO

import pytest
from cryptography.fernet import Fernet
from django.core.management import CommandError, call_command

from paca.accounts.models import AuditEntry, User
from paca.agents import connection_check
from paca.agents import services as agents
from paca.agents.models import Agent, ModelKey
from paca.agents.services import model_keys, rotation
from paca.common.errors import ConfigurationError, Invalid
from paca.conversations import services, store
from paca.conversations.models import Conversation, ModelCall, Trigger
from paca.engine.llm import connection_check as asked
from paca.engine.llm.base import Usage
from paca.ops import database_state
from paca.projects.models import Member
from paca.projects.services import members
from paca.worker import turn_models
from tests.support.api import Api
from tests.support.world import World, make_world

USER_KEY, PROJECT_KEY, SERVER_KEY = "sk-of-the-person-1", "sk-of-the-project", "sk-of-the-server-1"


@pytest.fixture
def world(db: None) -> World:
    return make_world(model="openai/gpt-5")


def lend(world: World, *owners: str, **where: str) -> None:
    keys = {
        "user": (USER_KEY, {"user": world.user}),
        "project": (PROJECT_KEY, {"project": world.project}),
        "server": (SERVER_KEY, {}),
    }
    for name in owners:
        key, owner = keys[name]
        model_keys.store(**{"provider": "openai", "key": key, "by": world.owner, **owner, **where})


def source(world: World, user: User | None = None) -> str:
    agent = Agent.objects.get(pk=world.agent.pk)
    return model_keys.key_of(agent, user_id=user.pk if user else None).source


def test_order_is_agent_person_project_server(world: World) -> None:
    assert source(world, world.user) == ""
    lend(world, "server")
    assert source(world, world.user) == "server"
    lend(world, "project")
    assert source(world, world.user) == "project"
    lend(world, "user")
    assert source(world, world.user) == "user"
    assert source(world) == "project"
    agents.configure(world.agent, by=world.owner, llm_api_key="sk-of-the-agent")
    assert source(world, world.user) == "agent"


def test_key_of_another_person_or_project_is_never_found(world: World) -> None:
    other = make_world("Island", model="openai/gpt-5")
    lend(other, "user", "project")
    assert source(world, world.user) == ""


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"base_url": "https://evil.example/v1"},
        {"model": "groq/x"},
        {"base_url": "http://api.openai.com/v1"},
    ],
)
def test_lent_key_goes_only_to_the_server_that_it_was_given_for(world: World, elsewhere) -> None:
    lend(world, "user", "project", "server")
    agents.configure(world.agent, by=world.owner, **elsewhere)
    assert source(world, world.user) == ""


def test_lent_key_of_a_gateway_goes_to_this_gateway(world: World) -> None:
    lend(world, "project", base_url="https://llm.example/v1")
    assert source(world) == ""
    agents.configure(world.agent, by=world.owner, base_url="https://llm.example/v2")
    assert source(world) == "project"


@pytest.mark.parametrize("asked", ["https://llm.example/a", "https://llm.example/b"])
def test_of_two_keys_of_a_gateway_that_of_the_very_address_is_used(world: World, asked) -> None:
    for path in "abc":
        where = f"https://llm.example/{path}"
        lend(world, "project", base_url=where)
        ModelKey.objects.filter(base_url=where).update(key_last4=path)
    agents.configure(world.agent, by=world.owner, base_url=asked)
    found = model_keys.key_of(Agent.objects.get(pk=world.agent.pk), user_id=None)
    assert found.last4 == asked[-1]


@pytest.mark.parametrize("stored", ["of an agent", "of a fallback", "lent"])
def test_start_and_doctor_find_each_key_that_cannot_be_read(world: World, stored, settings) -> None:
    database_state.check_encryption_key()
    if stored == "of an agent":
        agents.configure(world.agent, by=world.owner, llm_api_key="sk-1234567890")
    elif stored == "of a fallback":
        fallback = {"fallback_model": "openai/x", "fallback_api_key": "sk-1234567890"}
        agents.configure(world.agent, by=world.owner, **fallback)
    else:
        lend(world, "user")
    database_state.check_encryption_key()
    settings.ENCRYPTION_KEY = [Fernet.generate_key().decode()]
    with pytest.raises(ConfigurationError) as raised:
        database_state.check_encryption_key()
    assert "cannot decrypt" in raised.value.detail


def test_test_of_a_connection_says_whose_key_it_has_used(world: World, monkeypatch) -> None:
    async def answered(*_: object, **__: object) -> asked.ConnectionCheck:
        return asked.ConnectionCheck(True, "It answers.", "", usage=Usage(input=1))

    monkeypatch.setattr(asked, "check_connection", answered)
    lend(world, "user")
    connection_check.run(Agent.objects.get(pk=world.agent.pk), user_id=world.user.pk)
    assert ModelCall.objects.get().key_source == "user"


def test_fallback_without_a_key_uses_a_lent_one(world: World) -> None:
    agents.configure(world.agent, by=world.owner, fallback_model="openai/gpt-5-mini")
    lend(world, "project")
    agent = Agent.objects.get(pk=world.agent.pk)
    assert model_keys.fallback_key_of(agent, user_id=None).source == "project"


def test_key_is_encrypted_audited_rotated_and_never_shown(world: World) -> None:
    lend(world, "user", "project")
    stored = ModelKey.objects.values_list("encrypted_key", flat=True)
    assert not {USER_KEY, PROJECT_KEY} & set(stored)
    assert rotation.check_readable() == 2
    entries = AuditEntry.objects.filter(action="model_key.stored")
    assert sorted(entry.facts["owner"] for entry in entries) == ["project", "user"]
    api = Api(world.user)
    for path in (f"/projects/{world.project.pk}/model-keys/", "/model-keys/"):
        shown = api.send("GET", f"/api/v1{path}").json()["results"]
        assert [each["last4"] for each in shown] in (["ject"], ["on-1"])
        assert USER_KEY not in str(shown)
        assert PROJECT_KEY not in str(shown)
    page = api.client.get(f"/projects/{world.project.pk}/settings/").content.decode()
    assert "ends in ject" in page
    assert PROJECT_KEY not in page


def test_second_key_of_an_address_replaces_the_first(world: World) -> None:
    lend(world, "project", "project")
    assert ModelKey.objects.count() == 1
    row = ModelKey.objects.get()
    model_keys.delete(row, by=world.owner)
    assert AuditEntry.objects.filter(action="model_key.deleted").exists()


def test_owner_has_at_most_fifty_keys(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_keys, "MAX_KEYS", 1)
    lend(world, "project")
    with pytest.raises(model_keys.TooManyKeys):
        lend(world, "project", base_url="https://llm.example")


def test_server_has_a_key_by_a_command(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO(f"{SERVER_KEY}\n"))
    said = StringIO()
    call_command("server_model_key", "openai", stdout=said)
    assert SERVER_KEY not in said.getvalue()
    assert source(world) == "server"
    call_command("server_model_key", "openai", delete=True, stdout=said)
    assert source(world) == ""
    for wrong in ("acme", "demo"):
        monkeypatch.setattr("sys.stdin", StringIO("sk-1\n"))
        with pytest.raises(CommandError):
            call_command("server_model_key", wrong)
    with pytest.raises(CommandError):
        call_command("server_model_key", "openai", delete=True)


def test_key_that_cannot_be_one_is_refused(world: World) -> None:
    for key in ("", "a b"):
        with pytest.raises(Invalid):
            model_keys.store(provider="openai", key=key, by=world.owner)


# --- whose turn it is -----------------------------------------------------------------------------


def begun(world: World, *by: Member) -> Conversation:
    """A conversation whose running turn answers a message of each of these members."""
    sent = services.start_chat(world.agent, text="Hi", by=by[0])
    conversation = Conversation.objects.get(pk=sent.conversation_id)
    for member in by[1:]:
        services.send(conversation, text="And this", by=member)
    store.claim_triggers(conversation.pk, turn=1)
    conversation.turn_number = 1
    return conversation


def member_of(world: World, name: str) -> Member:
    user = User.objects.create_user(username=name, password="a long password 7")
    return members.add_person(world.project, user=user, role=world.role("member"), by=world.owner)


def test_turn_of_one_person_uses_the_key_of_that_person(world: World) -> None:
    assert turn_models.beginner_of(begun(world, world.owner)).user_id == world.user.pk


def test_turn_of_two_persons_uses_no_key_of_a_person(world: World) -> None:
    bob = member_of(world, "bob")
    assert turn_models.beginner_of(begun(world, world.owner, bob)) == turn_models.NOBODY


def test_turn_of_one_person_after_many_messages_has_no_beginner_if_the_last_is_of_another(
    world: World,
) -> None:
    conversation = begun(world, world.owner)
    first = Trigger.objects.get()
    for number, actor in enumerate([*[world.owner] * 120, member_of(world, "bob")]):
        first.pk, first.actor, first.idempotency_key = None, actor, f"k{number}"
        first._state.adding = True
        first.save()
    assert turn_models.beginner_of(conversation) == turn_models.NOBODY


def test_continue_uses_the_key_of_the_person_who_pressed_it(world: World) -> None:
    conversation = begun(world, world.owner)
    bob = member_of(world, "bob")
    Trigger.objects.all().delete()
    Conversation.objects.update(status="running")
    Conversation.objects.update(status="paused", reason="by_person")
    services.continue_(conversation, by=bob)
    store.claim_triggers(conversation.pk, turn=1)
    assert turn_models.beginner_of(conversation).user_id == bob.user_id


def test_turn_of_an_agent_or_of_a_removed_person_uses_no_key_of_a_person(world: World) -> None:
    conversation = begun(world, world.owner)
    Trigger.objects.update(actor=world.agent.member)
    assert turn_models.beginner_of(conversation) == turn_models.NOBODY
    Trigger.objects.update(actor=None)  # by the system, or an earlier version
    assert turn_models.beginner_of(conversation) == turn_models.NOBODY
    bob = member_of(world, "bob")
    Trigger.objects.update(actor=bob)
    User.objects.filter(pk=bob.user_id).update(is_active=False)
    assert turn_models.beginner_of(conversation) == turn_models.NOBODY
