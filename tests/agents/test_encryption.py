"""Encryption of secrets, and their rotation to a new key."""

from io import StringIO
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.apps import apps
from django.core.management import CommandError, call_command

from paca.agents import encryption
from paca.agents import services as agents
from paca.agents.models import Agent
from paca.agents.services import rotation
from paca.common.errors import ConfigurationError
from tests.support.world import make_world

OLD, NEW, WRONG = (Fernet.generate_key().decode() for _ in range(3))


@pytest.fixture(autouse=True)
def old_key(settings: Any) -> None:
    settings.ENCRYPTION_KEY = [OLD]


def make_agents_with_keys(count: int) -> list[Agent]:
    world = make_world()
    return [
        agents.create(
            world.project,
            name=f"Agent {number}",
            handle=f"agent{number}",
            model="demo/guide",
            role=world.role("agent"),
            by=world.owner,
            llm_api_key=f"sk-secret-number-{number}",
        )
        for number in range(count)
    ]


def rotate() -> str:
    out = StringIO()
    call_command("rotate_secrets", stdout=out)
    return out.getvalue()


def decrypted_keys() -> set[str]:
    stored = Agent.objects.exclude(encrypted_key="").values_list("encrypted_key", flat=True)
    return {encryption.decrypt(secret) for secret in stored}


def test_encrypted_secret_can_be_decrypted_and_differs_each_time() -> None:
    first, second = encryption.encrypt("sk-1"), encryption.encrypt("sk-1")
    assert first != second
    assert encryption.decrypt(first) == encryption.decrypt(second) == "sk-1"


def test_decryption_accepts_an_older_key_and_refuses_a_damaged_secret(settings: Any) -> None:
    stored = encryption.encrypt("sk-1")
    settings.ENCRYPTION_KEY = [NEW, OLD]
    assert encryption.decrypt(stored) == "sk-1"
    for damaged in (stored[:-2] + "AA", "", "nonsense"):
        with pytest.raises(encryption.SecretUnreadable):
            encryption.decrypt(damaged)


@pytest.mark.parametrize("keys", [[], ["short"], [OLD, "not base64 at all!"]])
def test_encryption_key_error_names_the_setting(keys: list[str], settings: Any) -> None:
    settings.ENCRYPTION_KEY = keys
    with pytest.raises(ConfigurationError, match="ENCRYPTION_KEY"):
        encryption.encrypt("sk-1")


@pytest.mark.django_db
def test_rotation_makes_the_old_key_unnecessary(settings: Any) -> None:
    make_agents_with_keys(3)
    before = decrypted_keys()
    settings.ENCRYPTION_KEY = [NEW, OLD]
    assert "3 secrets, all readable." in rotate()
    settings.ENCRYPTION_KEY = [NEW]
    assert decrypted_keys() == before


@pytest.mark.django_db
def test_rotation_continues_where_it_was_interrupted(settings: Any) -> None:
    make_agents_with_keys(5)
    before = decrypted_keys()
    settings.ENCRYPTION_KEY = [NEW, OLD]
    steps = rotation.rotate()
    next(steps), next(steps)
    steps.close()
    assert rotation.count_outdated() == 3
    assert decrypted_keys() == before
    rotate()
    settings.ENCRYPTION_KEY = [NEW]
    assert decrypted_keys() == before


@pytest.mark.django_db
def test_rotation_with_a_missing_key_changes_nothing_and_says_what_to_do(settings: Any) -> None:
    make_agents_with_keys(2)
    before = list(Agent.objects.values_list("encrypted_key", flat=True))
    settings.ENCRYPTION_KEY = [NEW, WRONG]
    with pytest.raises(CommandError, match="2 of 2 secrets cannot be read") as refused:
        rotate()
    assert refused.value.returncode == 1
    assert "ENCRYPTION_KEY=new,old" in str(refused.value)
    assert list(Agent.objects.values_list("encrypted_key", flat=True)) == before


@pytest.mark.django_db
def test_rotation_does_not_overwrite_a_key_that_was_stored_meanwhile(settings: Any) -> None:
    (agent,) = make_agents_with_keys(1)
    settings.ENCRYPTION_KEY = [NEW, OLD]
    encrypt = encryption.encrypt

    def meanwhile(secret: str) -> str:
        fresh = encrypt("sk-of-the-person-who-was-faster")
        Agent.objects.filter(pk=agent.pk).update(encrypted_key=fresh)
        return encrypt(secret)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encryption, "encrypt", meanwhile)
        assert list(rotation.rotate()) == [0]
    assert decrypted_keys() == {"sk-of-the-person-who-was-faster"}


def test_rotation_covers_every_column_with_secrets() -> None:
    named = {
        (model, field.name)
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if "encrypted_" in field.name
    }
    assert named == set(rotation.SECRET_COLUMNS)
