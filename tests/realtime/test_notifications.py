"""Notifications reach the pages of their person, of whichever project these are, and no other page."""

from paca.bus import get_bus
from paca.bus.base import project_topic
from paca.projects.models import NotificationKind
from paca.projects.services import members, notifications, tasks
from tests.realtime.pages import Page, make_chat, session_headers


def test_notification_is_told_on_each_page_of_its_person_only(server, chat):
    elsewhere = make_chat("Quay")
    bob = chat.add_member("bob", "member")
    members.add_person(
        elsewhere.world.project,
        user=bob.user,
        role=elsewhere.world.role("viewer"),
        by=elsewhere.owner,
    )
    task = tasks.create(chat.world.project, title="Paint", by=chat.world.owner)
    projects = chat.world.project, elsewhere.world.project
    here, there = (f"{server.ws_url}/ws/projects/{project.pk}/" for project in projects)
    with (
        Page(there, session_headers(server, bob.user)) as page_of_bob,
        Page(here, session_headers(server, chat.owner)) as page_of_another,
    ):
        page_of_bob.until("ready")
        page_of_another.until("ready")
        told = notifications.tell(bob, NotificationKind.ASSIGNED, key="a", task=task)
        assert told is not None
        frame = page_of_bob.until("notification.changed")
        assert frame == {"type": "notification.changed", "id": str(told.pk), "version": 0}
        # The bus keeps the order of one sender: after this nothing of before can come.
        last = {"type": "task.changed", "id": "1", "version": 0}
        get_bus().live(project_topic(chat.world.project.pk), last)
        page_of_another.until("task.changed")
    assert "notification.changed" not in [frame["type"] for frame in page_of_another.frames]
