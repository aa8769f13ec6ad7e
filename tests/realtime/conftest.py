"""A server and a chat for the tests of sockets."""

from collections.abc import Iterator

import pytest

from tests.realtime.pages import Chat, application, make_chat
from tests.support.live_server import LiveServer, running


@pytest.fixture
def chat(transactional_db) -> Chat:
    return make_chat()


@pytest.fixture
def server(transactional_db) -> Iterator[LiveServer]:
    with running(application()) as live:
        yield live
