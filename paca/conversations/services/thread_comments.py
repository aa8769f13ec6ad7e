"""What the server writes for an agent on a task or doc: its answers, its refusals and what ended its work."""

from __future__ import annotations

import logging
from uuid import UUID

from django.db import DataError, IntegrityError, transaction

from paca.common.errors import PacaError
from paca.projects.models import ActivityKind, Comment, Doc, Member, Task
from paca.projects.models.comment import MAX_COMMENT_CHARACTERS
from paca.projects.permissions import allows
from paca.projects.services import comments, docs, timeline

logger = logging.getLogger(__name__)

CUT_NOTE = "\n\n(The answer goes on in the conversation.)"


def post(
    subject: Task | Doc,
    text: str,
    *,
    by: Member,
    answers: Comment | None,
    conversation_id: UUID | None = None,
) -> str:
    """Comment as the agent, in the thread of the comment that it ``answers``; gives the comment's id.

    The permission is asked here, because no view or tool stands before this: if the agent's role does
    not allow to comment, the timeline says so, and the result is empty. So it is if the comment is
    refused: a comment never keeps a turn from its end.
    """
    needed = "tasks:write" if isinstance(subject, Task) else "docs:write"
    if not allows(by, needed):
        why = f"Its role does not allow to comment here; that needs {needed}."
        _withhold(subject, why, by=by, conversation_id=conversation_id)
        return ""
    by.acting_in = conversation_id
    try:
        with transaction.atomic():
            comment = comments.add(
                subject,
                text=_fitting(text),
                by=by,
                parent=_thread_of(answers),
                conversation_id=conversation_id,
            )
    except (PacaError, IntegrityError, DataError) as error:
        logger.exception("comment of an agent refused", extra={"member": str(by.pk)})
        why = error.detail if isinstance(error, PacaError) else "The comment could not be stored."
        _withhold(subject, why, by=by, conversation_id=conversation_id)
        return ""
    return str(comment.pk)


def append(doc: Doc, text: str, *, heading: str, by: Member, conversation_id: UUID) -> str:
    """Append a report of the agent to a doc, under a heading; gives the doc's id.

    As for a comment, the permission is asked here, and a refusal is said on the timeline.
    """
    if not allows(by, "docs:write"):
        why = "Its role does not allow to write this doc; that needs docs:write."
        _withhold(doc, why, by=by, conversation_id=conversation_id)
        return ""
    by.acting_in = conversation_id
    try:
        with transaction.atomic():
            docs.append(doc, text=f"## {heading}\n\n{text.strip()}", by=by)
    except (PacaError, IntegrityError, DataError) as error:
        logger.exception("report of an agent refused", extra={"member": str(by.pk)})
        why = error.detail if isinstance(error, PacaError) else "The report could not be stored."
        _withhold(doc, why, by=by, conversation_id=conversation_id)
        return ""
    return str(doc.pk)


def _withhold(subject: Task | Doc, why: str, *, by: Member, conversation_id: UUID | None) -> None:
    timeline.record(
        subject,
        ActivityKind.AGENT_COMMENT_WITHHELD,
        actor=by,
        changes=[{"field": "comment", "old": None, "new": why}],
        conversation_id=conversation_id,
    )


def _thread_of(comment: Comment | None) -> Comment | None:
    if comment is None:
        return None
    first = comment.parent or comment
    return None if first.deleted_at is not None else first


def _fitting(text: str) -> str:
    if len(text) <= MAX_COMMENT_CHARACTERS:
        return text
    return text[: MAX_COMMENT_CHARACTERS - len(CUT_NOTE)] + CUT_NOTE
