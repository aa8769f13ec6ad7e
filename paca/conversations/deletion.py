"""Deletes conversations, and the files in their sandboxes."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from paca.accounts import audit
from paca.bus import get_bus
from paca.bus.base import project_topic
from paca.common.errors import Conflict, NotFound
from paca.conversations import (
    full_outputs,
    network_use,
    sandbox_lifecycle,
    sandbox_queries,
    services,
)
from paca.conversations.models import (
    BackgroundCommand,
    Blob,
    ChatSession,
    Conversation,
    ConversationBranch,
    Event,
    FileRequest,
    MemoryEntry,
    PersonRequest,
    PushAttempt,
    SandboxState,
    Suggestion,
    Teammate,
    TeamTask,
    Trigger,
)
from paca.conversations.models.statuses import ACTIVE_STATUSES, ENDED_STATUSES
from paca.conversations.services import answers, helpers
from paca.conversations.services.messages import ConversationRunning
from paca.conversations.traces import store as traces
from paca.projects import search_entries
from paca.projects.models import Member
from paca.projects.services import notifications
from paca.projects.tools import access as tool_access


@transaction.atomic
def delete(
    conversation: Conversation, *, by: Member | None, if_unused_since: datetime | None = None
) -> None:
    """Delete log, title, inbox and chat at once. A worker's sweep deletes the sandbox and the files.

    The row, its turns and its calls stay as figures: they hold costs, and nothing that was said. ``by``
    is None for the system. Its helpers are deleted with it. Raises ``IsHelper`` for one of these, and what ``lock``
    raises: the worker of a running turn could store neither the end nor the cost of its calls.
    """
    helpers.refuse_helper(conversation)
    current = lock(conversation, if_unused_since=if_unused_since)
    for helper in _lock_helpers(current):
        _erase(helper, by=by)
    _erase(current, by=by)
    audit.record("conversation.deleted", current, by=by, project_id=current.project_id)
    changed = {"type": "conversation.changed", "id": str(current.pk), "version": current.last_seq}
    topic = project_topic(current.project_id)
    transaction.on_commit(lambda: get_bus().live(topic, changed))


def _lock_helpers(current: Conversation) -> list[Conversation]:
    """The helpers of a locked conversation. Raises ``ConversationRunning`` if one of them still works."""
    found = list(Conversation.objects.filter(parent=current, deleted_at=None).for_update())
    if any(helper.status in ACTIVE_STATUSES for helper in found):
        raise ConversationRunning
    return found


def _erase(current: Conversation, *, by: Member | None) -> None:
    """Delete what was said in one locked conversation."""
    services.stop(current, by=by or audit.SYSTEM)
    ChatSession.objects.filter(conversation=current).delete()
    FileRequest.objects.filter(conversation=current).delete()
    current.deleted_at, current.title, current.detail = timezone.now(), "", ""
    current.rest_approved_by, current.todo, current.plan = "", None, None
    current.background_running = current.branch = current.pr_url = None
    said = ("title", "detail", "rest_approved_by", "todo", "plan", "background_running")
    current.save(update_fields=["deleted_at", "updated_at", *said, "branch", "pr_url"])
    Trigger.objects.filter(conversation=current).delete()
    Suggestion.objects.filter(conversation=current).delete()
    PersonRequest.objects.filter(conversation=current).delete()
    BackgroundCommand.objects.filter(conversation=current).delete()
    ConversationBranch.objects.filter(conversation=current).delete()
    PushAttempt.objects.filter(conversation=current).delete()
    MemoryEntry.objects.filter(conversation=current).update(conversation=None)
    Teammate.objects.filter(Q(lead=current) | Q(conversation=current)).delete()
    TeamTask.objects.filter(lead=current).delete()
    network_use.forget(current.pk)
    _delete_log(current)
    traces.delete_all(current)
    tool_access.forget(current.pk)
    answers.forget(current.pk)
    search_entries.remove_conversation(current.pk)
    notifications.take_back_of_conversation(current.pk)


class NoFiles(Conflict):
    """This conversation has no files in a sandbox."""

    code = "no_workspace"


@transaction.atomic
def delete_files(
    conversation: Conversation, *, by: Member | None, if_unused_since: datetime | None = None
) -> None:
    """Have the files in the sandbox deleted for good, by a worker's sweep or before the next turn.

    The log stays. ``by`` is None for the system. Raises what ``lock`` raises, because commands of a
    running turn use the files, also that of a helper, and ``NoFiles`` if the conversation has no sandbox.
    """
    current = lock(conversation, if_unused_since=if_unused_since)
    # guard: files-that-helpers-use-stay
    _lock_helpers(current)
    if not sandbox_queries.of_conversation(current.pk).exists():
        raise NoFiles
    sandbox_lifecycle.move(current.pk, SandboxState.FILES_TO_DELETE)
    audit.record("conversation.workspace_freed", current, by=by, project_id=current.project_id)


class ConversationUsed(Conflict):
    """This conversation was used a moment ago."""

    code = "conversation_used"


def lock(conversation: Conversation, *, if_unused_since: datetime | None = None) -> Conversation:
    """Lock the chat and then its conversations, as every writer of a chat does; read the conversation.

    The earlier conversations of the chat are locked too, because they lose their chat. Raises
    ``ConversationRunning`` while a turn runs, ``NotFound`` if the conversation is deleted, and
    ``ConversationUsed`` if it has not ended, or was used since ``if_unused_since``.
    """
    chats = ChatSession.objects.select_for_update(no_key=True).filter(conversation=conversation)
    of_chats = Q(session__in=[chat.pk for chat in chats])
    locked = Conversation.objects.filter(of_chats | Q(pk=conversation.pk)).for_update()
    current = next((each for each in locked if each.pk == conversation.pk), None)
    if current is None or current.deleted_at is not None:
        raise NotFound("There is no conversation at this address.")
    if current.status in ACTIVE_STATUSES:
        raise ConversationRunning
    if if_unused_since is not None and (
        current.status not in ENDED_STATUSES or current.last_activity_at >= if_unused_since
    ):
        raise ConversationUsed
    return current


def _delete_log(conversation: Conversation) -> None:
    """Delete the events, full outputs, and the blobs that no other log uses."""
    log = Event.objects.filter(conversation=conversation)
    blobs = list(log.exclude(blob=None).values_list("blob", flat=True).distinct())
    log.delete()
    full_outputs.delete_all(conversation)
    # Locked first: another log that stores one of them now has committed, or waits and stores it again.
    list(Blob.objects.select_for_update().filter(pk__in=blobs).order_by("pk").values_list("pk"))
    used_elsewhere = Event.objects.filter(blob__in=blobs).values("blob")
    Blob.objects.filter(pk__in=blobs).exclude(pk__in=used_elsewhere).delete()
