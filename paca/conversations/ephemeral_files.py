"""Removes the files of ephemeral sandboxes some time after their conversation was archived."""

from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from paca.agents.models import Agent
from paca.common.best_effort import tolerated
from paca.common.errors import Conflict, NotFound
from paca.conversations import deletion
from paca.conversations.models import Conversation, SandboxState
from paca.conversations.models.statuses import ENDED_STATUSES


def remove_of_archived(*, after_seconds: float) -> int:
    """Have these files removed by the sweep that follows; gives the number of conversations.

    A conversation that was taken back from the archive keeps its files, also if that happens meanwhile.
    """
    removed = 0
    for conversation_id in list(_archived(after_seconds).values_list("pk", flat=True)):
        with tolerated("removal of files of an ephemeral sandbox"):
            removed += _remove(conversation_id, after_seconds)
    return removed


def _archived(after_seconds: float) -> QuerySet[Conversation]:
    """Conversations in the archive for that long whose agent has an ephemeral sandbox, and that have files."""
    rows = Conversation.objects.filter(
        archived_at__lt=timezone.now() - timedelta(seconds=after_seconds),
        files_go=True,
        agent__sandbox_life=Agent.SandboxLife.EPHEMERAL,
        status__in=ENDED_STATUSES,
        deleted_at=None,
        parent=None,
        sandbox__isnull=False,
    )
    return rows.exclude(sandbox__state=SandboxState.FILES_TO_DELETE)


@transaction.atomic
def _remove(conversation_id: UUID, after_seconds: float) -> bool:
    try:
        deletion.lock(Conversation(pk=conversation_id))
        # guard: ephemeral-files-only-of-archived-conversations
        if not _archived(after_seconds).filter(pk=conversation_id).exists():
            return False
        deletion.delete_files(Conversation(pk=conversation_id), by=None)
    except (Conflict, NotFound):  # it was used, or removed by somebody else, a moment ago
        return False
    return True
