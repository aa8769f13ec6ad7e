"""The admin's page of refused entries: reasons, retry and drop, for those who may, in the audit trail."""

import re

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from paca.accounts.models import AuditEntry, User
from paca.bus.redis import names
from tests.support.valkey_server import running

pytestmark = [pytest.mark.django_db, pytest.mark.service]

PAGE = "/admin/conversations/trigger/refused/"
FIELDS = {"type": "agent.chat_message", "message": "<b>Grüß</b> dich"}
REASON = "agent_id is no agent of the project that project_id names."


@pytest.fixture(scope="module")
def server():
    with running() as found:
        yield found


@pytest.fixture
def program(server, settings):
    server.wipe()
    settings.REDIS_URL = server.url
    with server.client() as client:
        yield client


def refuse(program, **more: str) -> str:
    return program.xadd(
        names.DEAD_TRIGGERS, {**FIELDS, "reason": REASON, "entry_id": "7-0", **more}
    )


def staff(*permissions: str) -> Client:
    user = User.objects.create_user("clerk", password="a long password 7", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def press(client: Client, command: str, *entries: str) -> str:
    return client.post(PAGE, {"command": command, "entry": entries}, follow=True).content.decode()


def test_refused_entries_are_listed_with_their_reason_and_fields(admin_client, program):
    assert "data-empty" in admin_client.get(PAGE).content.decode()
    dead = refuse(program)
    page = admin_client.get(PAGE).content.decode()
    assert f'data-entry="{dead}"' in page
    assert REASON in page
    assert "entry 7-0" in page
    assert "&lt;b&gt;Grüß" in page
    assert PAGE in admin_client.get("/admin/").content.decode()
    assert PAGE in admin_client.get("/admin/conversations/trigger/").content.decode()


def test_refused_entries_are_shown_page_by_page(admin_client, program):
    entries = [refuse(program) for _ in range(60)]
    first = admin_client.get(PAGE).content.decode()
    (older,) = re.findall(r'href="(\?before=[\d-]+)"', first)
    second = admin_client.get(PAGE + older).content.decode()
    shown = [re.findall(r'data-entry="([\d-]+)"', page) for page in (first, second)]
    assert shown[0] + shown[1] == entries[::-1]


def test_refused_entry_that_is_retried_goes_to_the_workers_as_it_was(admin_client, program):
    dead = refuse(program)
    assert "1 entry given to the workers again" in press(admin_client, "retry", dead)
    assert program.xlen(names.DEAD_TRIGGERS) == 0
    ((_, again),) = program.xrange(names.TRIGGERS)
    assert again == {**FIELDS, "first_entry_id": "7-0"}
    written = AuditEntry.objects.get(action="trigger.retried")
    assert (written.object_id, written.actor_name, written.facts["reason"]) == (
        dead,
        "admin",
        REASON,
    )


def test_refused_entry_that_is_dropped_leaves_no_text(admin_client, program):
    kept, dropped = refuse(program), refuse(program)
    assert "1 entry dropped" in press(admin_client, "drop", dropped)
    assert [each for each, _ in program.xrange(names.DEAD_TRIGGERS)] == [kept]
    written = AuditEntry.objects.get(action="trigger.dropped")
    assert "Grüß" not in str(written.facts)


def test_refused_entry_that_is_gone_or_was_cut_is_not_retried(admin_client, program):
    cut = refuse(program, cut="message")
    assert "This entry is gone" in press(admin_client, "retry", "1-1")
    assert "too large to have been kept whole" in press(admin_client, "retry", cut)
    assert program.xlen(names.TRIGGERS) == 0
    assert program.xlen(names.DEAD_TRIGGERS) == 1
    assert not AuditEntry.objects.filter(action__startswith="trigger.").exists()


def test_refused_entries_ask_for_a_selection(admin_client, program):
    refuse(program)
    assert "Select at least one entry" in press(admin_client, "drop")
    assert "Choose retry or drop" in press(admin_client, "dance")


def test_refused_entries_can_be_changed_only_with_the_permission(program):
    dead = refuse(program)
    assert Client().get(PAGE).status_code == 302
    reader = staff("view_trigger")
    page = reader.get(PAGE).content.decode()
    assert REASON in page
    assert 'value="retry"' not in page
    for command in ("retry", "drop"):
        assert reader.post(PAGE, {"command": command, "entry": dead}).status_code == 403
    assert program.xlen(names.DEAD_TRIGGERS) == 1


def test_refused_entries_are_closed_to_staff_without_the_permission(program):
    assert staff("view_conversation").get(PAGE).status_code == 403


def test_refused_entries_say_that_redis_does_not_answer(admin_client, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    page = admin_client.get(PAGE).content.decode()
    assert "Redis does not do this" in page
    assert "data-empty" not in page
    assert "unknown" in admin_client.get("/admin/").content.decode()
    assert "Nothing was changed" in press(admin_client, "drop", "1-1")
