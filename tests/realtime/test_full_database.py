"""The answer to a message while the database's disk is full or the database is unavailable."""

import psycopg
import pytest
from django.db import OperationalError

from paca.common import disk_space
from paca.conversations import store
from tests.realtime.pages import conversation_page, session_headers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("cause", "code"),
    [(psycopg.errors.DiskFull("full"), "disk_full"), (psycopg.OperationalError(), "unavailable")],
)
def test_message_on_a_full_database_gets_the_reason_and_the_socket_stays_open(
    server, chat, monkeypatch, cause, code
):
    def refuse(*_: object, **__: object) -> None:
        raise OperationalError from cause

    monkeypatch.setattr(disk_space, "_full_until", 0.0)
    with conversation_page(server, chat.id, session_headers(server, chat.owner)) as page:
        page.until("ready")
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(store, "append", refuse)
            answer = page.ask("message", client_id="m-1", text="How deep is the harbour?")
        assert (answer["type"], answer["client_id"], answer["code"]) == ("error", "m-1", code)
        monkeypatch.setattr(disk_space, "_full_until", 0.0)
        assert page.ask("message", client_id="m-1", text="How deep is it?")["type"] == "ack"
