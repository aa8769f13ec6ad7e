"""The pushes that conversations were about to make: who finds a commit on a branch later knows whose push it may be."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from paca.conversations.models import PushAttempt
from paca.repositories import selectors


@transaction.atomic
def record(conversation_id: UUID, repository_id: UUID, branch: str, commit: str) -> bool:
    """Store that a push of ``commit`` to ``branch`` may follow; False if the repository is no longer linked.

    The row is stored before the push is allowed, so that there is one also of a push whose worker dies. It blocks.
    """
    if not selectors.lock_linked(repository_id):
        return False
    PushAttempt.objects.get_or_create(
        conversation_id=conversation_id,
        repository_id=repository_id,
        branch=branch,
        commit=commit,
    )
    return True


def was_made(conversation_id: UUID, repository_id: UUID, branch: str, commit: str) -> bool:
    """Whether the conversation was about to push exactly this commit to this branch. It blocks."""
    return PushAttempt.objects.filter(
        conversation_id=conversation_id,
        repository_id=repository_id,
        branch=branch,
        commit=commit,
    ).exists()
