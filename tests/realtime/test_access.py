"""Access to sockets: origins, credentials, permissions, tickets and the loss of access (T-61)."""

from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.utils import timezone
from websockets.exceptions import InvalidStatus

from paca.accounts.models import ApiToken, User
from paca.bus import get_bus
from paca.bus.base import project_topic
from paca.projects.services import members
from paca.realtime import tickets
from paca.realtime.consumers import ConversationConsumer, ProjectConsumer
from paca.realtime.models import Ticket
from tests.realtime.pages import (
    Page,
    application,
    bearer_headers,
    conversation_page,
    create_token,
    make_chat,
    session_cookie,
    session_headers,
)
from tests.support.live_server import running

pytestmark = pytest.mark.django_db(transaction=True)


class QuickCheckConsumer(ConversationConsumer):
    """Checks the access every 0.3 seconds instead of every 30."""

    access_check_seconds = 0.3


class QuickCheckProjectConsumer(ProjectConsumer):
    access_check_seconds = 0.3


@pytest.fixture
def quick_check_server(transactional_db):
    with running(application(QuickCheckConsumer, QuickCheckProjectConsumer)) as server:
        yield server


def handshake_status(server, path: str, headers: dict[str, str]) -> int:
    """The HTTP status of a handshake that is refused."""
    with pytest.raises(InvalidStatus) as error, Page(f"{server.ws_url}{path}", headers):
        pass
    return error.value.response.status_code


# --- origins --------------------------------------------------------------------------------------

FOREIGN = [
    "https://evil.example",
    "http://evil.example:{port}",
    "null",
    "http://127.0.0.1",  # another program on this machine, on the usual port
    "http://127.0.0.1:1",
    "http://localhost:{port}",  # another host name is another site, even on the same machine
    "http://127.0.0.1.evil.example:{port}",
    "http://127.0.0.1:{port}@evil.example",
    "http://evil.example/127.0.0.1:{port}",
    "file://",
    "chrome-extension://abc",
    "http://[::1",
    "",
]


def test_handshake_of_another_sites_page_is_refused_despite_its_cookie(server, chat):
    cookie = session_cookie(chat.owner)
    path = f"/ws/conversations/{chat.id}/"
    for origin in (each.format(port=server.port) for each in FOREIGN):
        assert handshake_status(server, path, {"Cookie": cookie, "Origin": origin}) == 403, origin


def test_handshake_with_a_cookie_and_no_origin_is_refused(server, chat):
    headers = {"Cookie": session_cookie(chat.owner)}
    assert handshake_status(server, f"/ws/conversations/{chat.id}/", headers) == 403


def test_handshake_of_another_sites_page_is_refused_also_with_a_token_or_a_ticket(server, chat):
    headers = {**bearer_headers(create_token(chat.owner)), "Origin": "https://evil.example"}
    path = f"/ws/conversations/{chat.id}/"
    assert handshake_status(server, path, headers) == 403
    assert handshake_status(server, f"{path}?ticket=x", {"Origin": "https://evil.example"}) == 403
    assert (
        handshake_status(server, path, {"Origin": "null", "Cookie": session_cookie(chat.owner)})
        == 403
    )


def test_handshake_with_a_foreign_host_is_refused_although_the_origin_agrees(server, chat):
    """With DNS rebinding the browser believes that it talks to evil.example."""
    port = urlsplit(server.url).port
    headers = {
        "Cookie": session_cookie(chat.owner),
        "Host": f"evil.example:{port}",
        "Origin": f"http://evil.example:{port}",
    }
    assert handshake_status(server, f"/ws/conversations/{chat.id}/", headers) == 403


def test_handshake_from_a_trusted_origin_is_accepted(server, chat, settings):
    settings.CSRF_TRUSTED_ORIGINS = ["https://*.paca.example", "https://[::1]:444"]
    for origin in ("https://agents.paca.example", "https://[::1]:444"):
        headers = {"Cookie": session_cookie(chat.owner), "Origin": origin}
        with conversation_page(server, chat.id, headers) as page:
            page.until("ready")
    headers = {"Cookie": session_cookie(chat.owner), "Origin": "http://agents.paca.example"}
    assert handshake_status(server, f"/ws/conversations/{chat.id}/", headers) == 403


# --- credentials ----------------------------------------------------------------------------------


def no_credential(server, chat) -> dict[str, str]:
    return {"Origin": server.url}


def a_made_up_session(server, chat) -> dict[str, str]:
    return {
        "Origin": server.url,
        "Cookie": f"{settings.SESSION_COOKIE_NAME}=abcdefabcdefabcdefabcdefabcdefab",
    }


def a_session_that_was_logged_out(server, chat) -> dict[str, str]:
    headers = session_headers(server, chat.owner)
    Session.objects.all().delete()
    return headers


def a_session_of_a_changed_password(server, chat) -> dict[str, str]:
    headers = session_headers(server, chat.owner)
    chat.owner.set_password("another long password 9")
    chat.owner.save()
    return headers


def a_deactivated_person(server, chat) -> dict[str, str]:
    headers = session_headers(server, chat.owner)
    User.objects.filter(pk=chat.owner.pk).update(is_active=False)
    return headers


def a_made_up_token(server, chat) -> dict[str, str]:
    return bearer_headers("paca_" + "a" * 64)


def a_revoked_token(server, chat) -> dict[str, str]:
    headers = bearer_headers(create_token(chat.owner))
    ApiToken.objects.all().delete()
    return headers


def an_expired_token(server, chat) -> dict[str, str]:
    headers = bearer_headers(create_token(chat.owner))
    ApiToken.objects.update(expiry=timezone.now() - timedelta(seconds=1))
    return headers


def a_wrong_token_beside_a_right_cookie(server, chat) -> dict[str, str]:
    return {**session_headers(server, chat.owner), **bearer_headers("paca_wrong")}


def a_header_of_another_kind(server, chat) -> dict[str, str]:
    return {"Authorization": f"Basic {create_token(chat.owner)}"}


INVALID_CREDENTIALS = [
    no_credential,
    a_made_up_session,
    a_session_that_was_logged_out,
    a_session_of_a_changed_password,
    a_deactivated_person,
    a_made_up_token,
    a_revoked_token,
    an_expired_token,
    a_wrong_token_beside_a_right_cookie,
    a_header_of_another_kind,
]


@pytest.mark.parametrize("headers_of", INVALID_CREDENTIALS, ids=lambda make: make.__name__)
def test_socket_without_a_valid_credential_is_closed_with_4401_and_sends_no_frame(
    server, chat, headers_of
):
    project = chat.world.project.pk
    headers = headers_of(server, chat)
    for path in (f"/ws/conversations/{chat.id}/", f"/ws/projects/{project}/"):
        with Page(f"{server.ws_url}{path}", headers) as page:
            assert page.close_code() == 4401
            assert page.frames == []


def test_token_in_the_url_is_ignored(server, chat):
    secret = create_token(chat.owner)
    for name in ("token", "access_token", "authorization"):
        path = f"/ws/conversations/{chat.id}/?{name}={secret}"
        assert handshake_status(server, path, {}) == 403
    with Page(f"{server.ws_url}/ws/conversations/{chat.id}/?ticket={secret}", {}) as page:
        assert page.close_code() == 4401


# --- permissions ----------------------------------------------------------------------------------


def test_socket_of_a_foreign_conversation_is_closed_like_one_of_a_missing_conversation(
    server, chat
):
    stranger = make_chat("Quay").owner
    missing = "00000000-0000-4000-8000-000000000000"
    for path in (
        f"/ws/conversations/{chat.id}/",
        f"/ws/conversations/{missing}/",
        f"/ws/projects/{chat.world.project.pk}/",
        f"/ws/projects/{missing}/",
    ):
        with Page(f"{server.ws_url}{path}", session_headers(server, stranger)) as page:
            assert page.close_code() == 4404, path
            assert page.frames == []


def test_superuser_has_no_access_without_a_membership(server, chat):
    admin = User.objects.create_superuser(username="root", password="a long password 6")
    with conversation_page(server, chat.id, session_headers(server, admin)) as page:
        assert page.close_code() == 4404


def test_after_that_is_no_number_closes_the_socket_with_4404(server, chat):
    for after in ("-1", "one", "1e3", "1.5", "٣", "9" * 400):
        with conversation_page(server, chat.id, session_headers(server, chat.owner), after) as page:
            assert page.close_code() == 4404, after


def test_role_without_the_permission_to_read_gets_4403(server, chat):
    member = chat.add_member("vera", "Viewer")
    member.role.permissions = ["projects:read", "agents:read"]
    member.role.save()
    with conversation_page(server, chat.id, session_headers(server, member.user)) as page:
        assert page.close_code() == 4403
        assert page.frames == []


def test_token_without_the_scope_gets_4403(server, chat):
    with conversation_page(
        server, chat.id, bearer_headers(create_token(chat.owner, "agents:read"))
    ) as page:
        assert page.close_code() == 4403


def test_viewer_role_reads_and_may_not_write(server, chat):
    viewer = chat.add_member("vera", "Viewer")
    with conversation_page(server, chat.id, session_headers(server, viewer.user)) as page:
        page.until("ready")
        answer = page.ask("message", client_id="1", text="Hello")
        assert (answer["type"], answer["code"]) == ("error", "permission_denied")
        assert page.ask("ping")["type"] == "pong"


def test_token_executes_only_the_commands_of_its_scopes(server, chat):
    reads = bearer_headers(create_token(chat.owner, "conversations:read"))
    with conversation_page(server, chat.id, reads) as page:
        page.until("ready")
        assert page.ask("stop", client_id="1")["code"] == "permission_denied"
    writes = bearer_headers(create_token(chat.owner, "conversations:*"))
    with conversation_page(server, chat.id, writes) as page:
        page.until("ready")
        assert page.ask("message", client_id="1", text="Hello")["type"] == "ack"


# --- tickets ---------------------------------------------------------------------------------------


def ticket_page(server, chat, ticket: str) -> Page:
    return Page(f"{server.ws_url}/ws/conversations/{chat.id}/?after=0&ticket={ticket}", {})


def token_row(user) -> ApiToken:
    create_token(user)
    return ApiToken.objects.get(user=user)


def test_ticket_opens_one_socket_once(server, chat):
    ticket = tickets.issue(chat.owner, token_id=token_row(chat.owner).pk)
    with ticket_page(server, chat, ticket) as page:
        page.until("ready")
    with ticket_page(server, chat, ticket) as page:
        assert page.close_code() == 4401


def test_ticket_expires_after_thirty_seconds(server, chat):
    ticket = tickets.issue(chat.owner, token_id=token_row(chat.owner).pk)
    left = Ticket.objects.get().expires_at - timezone.now()
    assert timedelta(seconds=25) < left <= timedelta(seconds=30)
    Ticket.objects.update(expires_at=timezone.now())
    with ticket_page(server, chat, ticket) as page:
        assert page.close_code() == 4401
    tickets.issue(chat.owner, token_id=token_row(make_chat("Quay").owner).pk)
    assert Ticket.objects.count() == 1  # the expired one was deleted


def test_ticket_is_stored_only_as_a_hash(chat):
    ticket = tickets.issue(chat.owner, token_id=token_row(chat.owner).pk)
    assert ticket not in str(list(Ticket.objects.values()))


def test_ticket_has_the_scopes_of_its_token_and_ends_with_it(quick_check_server, chat):
    create_token(chat.owner, "conversations:read")
    token = ApiToken.objects.get(user=chat.owner)
    with ticket_page(
        quick_check_server, chat, tickets.issue(chat.owner, token_id=token.pk)
    ) as page:
        page.until("ready")
        assert page.ask("stop", client_id="1")["code"] == "permission_denied"
        token.delete()
        assert page.close_code() == 4401


# --- loss of access -------------------------------------------------------------------------------


def logs_out(chat, member) -> int:
    Session.objects.all().delete()
    return 4401


def is_deactivated(chat, member) -> int:
    User.objects.filter(pk=member.user.pk).update(is_active=False)
    return 4401


def loses_the_permission(chat, member) -> int:
    member.role.permissions = ["agents:read"]
    member.role.save()
    return 4403


def is_removed(chat, member) -> int:
    members.remove(member, by=chat.owner)
    return 4404


def the_conversation_is_deleted(chat, member) -> int:
    chat.conversation.deleted_at = timezone.now()
    chat.conversation.save()
    return 4404


LOSSES = [logs_out, is_deactivated, loses_the_permission, is_removed, the_conversation_is_deleted]


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
def test_open_socket_is_closed_when_its_person_loses_access(quick_check_server, chat, lose):
    member = chat.add_member("mei", "Member")
    with conversation_page(
        quick_check_server, chat.id, session_headers(quick_check_server, member.user)
    ) as page:
        page.until("ready")
        code = lose(chat, member)
        assert page.close_code() == code


@pytest.mark.parametrize("lose", LOSSES, ids=lambda lose: lose.__name__)
def test_command_after_the_loss_of_access_closes_the_socket_at_once(server, chat, lose):
    member = chat.add_member("mei", "Member")
    with conversation_page(server, chat.id, session_headers(server, member.user)) as page:
        page.until("ready")
        code = lose(chat, member)
        page.send("message", client_id="1", text="One more thing")
        assert page.close_code() == code
    assert "One more thing" not in str(page.frames)


def test_membership_change_makes_the_socket_check_its_access_at_once(server, chat):
    member = chat.add_member("mei", "Member")
    with conversation_page(server, chat.id, session_headers(server, member.user)) as page:
        page.until("ready")
        members.remove(member, by=chat.owner)
        assert page.close_code(15) == 4404  # long before the regular check after 30 seconds


def test_person_can_open_twenty_sockets_and_no_more(server, chat):
    headers = session_headers(server, chat.owner)
    pages = []
    for _ in range(20):
        page = conversation_page(server, chat.id, headers, after=10_000)
        page.__enter__()
        page.until("ready")
        pages.append(page)
    with conversation_page(server, chat.id, headers) as twenty_first:
        assert twenty_first.close_code() == 1013
    pages.pop().__exit__()
    with conversation_page(server, chat.id, headers) as page:
        page.until("ready")
    for page in pages:
        page.__exit__()


def test_project_socket_sends_the_latest_change_of_each_object(server, chat):
    url = f"{server.ws_url}/ws/projects/{chat.world.project.pk}/"
    topic = project_topic(chat.world.project.pk)
    other = make_chat("Quay")
    with Page(url, session_headers(server, chat.owner)) as page:
        page.until("ready")
        get_bus().live(
            project_topic(other.world.project.pk), {"type": "task.changed", "id": "9", "version": 1}
        )
        for version in range(1, 51):
            get_bus().live(topic, {"type": "task.changed", "id": "7", "version": version})
        last = page.until(lambda frame: frame.get("version") == 50)
        assert last == {"type": "task.changed", "id": "7", "version": 50}
    assert all(frame["id"] == "7" for frame in page.frames if frame["type"] == "task.changed")
