"""Many processes are one installation by the secrets they share."""

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
def entered(settings, monkeypatch) -> None:
    """On a database of many processes, which a web process has entered."""
    monkeypatch.setattr(database_check, "is_sqlite", lambda: False)
    settings.PACA_KEYS = installation_keys.InstallationKeys("", [], {}, frozenset())
    split_deployment.record_secrets()


def of_the_folder(settings) -> None:
    files = frozenset({installation_keys.SECRET_KEY_FILE, installation_keys.ENCRYPTION_KEY_FILE})
    settings.PACA_KEYS = installation_keys.InstallationKeys("", [], {}, files)


def test_a_process_with_the_same_secrets_is_part_of_it(settings):
    split_deployment.check_worker_secrets()
    of_the_folder(settings)
    split_deployment.check_web_secrets()


def test_a_worker_with_other_secrets_is_told_which(settings):
    settings.SECRET_KEY = ANOTHER_SECRET
    settings.ENCRYPTION_KEY = [ANOTHER_KEY]
    with pytest.raises(ConfigurationError, match="SECRET_KEY and ENCRYPTION_KEY differ") as raised:
        split_deployment.check_worker_secrets()
    assert "give every process the same" in str(raised.value.facts["next_step"])


def test_a_worker_that_lacks_the_key_that_encrypts_now_is_refused(settings):
    former = settings.ENCRYPTION_KEY
    settings.ENCRYPTION_KEY = [ANOTHER_KEY, *former]
    split_deployment.record_secrets()
    assert Installation.objects.count() == 1
    settings.ENCRYPTION_KEY = former
    with pytest.raises(ConfigurationError, match="ENCRYPTION_KEY differs"):
        split_deployment.check_worker_secrets()


def test_secrets_that_a_host_has_made_up_do_not_get_in(settings):
    settings.SECRET_KEY = ANOTHER_SECRET
    of_the_folder(settings)
    with pytest.raises(ConfigurationError, match="SECRET_KEY differs"):
        split_deployment.check_web_secrets()


def test_secrets_that_a_person_has_changed_are_those_of_the_installation_from_then_on(settings):
    settings.SECRET_KEY = ANOTHER_SECRET
    settings.ENCRYPTION_KEY = [ANOTHER_KEY]
    split_deployment.check_web_secrets()
    split_deployment.record_secrets()
    split_deployment.check_worker_secrets()


def test_the_folder_of_a_file_database_holds_all_there_is(settings, monkeypatch):
    monkeypatch.setattr(database_check, "is_sqlite", lambda: True)
    settings.SECRET_KEY = ANOTHER_SECRET
    of_the_folder(settings)
    split_deployment.check_web_secrets()


def test_what_is_kept_in_the_database_gives_no_secret_away(settings):
    known = Installation.objects.get()
    for secret in (settings.SECRET_KEY, *settings.ENCRYPTION_KEY):
        assert secret not in known.secret_key_sign + known.encryption_sign
    assert encryption.decrypt(known.encryption_sign) == "Paca"


def test_what_would_have_to_be_made_up_is_named(settings):
    settings.PACA_KEYS = installation_keys.InstallationKeys(
        "", [], {installation_keys.ENCRYPTION_KEY_FILE: "x"}, frozenset()
    )
    with pytest.raises(ConfigurationError, match="the same ENCRYPTION_KEY, and none is given"):
        split_deployment.check_secrets_are_given()


def test_a_worker_waits_for_the_web_process_that_says_which_secrets_count(monkeypatch):
    """Its tables may be there a moment earlier, and any secrets would pass."""
    monkeypatch.setattr(database_check, "exists", lambda: True)
    monkeypatch.setattr(
        database_state, "read_migration_state", lambda: database_state.MigrationState(1, 0)
    )
    assert run_worker._database_problem() == ""
    Installation.objects.all().delete()
    assert "waiting for a web process" in run_worker._database_problem()
