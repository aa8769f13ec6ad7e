"""The secrets that the processes of a split deployment share."""

import pytest

from paca import installation_keys
from paca.accounts.models import Installation
from paca.agents import encryption
from paca.common.errors import ConfigurationError
from paca.ops import database_check, database_state, split_deployment
from paca.ops.management.commands import run_worker

pytestmark = pytest.mark.django_db
ANOTHER_SECRET = "another-0123456789abcdefghijklmnopqrstuvwxyz-0123456789"
ANOTHER_KEY = "jF5gV2d3cXh1eWJtdmF3cXJ0c2x6a2puZ2h1aW9wYXM="


@pytest.fixture(autouse=True)
def recorded_secrets(settings, monkeypatch) -> None:
    """A database that is not SQLite, in which a web process has recorded its secrets."""
    monkeypatch.setattr(database_check, "is_sqlite", lambda: False)
    settings.PACA_KEYS = installation_keys.InstallationKeys("", [], {}, frozenset())
    split_deployment.record_secrets()


def use_secrets_of_folder(settings) -> None:
    files = frozenset({installation_keys.SECRET_KEY_FILE, installation_keys.ENCRYPTION_KEY_FILE})
    settings.PACA_KEYS = installation_keys.InstallationKeys("", [], {}, files)


def test_process_with_the_same_secrets_is_accepted(settings):
    split_deployment.check_worker_secrets()
    use_secrets_of_folder(settings)
    split_deployment.check_web_secrets()


def test_worker_with_other_secrets_is_refused_with_their_names(settings):
    settings.SECRET_KEY = ANOTHER_SECRET
    settings.ENCRYPTION_KEY = [ANOTHER_KEY]
    with pytest.raises(ConfigurationError, match="SECRET_KEY and ENCRYPTION_KEY differ") as raised:
        split_deployment.check_worker_secrets()
    assert "give every process the same" in str(raised.value.facts["next_step"])


def test_worker_without_the_current_encryption_key_is_refused(settings):
    former = settings.ENCRYPTION_KEY
    settings.ENCRYPTION_KEY = [ANOTHER_KEY, *former]
    split_deployment.record_secrets()
    assert Installation.objects.count() == 1
    settings.ENCRYPTION_KEY = former
    with pytest.raises(ConfigurationError, match="ENCRYPTION_KEY differs"):
        split_deployment.check_worker_secrets()


def test_web_process_with_generated_secrets_is_refused(settings):
    settings.SECRET_KEY = ANOTHER_SECRET
    use_secrets_of_folder(settings)
    with pytest.raises(ConfigurationError, match="SECRET_KEY differs"):
        split_deployment.check_web_secrets()


def test_secrets_changed_in_the_environment_become_those_of_the_installation(settings):
    settings.SECRET_KEY = ANOTHER_SECRET
    settings.ENCRYPTION_KEY = [ANOTHER_KEY]
    split_deployment.check_web_secrets()
    split_deployment.record_secrets()
    split_deployment.check_worker_secrets()


def test_web_process_on_sqlite_may_use_any_secrets_of_its_folder(settings, monkeypatch):
    monkeypatch.setattr(database_check, "is_sqlite", lambda: True)
    settings.SECRET_KEY = ANOTHER_SECRET
    use_secrets_of_folder(settings)
    split_deployment.check_web_secrets()


def test_recorded_fingerprints_reveal_no_secret(settings):
    known = Installation.objects.get()
    for secret in (settings.SECRET_KEY, *settings.ENCRYPTION_KEY):
        assert secret not in known.secret_key_sign + known.encryption_sign
    assert encryption.decrypt(known.encryption_sign) == "Paca"


def test_missing_secrets_are_named(settings):
    settings.PACA_KEYS = installation_keys.InstallationKeys(
        "", [], {installation_keys.ENCRYPTION_KEY_FILE: "x"}, frozenset()
    )
    with pytest.raises(ConfigurationError, match="the same ENCRYPTION_KEY, and none is given"):
        split_deployment.check_secrets_are_given()


def test_worker_waits_until_a_web_process_has_recorded_its_secrets(monkeypatch):
    """The tables exist a moment earlier; until the secrets are recorded, any would be accepted."""
    monkeypatch.setattr(database_check, "exists", lambda: True)
    monkeypatch.setattr(
        database_state, "read_migration_state", lambda: database_state.MigrationState(1, 0)
    )
    assert run_worker._database_problem() == ""
    Installation.objects.all().delete()
    assert "waiting for a web process" in run_worker._database_problem()
