"""Services for comments on tasks and docs."""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone

from paca.common import validation
from paca.common.errors import Invalid, NotAllowed, NotFound
from paca.common.text import to_storable
from paca.projects import search_entries, signals
from paca.projects.mentions import find_handles
from paca.projects.models import Comment, CommentVersion, Doc, Member, Mention, Task
from paca.projects.services import notifications

# Each list of comments shows all their versions.
MAX_VERSIONS = 50


@transaction.atomic
def add(
    target: Task | Doc,
    *,
    text: str,
    by: Member,
    parent: Comment | None = None,
    conversation_id: UUID | None = None,
) -> Comment:
    """Comment on a task or a doc. Each member that the text mentions is told, except its author.

    Threads have one level: an answer to an answer joins the thread of the first comment.
    ``conversation_id`` names the conversation whose agent writes it; by default the one that ``by`` acts in.

    Raises ``NotFound`` if the task or doc is deleted, and ``Invalid`` if the text is empty or too long,
    or if ``parent`` stands on something else.
    """
    if target.deleted_at is not None:
        raise NotFound("What this comments on is deleted.")
    comment = Comment(
        project_id=target.project_id,
        task=target if isinstance(target, Task) else None,
        doc=target if isinstance(target, Doc) else None,
        parent=_thread_of(parent, target),
        author=by,
        text=to_storable(text).strip(),
        conversation_id=conversation_id or by.acting_in,
    )
    validation.check(comment)
    comment.save(force_insert=True)
    _store_mentions(comment, by=by)
    _publish(comment)
    return comment


@transaction.atomic
def edit(comment: Comment, *, text: str, by: Member) -> Comment:
    """Replace the text. The former one stays as a version. The same text changes nothing.

    A member that only the new text mentions is told; one that any earlier text mentioned is not told
    again. Raises ``NotAllowed`` if another member wrote the comment, ``NotFound`` if it is deleted, and
    ``Invalid`` if the text is empty or too long, or was edited too often.
    """
    current = _lock(comment)
    # guard: comment-is-edited-by-its-author
    if current.author_id != by.pk:
        raise NotAllowed("Only its author can edit a comment.")
    former, current.text = current.text, to_storable(text).strip()
    if current.text == former:
        return current
    validation.check(current)
    number = current.versions.count() + 1
    # guard: comment-is-edited-so-often
    if number > MAX_VERSIONS:
        raise Invalid(
            fields={"text": [f"This was edited {MAX_VERSIONS} times. Write another comment."]}
        )
    CommentVersion.objects.create(comment=current, number=number, text=former)
    current.edited_at = timezone.now()
    current.save(update_fields=["text", "edited_at", "updated_at"])
    _store_mentions(current, by=by)
    _publish(current)
    return current


@transaction.atomic
def delete(comment: Comment, *, by: Member) -> None:
    """Delete the comment, its text and its earlier texts, for good. Answers to it stay in their thread.

    The caller checks that ``by`` wrote it or may delete comments of others. Raises ``NotFound`` if it is
    deleted already.
    """
    current = _lock(comment)
    current.versions.all().delete()
    current.text, current.deleted_at = "", timezone.now()
    current.save(update_fields=["text", "deleted_at", "updated_at"])
    notifications.take_back(current)
    _publish(current)


@transaction.atomic
def confirm_mention(comment: Comment, member: Member) -> bool:
    """Whether the present text still mentions the agent, before it starts; False if the comment is deleted.

    ``comment`` gets the present text. A mention that was edited away is forgotten, so that one in a later
    text counts. The comment is locked until the commit, so that no edit is missed.
    """
    try:
        current = _lock(comment)
    except NotFound:
        return False
    comment.text = current.text
    if member in _mentioned_members(current):
        return True
    current.mentions.filter(member=member).delete()
    return False


def _lock(comment: Comment) -> Comment:
    found = (
        Comment.objects.live()
        .select_for_update(of=("self",), no_key=True)
        .select_related("task", "doc", "author__user", "author__agent")
    )
    try:
        return found.get(pk=comment.pk)
    except Comment.DoesNotExist:
        raise NotFound("This comment is deleted.") from None


def _thread_of(parent: Comment | None, target: Task | Doc) -> Comment | None:
    if parent is None:
        return None
    if target.pk not in (parent.task_id, parent.doc_id):
        raise Invalid(fields={"parent": ["This comment stands on something else."]})
    return parent.parent or parent


def _store_mentions(comment: Comment, *, by: Member) -> None:
    """Store the members that the text mentions for the first time, and tell them."""
    known = set(comment.mentions.values_list("member_id", flat=True))
    for member in _mentioned_members(comment):
        # guard: comment-mention-counts-once
        if member.pk in known or member.pk == comment.author_id:
            continue
        Mention.objects.create(comment=comment, member=member)
        notifications.tell_mentioned(comment, member=member)
        # ``by`` and not the row's author: only it knows the conversation in which an agent acts.
        signals.member_mentioned.send(sender=Comment, comment=comment, member=member, by=by)


def _mentioned_members(comment: Comment) -> list[Member]:
    """The live members whose handles the text names, in the order in which it names them."""
    handles = find_handles(comment.text)
    if not handles:
        return []
    members = (
        Member.objects.live()
        .with_names()
        .annotate(username=Lower("user__username"))
        .filter(Q(username__in=handles) | Q(agent__handle__in=handles))
        .filter(project_id=comment.project_id)
    )
    # A handle belongs to one member. Should a renamed person have that of an agent, it is the person's.
    by_handle: dict[str, Member] = {}
    for member in sorted(members, key=lambda each: each.kind == Member.Kind.HUMAN):
        by_handle[member.handle.lower()] = member
    return [by_handle[handle] for handle in handles if handle in by_handle]


def _publish(comment: Comment) -> None:
    """Bring the search index up to date and tell open pages."""
    search_entries.put(comment)
    about: dict[str, Any] = (
        {"task": comment.task.number} if comment.task else {"doc": str(comment.doc_id)}
    )
    signals.project_changed.send(
        sender=Comment, project_id=comment.project_id, noun="comment", id=comment.pk, facts=about
    )
