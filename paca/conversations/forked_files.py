"""Which files a fork begins with: those of its origin, as the logs of both tell it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from django.db.models import Q

from paca import events
from paca.conversations import event_log, sandbox_queries
from paca.conversations.models import Conversation, ToolCall
from paca.conversations.models.statuses import ToolCallState
from paca.engine.context.history import FILES_LATER
from paca.engine.tools.base import Effect

NONE, DELETED = "none", "deleted"
MAX_ORIGINS = 100
HIGHEST_SEQ = 2**63 - 1
ORIGIN_DELETED = "the other conversation was deleted before its files were copied"
FILES_DELETED = "the files of the other conversation were deleted before they were copied"
_FILE_EVENTS = (
    events.SandboxStarted.type,
    events.SandboxRemoved.type,
    events.SandboxFilesCopied.type,
    events.ConversationForked.type,
)
_CALL_EVENTS = (
    events.ToolStarted.type,
    events.ToolReturned.type,
    events.ToolOutcomeUnknown.type,
)


@dataclass(frozen=True, slots=True)
class Origin:
    """The conversation whose files a fork gets. ``backend`` and ``volume`` say where they are.

    ``point``: the number that the event of the fork has in its log. ``missing``: why there are no files.
    """

    conversation_id: UUID
    point: int = 0
    backend: str = ""
    volume: str = ""
    missing: str = ""


def files_at(origin: Conversation, seq: int) -> str:
    """Which files a fork of ``origin`` at the event ``seq`` begins with, as ``ConversationForked.files``."""
    if not _had_files(origin.pk, seq):
        return NONE
    if sandbox_queries.with_files(origin.pk) is not None or _waits_for_files(origin.pk):
        return FILES_LATER
    return DELETED


def _had_files(conversation_id: UUID, seq: int) -> bool:
    """Whether there was a workspace at this event: a sandbox had started, or a fork has one that is to come."""
    for event in event_log.backwards(conversation_id, _FILE_EVENTS, upto_seq=seq):
        match event:
            case events.SandboxStarted():
                return True
            case events.SandboxRemoved(kept=kept):
                if not kept:
                    return False
            case events.SandboxFilesCopied(error=error):
                return not error
            case events.ConversationForked(files=files):
                return files == FILES_LATER
    return False


def _fork_event(conversation_id: UUID) -> events.ConversationForked | None:
    """The event by which the conversation itself began, if it is a fork: the newest one of its log."""
    types = (events.ConversationForked.type,)
    newest = next(event_log.backwards(conversation_id, types, upto_seq=HIGHEST_SEQ), None)
    return newest if isinstance(newest, events.ConversationForked) else None


def _waits_for_files(conversation_id: UUID) -> bool:
    """Whether the conversation is a fork whose files are not copied yet."""
    newest = next(event_log.backwards(conversation_id, _FILE_EVENTS, upto_seq=HIGHEST_SEQ), None)
    return isinstance(newest, events.ConversationForked) and newest.files == FILES_LATER


def deleted_origins(conversation: Conversation) -> list[str]:
    """The ids of those conversations which a fork is a copy of, also of a copy, and that are deleted."""
    if conversation.forked_from_id is None:
        return []
    types = (events.ConversationForked.type,)
    named = [
        event.conversation_id
        for _, event in event_log.of_types(conversation.pk, types)
        if isinstance(event, events.ConversationForked)
    ]
    kept = Conversation.objects.filter(pk__in=named, deleted_at=None).values_list("pk", flat=True)
    return sorted(set(named) - {str(pk) for pk in kept})


def find_origin(conversation_id: UUID) -> Origin:
    """Whose files a fork gets now: those of its origin or, if that waits for files itself, of the origin's origin."""
    current, point = conversation_id, 0
    for number in range(MAX_ORIGINS):
        forked = _fork_event(current)
        if forked is None:
            break
        # In the log of an origin the events up to each fork have the same numbers.
        point = forked.seq if number == 0 else min(point, forked.seq)
        current = UUID(forked.conversation_id)
        row = Conversation.objects.filter(pk=current).only("deleted_at").first()
        if row is None or row.deleted_at is not None:
            return Origin(current, missing=ORIGIN_DELETED)
        sandbox = sandbox_queries.with_files(current)
        if sandbox is not None:
            return Origin(current, point, sandbox.backend, sandbox.volume)
        if not _waits_for_files(current):
            break
    return Origin(current, missing=FILES_DELETED)


def commands_since(origin: Origin) -> int:
    """How many commands and edits ran with the files after the point of the fork, or were running at it.

    Calls that only read, and those that do not use the sandbox, are left out.
    """
    ran = {
        event.call_id
        for _, event in event_log.of_types(origin.conversation_id, _CALL_EVENTS, after=origin.point)
        if isinstance(event, events.ToolStarted | events.ToolReturned | events.ToolOutcomeUnknown)
    }
    still_runs = Q(conversation=origin.conversation_id, state=ToolCallState.STARTED)
    calls = ToolCall.objects.filter(Q(pk__in=ran) | still_runs).exclude(boot_id="")
    copied = event_log.of_type(
        origin.conversation_id, events.SandboxFilesCopied, after=origin.point
    )
    return calls.exclude(effect=Effect.READ_ONLY.value).count() + sum(
        each.commands_since for each in copied
    )


def in_words(event: events.SandboxFilesCopied) -> str:
    """What people are told of a copy of files."""
    if event.error:
        return f"The fork goes on without files: {event.error}."
    files = _count(event.files, "file or folder", "files and folders")
    ran = _count(event.commands_since, "command or edit", "commands and edits")
    at = datetime.fromisoformat(event.copied_at).astimezone(UTC)
    said = [
        f"Copied {files} as they were at {at:%H:%M} UTC.",
        f"{ran if event.commands_since else 'No command'} ran there after the point of the fork.",
    ]
    if event.changed:
        said.append(f"Written to during the copy, and perhaps incomplete: {event.changed:,}.")
    if event.skipped:
        said.append(f"Left out, such as sockets: {event.skipped:,}.")
    return " ".join(said)


def _count(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"
