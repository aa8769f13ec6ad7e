"""Reads of the notifications of a person, over all their projects."""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import Q, QuerySet

from paca.accounts.models import User
from paca.common.errors import NotFound
from paca.projects import page_addresses, permissions
from paca.projects.models import Member, Notification, SearchEntry, SearchKind


def readable(person: User) -> QuerySet[Notification]:
    """The person's notifications about what they may read now: not of projects that they have left."""
    memberships = list(
        Member.objects.live().filter(user=person, project__deleted_at=None).select_related("role")
    )

    def where(permission: str) -> Q:
        return Q(
            project__in=[
                member.project_id
                for member in memberships
                if permissions.allows(member, permission)
            ]
        )

    tasks = Q(task__isnull=False, task__deleted_at=None) & where("tasks:read")
    docs = Q(task=None, doc__isnull=False, doc__deleted_at=None) & where("docs:read")
    conversations = Q(task=None, doc=None) & where("conversations:read")
    mine = Notification.objects.filter(recipient=person).filter(tasks | docs | conversations)
    return mine.select_related("project", "actor__user", "actor__agent", "task", "doc")


def get(person: User, notification_id: UUID) -> Notification:
    """A notification of the person. Raises ``NotFound`` if they have none of this id."""
    found = readable(person).filter(pk=notification_id).first()
    if found is None:
        raise NotFound
    return found


def count_unread(person: User) -> int:
    """How many notifications the person has not read."""
    return readable(person).filter(read_at=None).count()


def conversation_titles(notifications: Iterable[Notification]) -> dict[UUID, str]:
    """The titles of the conversations that these are about; the search index knows them."""
    wanted = [row.conversation_id for row in notifications if row.conversation_id is not None]
    entries = SearchEntry.objects.filter(kind=SearchKind.CONVERSATION, object_id__in=wanted)
    return dict(entries.values_list("object_id", "title"))


def address_of(notification: Notification) -> str:
    """The address of the page that shows what the notification is about."""
    project_id, comment_id = notification.project_id, notification.comment_id
    if notification.task is not None:
        return page_addresses.of_task(project_id, notification.task.number, comment_id=comment_id)
    if notification.doc_id is not None:
        return page_addresses.of_doc(project_id, notification.doc_id, comment_id=comment_id)
    if notification.conversation_id is not None:
        return page_addresses.of_conversation(project_id, notification.conversation_id)
    return f"/projects/{project_id}/"
