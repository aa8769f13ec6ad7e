"""An installation is told from others by an identity that its database keeps."""

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
def test_it_is_given_once_and_outlives_a_change_of_the_secret_key(settings):
    given = install_id()
    settings.SECRET_KEY = ANOTHER_SECRET
    assert install_id() == given
    split_deployment.record_secrets()
    assert install_id() == given
    assert Installation.objects.count() == 1


@pytest.mark.django_db
def test_two_with_the_same_key_and_name_of_the_database_are_told_apart():
    first = install_id()
    Installation.objects.all().delete()  # as if it were a new database
    assert install_id() != first


@pytest.mark.django_db
def test_to_have_one_is_not_to_be_entered_by_a_web_process():
    install_id()
    assert not split_deployment.secrets_are_recorded()
    split_deployment.check_worker_secrets()
    split_deployment.record_secrets()
    assert split_deployment.secrets_are_recorded()


@pytest.mark.django_db
def test_one_that_has_sandboxes_already_keeps_the_id_they_bear(settings):
    """Its containers, volumes and folders from before are found, swept and removed as its own."""
    split_deployment.record_secrets()
    former = _derived_id()
    here = make_world()
    begun = services.start_chat(here.agent, text="Go", by=here.owner)
    Sandbox.objects.create(
        conversation_id=begun.conversation_id, backend="docker", last_used_at=Now()
    )
    assert install_id() == former
    settings.SECRET_KEY = ANOTHER_SECRET
    assert install_id() == former, "from now on it is kept"


@pytest.mark.django_db
def test_while_the_database_is_away_none_is_guessed():
    """A worker that called itself something else would not find the files of its conversations."""

    def away(*_: object) -> None:
        raise OperationalError("the database is starting up")

    given = install_id()
    with connection.execute_wrapper(away), pytest.raises(OperationalError):
        install_id()
    assert install_id() == given


@pytest.mark.django_db(transaction=True)
def test_all_processes_that_ask_at_once_hear_the_same():
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
