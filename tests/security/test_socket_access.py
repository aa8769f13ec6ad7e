"""Sends every command to every socket as every principal: closed, refused or accepted."""

import pytest
from django.conf import settings

from paca.realtime import protocol
from tests.realtime.pages import Page, application, bearer_headers
from tests.security import two_projects
from tests.security.access_table import PRINCIPALS
from tests.security.two_projects import TwoProjects
from tests.support.api import Api
from tests.support.live_server import LiveServer, running

pytestmark = pytest.mark.django_db(transaction=True)

# A number is the code that the socket is closed with. "refused" is an error frame; the socket stays.
# "accepted" means that the command reaches the service, which may still answer an error.
#             nobody outs  view       memb     mana     owne     stra  scop  revo  root
_READS = (4401, 4404, "accepted", "accepted", "accepted", "accepted", 4404, 4403, 4401, 4404)
_WRITES = (4401, 4404, "refused", "accepted", "accepted", "accepted", 4404, 4403, 4401, 4404)
# The message is the owner's.
_OF_THEIR_OWN = (4401, 4404, "refused", "refused", "refused", "accepted", 4404, 4403, 4401, 4404)

CONVERSATION = {
    "message": _WRITES,
    "interrupt": _WRITES,
    "stop": _WRITES,
    "pause": _WRITES,
    "resume": _WRITES,
    "continue": _WRITES,
    "clear": _WRITES,
    "approve": _WRITES,
    "plan": _WRITES,
    "answer": _WRITES,
    "flags": _WRITES,
    "stop_background": _WRITES,
    "withdraw": _OF_THEIR_OWN,
    "edit": _OF_THEIR_OWN,
    "ping": _READS,
}
PROJECT = {"ping": _READS}
FIELDS = {
    "message": {"text": "Hello"},
    "interrupt": {"text": "Hello"},
    "approve": {"call_id": "none", "decision": "approve"},
    "plan": {"decision": "approve"},
    "answer": {"question_id": "none", "text": "the first"},
    "flags": {"plan": True},
    "stop_background": {"call_id": "none"},
    "withdraw": {"event_seq": 1},
    "edit": {"event_seq": 1, "text": "Hello again"},
}


@pytest.fixture
def server(transactional_db):
    with running(application()) as live:
        yield live


@pytest.fixture
def projects(transactional_db) -> TwoProjects:
    return two_projects.make_two_projects()


def headers(principal: Api, server: LiveServer) -> dict[str, str]:
    """The headers of the handshake that authenticate the principal."""
    credentials = principal.client._credentials.get("HTTP_AUTHORIZATION", "")
    if credentials:
        return bearer_headers(credentials.removeprefix("Bearer "))
    session = principal.client.cookies.get(settings.SESSION_COOKIE_NAME)
    cookie = {"Cookie": f"{session.key}={session.value}"} if session else {}
    return {"Origin": server.url, **cookie}


def outcome(url: str, principal: dict[str, str], command: str) -> int | str | None:
    with Page(url, principal) as page:
        page.send(command, client_id="c-1", **FIELDS.get(command, {}))
        try:
            answer = page.until(lambda frame: frame["type"] in {"ack", "error", "pong"})
        except EOFError:
            return page.closed_with
    return "refused" if answer.get("code") == "permission_denied" else "accepted"


def test_access_table_has_a_row_for_every_socket_command_and_no_other():
    assert set(CONVERSATION) == set(protocol.COMMANDS)
    assert set(PROJECT) == set(protocol.PROJECT_COMMANDS)


def outcomes(url: str, projects: TwoProjects, server: LiveServer, table: dict) -> dict:
    return {
        command: tuple(
            outcome(url, headers(projects.principals[name], server), command) for name in PRINCIPALS
        )
        for command in table
    }


def test_access_of_each_principal_to_a_conversation_socket_is_as_the_table_says(server, projects):
    url = f"{server.ws_url}/ws/conversations/{projects.a.ids['conversation_id']}/"
    assert outcomes(url, projects, server, CONVERSATION) == CONVERSATION


def test_access_of_each_principal_to_a_project_socket_is_as_the_table_says(server, projects):
    url = f"{server.ws_url}/ws/projects/{projects.a.project.pk}/"
    assert outcomes(url, projects, server, PROJECT) == PROJECT


def test_owner_of_one_project_cannot_open_sockets_of_another(server, projects):
    owner = headers(projects.principals["owner"], server)
    for path in (
        f"conversations/{projects.b.ids['conversation_id']}/",
        f"projects/{projects.b.project.pk}/",
    ):
        assert outcome(f"{server.ws_url}/ws/{path}", owner, "ping") == 4404
