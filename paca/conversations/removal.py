"""Deleting a conversation: nobody sees it any more, and what was said in it is gone."""

from django.db import transaction
from django.utils import timezone

from paca.accounts import audit
from paca.bus import get_bus
from paca.bus.base import project_topic
from paca.common.errors import Conflict, NotFound
from paca.conversations import services
from paca.conversations.models import Blob, ChatSession, Conversation, Event, Trigger
from paca.conversations.models.conversation import HELD
from paca.projects.models import Member


class ConversationRunning(Conflict):
    """The agent is at work in this conversation. Stop it first, then delete it."""

    code = "conversation_running"


@transaction.atomic
def delete(conversation: Conversation, *, by: Member) -> None:
    """Remove log, title and inbox at once; the worker's sweep removes sandbox and files.

    The row, its turns and calls stay as figures: they hold what was spent, not what was said.
    Refused while it runs: the worker could book neither the end nor the cost of what is under way.
    """
    current = _locked(conversation)
    if current.status in HELD:
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


def _locked(conversation: Conversation) -> Conversation:
    """The row as it is now, held; its chat before it, in the order of those who write in a chat."""
    list(ChatSession.objects.select_for_update().filter(conversation=conversation))
    found = Conversation.objects.select_for_update().filter(pk=conversation.pk, deleted_at=None)
    current = found.first()
    if current is None:
        raise NotFound("There is no conversation at this address.")
    return current


def _forget_log(conversation: Conversation) -> None:
    """The log's rows, and the bodies that no other log holds."""
    log = Event.objects.filter(conversation=conversation)
    blobs = list(log.exclude(blob=None).values_list("blob", flat=True).distinct())
    log.delete()
    held_elsewhere = Event.objects.filter(blob__in=blobs).values("blob")
    Blob.objects.filter(pk__in=blobs).exclude(pk__in=held_elsewhere).delete()
