"""Every command of every socket, by every kind of asker: who is sent away, refused, or heard."""

import pytest

from paca.realtime import protocol
from tests.realtime.pages import Page, application, bearer
from tests.security import worlds
from tests.security.access import ASKERS
from tests.security.worlds import Worlds
from tests.support.api import Api
from tests.support.live_server import LiveServer, running

pytestmark = pytest.mark.django_db(transaction=True)

# A number: the socket is closed with it. "refused": an error, the socket stays. "heard": the
# command reaches the service, whatever that makes of it.
#             nobody outs  view       memb     mana     owne     stra  scop  revo  root
_READS = (4401, 4404, "heard", "heard", "heard", "heard", 4404, 4403, 4401, 4404)
_WRITES = (4401, 4404, "refused", "heard", "heard", "heard", 4404, 4403, 4401, 4404)

CONVERSATION = {
    "message": _WRITES,
    "interrupt": _WRITES,
    "stop": _WRITES,
    "pause": _WRITES,
    "resume": _WRITES,
    "continue": _WRITES,
    "clear": _WRITES,
    "ping": _READS,
}
PROJECT = {"ping": _READS}
FIELDS = {"message": {"text": "Hello"}, "interrupt": {"text": "Hello"}}


@pytest.fixture
def server(transactional_db):
    with running(application()) as live:
        yield live


@pytest.fixture
def two(transactional_db) -> Worlds:
    return worlds.make()


def headers(asker: Api, server: LiveServer) -> dict[str, str]:
    """The same person or token, at a socket."""
    credentials = asker.client._credentials.get("HTTP_AUTHORIZATION", "")
    if credentials:
        return bearer(credentials.removeprefix("Bearer "))
    session = asker.client.cookies.get("sessionid")
    cookie = {"Cookie": f"sessionid={session.value}"} if session else {}
    return {"Origin": server.url, **cookie}


def outcome(url: str, asker: dict[str, str], command: str) -> int | str | None:
    with Page(url, asker) as page:
        page.send(command, client_id="c-1", **FIELDS.get(command, {}))
        try:
            answer = page.until(lambda frame: frame["type"] in {"ack", "error", "pong"})
        except EOFError:
            return page.closed_with
    return "refused" if answer.get("code") == "permission_denied" else "heard"


def test_access_table_has_a_row_for_every_socket_command_and_no_other():
    assert set(CONVERSATION) == set(protocol.COMMANDS)
    assert set(PROJECT) == set(protocol.PROJECT_COMMANDS)


def outcomes(url: str, two: Worlds, server: LiveServer, table: dict) -> dict:
    return {
        command: tuple(outcome(url, headers(two.askers[name], server), command) for name in ASKERS)
        for command in table
    }


def test_access_of_each_client_to_a_conversation_socket_is_as_the_table_says(server, two):
    url = f"{server.ws_url}/ws/conversations/{two.a.ids['conversation_id']}/"
    assert outcomes(url, two, server, CONVERSATION) == CONVERSATION


def test_access_of_each_client_to_a_project_socket_is_as_the_table_says(server, two):
    url = f"{server.ws_url}/ws/projects/{two.a.project.pk}/"
    assert outcomes(url, two, server, PROJECT) == PROJECT


def test_owner_of_one_project_cannot_open_sockets_of_another(server, two):
    owner = headers(two.askers["owner"], server)
    for path in (
        f"conversations/{two.b.ids['conversation_id']}/",
        f"projects/{two.b.project.pk}/",
    ):
        assert outcome(f"{server.ws_url}/ws/{path}", owner, "ping") == 4404
