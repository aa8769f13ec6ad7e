"""Services for the notifications of people."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from paca.accounts.models import User
from paca.bus import get_bus
from paca.bus.base import person_topic
from paca.projects import permissions
from paca.projects.models import (
    Comment,
    Doc,
    Member,
    Notification,
    NotificationKind,
    Task,
    TaskAssignee,
)


@transaction.atomic
def tell(
    recipient: Member,
    kind: NotificationKind,
    *,
    key: str,
    actor: Member | None = None,
    task: Task | None = None,
    doc: Doc | None = None,
    comment: Comment | None = None,
    conversation_id: UUID | None = None,
) -> Notification | None:
    """Notify a person of something about a task, a doc or a conversation, once for each ``key``.

    Gives None, and tells nothing, if the recipient is an agent, is removed or may not read what it is
    about, if they did it themselves, or if they were told before.
    """
    # guard: notification-of-what-one-may-read
    if not _may_be_told(recipient, actor, reads=_permission_to_read(task, doc)):
        return None
    assert recipient.user_id is not None  # guaranteed by member_is_one_human_or_one_agent
    notification, is_new = Notification.objects.get_or_create(
        recipient_id=recipient.user_id,
        key=key,
        defaults={
            "project_id": recipient.project_id,
            "kind": kind,
            "actor": actor,
            "task": task,
            "doc": doc,
            "comment": comment,
            "conversation_id": conversation_id,
        },
    )
    if not is_new:
        return None
    _tell_pages(recipient.user_id, str(notification.pk))
    return notification


def tell_assigned(task: Task, *, member: Member, by: Member | None) -> Notification | None:
    """Notify a person that a task was assigned to them; once for each assignment."""
    if member.user_id is None:
        return None  # an agent gets a trigger instead
    assignment = TaskAssignee.objects.filter(task=task, member=member).first()
    if assignment is None:
        return None
    key = f"assigned:{assignment.pk}"
    return tell(member, NotificationKind.ASSIGNED, key=key, actor=by, task=task)


def tell_mentioned(comment: Comment, *, member: Member) -> Notification | None:
    """Notify a person that a comment mentions them; once for each comment."""
    return tell(
        member,
        NotificationKind.MENTIONED,
        key=f"mentioned:{comment.pk}",
        actor=comment.author,
        task=comment.task,
        doc=comment.doc,
        comment=comment,
    )


@transaction.atomic
def mark_read(notifications: Iterable[Notification], *, by: User) -> int:
    """Mark notifications of the person as read; gives how many were unread."""
    keys = [notification.pk for notification in notifications]
    unread = Notification.objects.filter(recipient=by, pk__in=keys, read_at=None)
    return _mark_read(unread, by, str(keys[0]) if len(keys) == 1 else "all")


@transaction.atomic
def mark_all_read(*, by: User) -> int:
    """Mark all notifications of the person as read; gives how many were unread."""
    return _mark_read(Notification.objects.filter(recipient=by, read_at=None), by, "all")


def settle(key: str) -> None:
    """Mark the notifications of this key as read, for everybody: the matter is settled.

    In the caller's transaction.
    """
    told = Notification.objects.filter(key=key)
    told.filter(read_at=None).update(read_at=timezone.now(), updated_at=timezone.now())
    for user_id in told.values_list("recipient_id", flat=True):
        _tell_pages(user_id, "all")


def take_back(comment: Comment) -> None:
    """Delete the unread notifications of a comment that is deleted, in the caller's transaction."""
    unread = Notification.objects.filter(comment=comment, read_at=None)
    for user_id in set(unread.values_list("recipient_id", flat=True)):
        _tell_pages(user_id, "all")
    unread.delete()


def take_back_of_conversation(conversation_id: UUID) -> None:
    """Delete the notifications about a conversation that is deleted, in the caller's transaction."""
    about = Notification.objects.filter(conversation_id=conversation_id, task=None, doc=None)
    for user_id in set(about.values_list("recipient_id", flat=True)):
        _tell_pages(user_id, "all")
    about.delete()


def _mark_read(unread: Any, person: User, key: str) -> int:
    changed: int = unread.update(read_at=timezone.now(), updated_at=timezone.now())
    if changed:
        _tell_pages(person.pk, key)
    return changed


def _may_be_told(recipient: Member, actor: Member | None, *, reads: str) -> bool:
    if recipient.user is None or not recipient.user.is_active:
        return False
    if actor is not None and actor.pk == recipient.pk:
        return False
    return permissions.allows(recipient, reads)


def _permission_to_read(task: Task | None, doc: Doc | None) -> str:
    if task is not None:
        return "tasks:read"
    return "conversations:read" if doc is None else "docs:read"


def _tell_pages(user_id: UUID, key: str) -> None:
    """Tell the open pages of the person, of whichever project they are."""
    frame = {"type": "notification.changed", "id": key, "version": 0}
    transaction.on_commit(lambda: get_bus().live(person_topic(user_id), frame))
