"""The identity in the database by which an installation knows its own sandboxes."""

import threading

import pytest
from django.db import OperationalError, connection
from django.db.models.functions import Now

from paca.accounts.models import Installation
from paca.accounts.services import installation
from paca.conversations import services
from paca.conversations.models import Sandbox
from paca.ops import split_deployment
from paca.ops.sandbox_factory import _derived_id, install_id
from tests.support.world import make_world

ANOTHER_SECRET = "another-0123456789abcdefghijklmnopqrstuvwxyz-0123456789"


@pytest.mark.django_db
def test_identity_is_created_once_and_survives_a_new_secret_key(settings):
    given = install_id()
    settings.SECRET_KEY = ANOTHER_SECRET
    assert install_id() == given
    split_deployment.record_secrets()
    assert install_id() == given
    assert Installation.objects.count() == 1


@pytest.mark.django_db
def test_identities_differ_between_databases_with_the_same_name_and_key():
    first = install_id()
    Installation.objects.all().delete()  # as if it were a new database
    assert install_id() != first


@pytest.mark.django_db
def test_identity_alone_does_not_count_as_recorded_secrets():
    install_id()
    assert not split_deployment.secrets_are_recorded()
    split_deployment.check_worker_secrets()
    split_deployment.record_secrets()
    assert split_deployment.secrets_are_recorded()


@pytest.mark.django_db
def test_identity_is_the_derived_id_if_sandboxes_exist_already(settings):
    """So the sweeper still finds containers, volumes and folders that are older than the identity."""
    split_deployment.record_secrets()
    former = _derived_id()
    here = make_world()
    begun = services.start_chat(here.agent, text="Go", by=here.owner)
    Sandbox.objects.create(
        conversation_id=begun.conversation_id, backend="docker", last_used_at=Now()
    )
    assert install_id() == former
    settings.SECRET_KEY = ANOTHER_SECRET
    assert install_id() == former, "it is stored from now on"


@pytest.mark.django_db
def test_identity_is_not_guessed_while_the_database_is_unavailable():
    """A worker with another identity would not find the files of its conversations."""

    def unavailable(*_: object) -> None:
        raise OperationalError("the database is starting up")

    given = install_id()
    with connection.execute_wrapper(unavailable), pytest.raises(OperationalError):
        install_id()
    assert install_id() == given


@pytest.mark.django_db(transaction=True)
def test_identity_is_the_same_for_threads_that_ask_at_once():
    answers, line = [], threading.Barrier(6)

    def ask() -> None:
        line.wait()
        try:
            answers.append(installation.get_or_create_identity(default=str))
        finally:
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 6
    assert len(set(answers)) == 1
    assert answers[0]
