"""The ASGI application: pages, the API, static files and sockets on one port."""

import urllib.request
import warnings
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.test import Client
from websockets.exceptions import InvalidStatus

from tests.realtime.pages import Page, conversation_page, session_headers
from tests.support.live_server import running

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def server(transactional_db):
    with running("paca.asgi:application") as live:
        yield live


def fetch(url: str, method: str = "GET", **headers: str):
    request = urllib.request.Request(url, method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return answer.status, dict(answer.headers), answer.read()


def test_asgi_application_answers_the_health_check(server):
    status, headers, body = fetch(f"{server.url}/healthz")
    assert (status, body) == (200, b'{"status": "ok"}')
    assert "server" not in {name.lower() for name in headers}


def test_asgi_application_serves_a_whole_static_file_without_a_warning(server):
    name = "admin/js/vendor/jquery/jquery.js"
    with warnings.catch_warnings(record=True) as warned:  # also in the server's threads
        warnings.simplefilter("always")
        status, _headers, body = fetch(f"{server.url}{static(name)}")
    assert status == 200
    assert body == Path(finders.find(name)).read_bytes()
    assert [str(each.message) for each in warned] == []


def test_asgi_application_serves_sockets_beside_pages(server, chat):
    with conversation_page(server, chat.id, session_headers(server, chat.owner)) as page:
        page.until("ready")
        new = chat.append_messages()
        assert page.next()["seq"] == new


def test_socket_with_an_unknown_url_is_closed_with_4404(server, chat):
    for path in ("/ws/", "/ws/conversations/none/", "/", "/ws/conversations/"):
        with Page(f"{server.ws_url}{path}", {"Origin": server.url}) as page:
            assert page.close_code() == 4404, path


def test_origin_is_checked_before_anything_else(server):
    with pytest.raises(InvalidStatus), Page(f"{server.ws_url}/nowhere/", {}):
        pass


def test_ticket_of_a_session_opens_a_socket_until_the_session_ends(server, chat):
    browser = Client()
    browser.force_login(chat.owner)
    ticket = browser.post("/api/v1/tickets/").json()["ticket"]
    path = f"{server.ws_url}/ws/conversations/{chat.id}/?ticket={ticket}"
    with Page(path, {"Origin": server.url}) as page:
        page.until("ready")
        browser.logout()
        page.send("ping")
        assert page.close_code() == 4401
    with Page(path, {"Origin": server.url}) as page:
        assert page.close_code() == 4401
