"""Deleting a conversation: nobody sees it any more, and what was said in it is gone."""

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from paca.accounts import audit
from paca.bus import get_bus
from paca.bus.base import project_topic
from paca.common.errors import Conflict, NotFound
from paca.conversations import sandbox_lifecycle, sandbox_queries, services
from paca.conversations.models import (
    Blob,
    ChatSession,
    Conversation,
    Event,
    SandboxState,
    Trigger,
)
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.projects.models import Member


class ConversationRunning(Conflict):
    """The agent is at work in this conversation. Stop it first."""

    code = "conversation_running"


@transaction.atomic
def delete(conversation: Conversation, *, by: Member) -> None:
    """Remove log, title and inbox at once; the worker's sweep removes sandbox and files.

    The row, its turns and calls stay as figures: they hold what was spent, not what was said.
    Refused while it runs: the worker could book neither the end nor the cost of what is under way.
    """
    current = _locked(conversation)
    if current.status in ACTIVE_STATUSES:
        raise ConversationRunning
    services.stop(current, by=by)
    ChatSession.objects.filter(conversation=current).delete()
    current.deleted_at, current.title, current.detail = timezone.now(), "", ""
    current.save(update_fields=["deleted_at", "title", "detail", "updated_at"])
    Trigger.objects.filter(conversation=current).delete()
    _forget_log(current)
    audit.record("conversation.deleted", current, by=by, project_id=current.project_id)
    changed = {"type": "conversation.changed", "id": str(current.pk), "version": current.last_seq}
    topic = project_topic(current.project_id)
    transaction.on_commit(lambda: get_bus().live(topic, changed))


class NoFiles(Conflict):
    """This conversation has no files in a sandbox."""

    code = "no_workspace"


@transaction.atomic
def delete_files(conversation: Conversation, *, by: Member) -> None:
    """Have the files in its sandbox removed for good, by the worker's sweep, or by the next turn before
    it begins anew. All that was said stays. Refused while it runs: its commands are at work on them.
    """
    current = _locked(conversation)
    if current.status in ACTIVE_STATUSES:
        raise ConversationRunning
    if not sandbox_queries.of_conversation(current.pk).exists():
        raise NoFiles
    sandbox_lifecycle.move(current.pk, SandboxState.FREEING)
    audit.record("conversation.workspace_freed", current, by=by, project_id=current.project_id)


def _locked(conversation: Conversation) -> Conversation:
    """The row as it is now, held; before it its chat, in the order of those who write in a chat.

    With it those which the chat had before: they lose their chat.
    """
    chats = ChatSession.objects.select_for_update(no_key=True).filter(conversation=conversation)
    of_chats = Q(session__in=[chat.pk for chat in chats])
    held = Conversation.objects.filter(of_chats | Q(pk=conversation.pk)).for_update()
    current = next((each for each in held if each.pk == conversation.pk), None)
    if current is None or current.deleted_at is not None:
        raise NotFound("There is no conversation at this address.")
    return current


def _forget_log(conversation: Conversation) -> None:
    """The log's rows, and the bodies that no other log holds."""
    log = Event.objects.filter(conversation=conversation)
    blobs = list(log.exclude(blob=None).values_list("blob", flat=True).distinct())
    log.delete()
    # Held first: a log that stores one of them at this moment has done so, or waits and stores it anew.
    list(Blob.objects.select_for_update().filter(pk__in=blobs).order_by("pk").values_list("pk"))
    held_elsewhere = Event.objects.filter(blob__in=blobs).values("blob")
    Blob.objects.filter(pk__in=blobs).exclude(pk__in=held_elsewhere).delete()
