"""The end of a turn, as the task or doc shows it: the answer becomes a comment, a suggestion or a part of a doc.

Everything here runs in the transaction that ends the turn. A turn ends once, so its comment is posted
once: a process that dies before the commit has posted nothing, and the turn is carried on.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from paca.conversations import event_log
from paca.conversations.models import (
    REPORTED_TYPES,
    Conversation,
    Trigger,
    TriggerType,
    Turn,
    TurnStatus,
)
from paca.conversations.services import (
    background,
    inbox,
    suggestions,
    thread_comments,
)
from paca.projects.models import Comment, Doc, KeyedWrite, Member, NotificationKind, Task
from paca.projects.services import notifications

_ANSWER_KEY = "answer:"


def publish(
    conversation_id: UUID, turn: int, *, status: str, reason: str, goes_on: bool = False
) -> None:
    """Tell the task or doc that the turn has ended.

    The answer to an assignment, a mention or a check-in becomes a comment of the agent; that to a check-in which
    reports to a doc is appended there. The answer to a request for a description becomes a suggestion. A turn that is paused or failed says so in a comment, unless the
    conversation ``goes_on`` at once. The caller has locked the conversation.
    """
    related = ("agent", "task__project", "doc__project", "triggered_by__user", "triggered_by__role")
    current = Conversation.objects.select_related(*related).get(pk=conversation_id)
    subject = current.subject
    if subject is None or subject.deleted_at is not None:
        return
    answered = status == TurnStatus.FINISHED
    if current.trigger_type == TriggerType.DESCRIPTION_WRITE:
        if answered and current.task is not None:
            text = event_log.final_answer(conversation_id, turn)
            suggestions.store(current, current.task, text, turn=turn)
        return
    requests = _open_requests(current, turn)
    member = Member.objects.live().with_names().filter(agent=current.agent).first()
    if not requests or member is None:
        return
    if not goes_on:
        _tell_people(current, requests, member=member, turn=turn, status=status)
    text = (
        _unsaid_answer(current, subject, member, turn)
        if answered
        else ("" if goes_on else _notice(current, status, reason))
    )
    if text:
        is_report = answered and current.trigger_type == TriggerType.CHECK_IN
        _post_once(
            current,
            subject,
            text,
            member=member,
            turn=turn,
            requests=requests,
            is_report=is_report,
        )


def _unsaid_answer(current: Conversation, subject: Task | Doc, member: Member, turn: int) -> str:
    """The final answer of the turn; empty if the agent itself has commented with it."""
    text = event_log.final_answer(current.pk, turn)
    return "" if _is_said(current, subject, member, text, turn) else text


def forget(conversation_id: UUID) -> None:
    """Delete the notes that answers of a conversation were posted. None of its turns ends any more."""
    KeyedWrite.objects.filter(key__startswith=f"{_ANSWER_KEY}{conversation_id}:").delete()


# What the people are told who gave the work. A stop tells nothing: a person stopped it.
NOTIFIED = {
    TurnStatus.FINISHED: NotificationKind.FINISHED,
    TurnStatus.PAUSED: NotificationKind.QUESTION,
    TurnStatus.FAILED: NotificationKind.FAILED,
}


def _tell_people(
    current: Conversation, requests: Sequence[Trigger], *, member: Member, turn: int, status: str
) -> None:
    """Notify the people whose requests the turn answers, or leaves open because it cannot go on."""
    kind = NOTIFIED.get(TurnStatus(status))
    if kind is None:
        return
    askers = {trigger.comment.author for trigger in requests if trigger.comment is not None}
    if current.triggered_by is not None and any(t.comment is None for t in requests):
        askers.add(current.triggered_by)
    for asker in sorted(askers, key=lambda each: str(each.pk)):
        notifications.tell(
            asker,
            kind,
            key=f"turn:{current.pk}:{turn}",
            actor=member,
            task=current.task,
            doc=current.doc,
            conversation_id=current.pk,
        )


def _post_once(
    current: Conversation,
    subject: Task | Doc,
    text: str,
    *,
    member: Member,
    turn: int,
    requests: Sequence[Trigger],
    is_report: bool,
) -> None:
    key = f"{_ANSWER_KEY}{current.pk}:{turn}"
    # guard: answer-posted-once
    if KeyedWrite.objects.filter(pk=key).exists():
        return
    if is_report and isinstance(subject, Doc):
        heading = f"{current.title}, {timezone.now():%Y-%m-%d %H:%M} UTC"
        posted = thread_comments.append(
            subject, text, heading=heading, by=member, conversation_id=current.pk
        )
    else:
        mentions = [trigger.comment for trigger in requests if trigger.comment is not None]
        posted = thread_comments.post(
            subject,
            text,
            by=member,
            answers=mentions[-1] if mentions else None,
            conversation_id=current.pk,
        )
    KeyedWrite.objects.create(key=key, project_id=current.project_id, result=posted)


def _open_requests(current: Conversation, turn: int) -> list[Trigger]:
    """The assignments, mentions and check-ins that no earlier turn has answered, the oldest first.

    A turn that is paused, failed or interrupted leaves them to the next one. A stop ends them, also one
    that comes when the turn has paused.
    """
    closed = Turn.objects.filter(conversation=current, number__lt=turn).filter(
        Q(status=TurnStatus.FINISHED) | Q(status=TurnStatus.STOPPED) & ~Q(reason="interrupted")
    )
    answered = closed.order_by("-number").values_list("number", flat=True).first() or 0
    # guard: stopped-requests-stay-closed
    last = max(answered, event_log.last_stopped_turn(current.pk))
    # What came of a background command or a review is told where the answer was that began it.
    reports = current.trigger_type in REPORTED_TYPES
    kinds = (*REPORTED_TYPES, background.WAKE, inbox.REVIEW) if reports else REPORTED_TYPES
    found = Trigger.objects.filter(
        conversation=current, kind__in=kinds, turn__gt=last, turn__lte=turn
    )
    return list(
        found.select_related(
            "comment__parent", "comment__author__user", "comment__author__role"
        ).order_by("event_seq")
    )


def _is_said(
    current: Conversation, subject: Task | Doc, member: Member, text: str, turn: int
) -> bool:
    """Whether the agent itself has commented with this text in the turn."""
    about = {"task": subject} if isinstance(subject, Task) else {"doc": subject}
    started_at = Turn.objects.get(conversation=current, number=turn).started_at
    own = Comment.objects.live().filter(
        author=member, conversation_id=current.pk, created_at__gte=started_at, **about
    )
    return any(found.strip() == text.strip() for found in own.values_list("text", flat=True))


def _notice(current: Conversation, status: str, reason: str) -> str:
    """One sentence that tells why the agent does not go on; empty if a person stopped it."""
    if status == TurnStatus.STOPPED:
        return ""
    verb = "has failed" if status == TurnStatus.FAILED else "is paused"
    why = reason.replace("_", " ")
    address = reverse("conversation", args=[current.project_id, current.pk])
    return f"My work on this {verb} ({why}); [the conversation]({address}) says how it can go on."
