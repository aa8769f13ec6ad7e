"""Requests for the files of a conversation's sandbox.

A web server cannot reach a sandbox. It writes a row and a hint; a worker takes the row, asks the program inside the sandbox,
and writes the answer. If that worker ends, another one takes the request: reading changes nothing, and an upload that is
repeated finds its own file. At its time limit a request ends, and its row is deleted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from paca import events
from paca.bus import get_bus
from paca.bus.base import Signal
from paca.common import clock, database_threads
from paca.common.errors import Conflict, Invalid, NotFound, PacaError
from paca.conversations import event_log, sandbox_queries
from paca.conversations.models import (
    Conversation,
    FileRequest,
    FileRequestState,
    SandboxState,
)
from paca.engine.context.history import FILES_LATER
from paca.engine.workspace import WorkspaceError
from paca.sandbox.files import client

MAX_OPEN, MAX_OPEN_OF_CONVERSATION = 48, 12
# A request that waits has a thread and a connection. The other half is for pages that wait for no sandbox.
MAX_WAITING_HERE = database_threads.PAGES // 2
ANSWER_SECONDS = 45.0
TAKE_SECONDS = 15.0
FIRST_LOOK_SECONDS, LOOK_SECONDS = 0.005, 0.025
HIGHEST_SEQ = 2**63 - 1
MAX_PATH = 4096
WRITES = ("upload",)


class FilesUnavailable(PacaError):
    """The files cannot be reached now. Try again in a moment."""

    code = "files_unavailable"
    status = 503


class FilesBusy(PacaError):
    """Too many requests for files wait already. Try again in a few seconds."""

    code = "files_busy"
    status = 503


class NoWorkspace(Conflict):
    """This conversation has no files: its agent has not used its sandbox yet, or the files were removed."""

    code = "no_files_yet"


class WorkspaceIsFull(Conflict):
    """The workspace of the sandbox is full. Delete files in it, or have the agent delete some."""

    code = "workspace_full"


class WorkspaceFileTooLarge(PacaError):
    """The file is too large for this."""

    code = "workspace_file_too_large"
    status = 413


NO_WORKER = "No worker has answered within {:g} seconds. Look whether one runs (manage.py doctor tells), then try again."
MISFIT = "The sandbox gave an answer that does not fit. Try again."
LATE = "The answer has taken too long. Try again; if the sandbox has much to do, wait until the agent has ended."


_places = threading.BoundedSemaphore(MAX_WAITING_HERE)


@contextmanager
def place_to_wait() -> Iterator[None]:
    """One of the threads of this process that may wait for files. Raises ``FilesBusy``."""
    # guard: waiting-for-files-leaves-threads-for-pages
    if not _places.acquire(blocking=False):
        raise FilesBusy
    try:
        yield
    finally:
        _places.release()


def ask(conversation: Conversation, op: str, **arguments: Any) -> dict[str, Any]:
    """The answer of the sandbox to one request. The row is gone afterwards.

    Raises ``NoWorkspace``, ``FilesBusy``, ``FilesUnavailable``, and the error of the request.
    """
    with place_to_wait():
        request = begin(conversation, op, arguments)
        try:
            return wait(request)
        finally:
            delete(request.pk)


def begin(
    conversation: Conversation,
    op: str,
    arguments: dict[str, Any],
    *,
    seconds: float = ANSWER_SECONDS,
) -> FileRequest:
    """Write a request, and tell the workers. Raises ``NoWorkspace`` and ``FilesBusy``."""
    with transaction.atomic():
        request = add_row(conversation, op, arguments, FileRequestState.WAITING, seconds)
        tell_workers(request)
    return request


@transaction.atomic
def add_row(
    conversation: Conversation,
    op: str,
    arguments: dict[str, Any],
    state: FileRequestState,
    seconds: float,
) -> FileRequest:
    """The row of a request, of which no worker is told yet. Raises ``NoWorkspace`` and ``FilesBusy``."""
    owner = conversation.parent_id or conversation.pk
    _require_workspace(owner, starts=op in WRITES)
    _require_room(owner)
    now = timezone.now()
    return FileRequest.objects.create(
        conversation_id=owner,
        op=op,
        arguments=arguments,
        state=state,
        created_at=now,
        expires_at=now + timedelta(seconds=seconds),
    )


def tell_workers(request: FileRequest) -> None:
    """Have a worker take the request as soon as this commits."""
    transaction.on_commit(lambda: get_bus().signal(request.conversation_id, Signal.FILES))


def _require_workspace(owner: UUID, *, starts: bool) -> None:
    row = sandbox_queries.of_conversation(owner).first()
    if row is not None and row.state == SandboxState.FILES_TO_DELETE:
        raise NoWorkspace("The files of this conversation are being removed.")
    if row is not None:
        return
    if not starts:
        raise NoWorkspace
    # guard: upload-does-not-start-the-sandbox-of-a-fork
    if _waits_for_files(owner):
        raise NoWorkspace(
            "The files of this fork are copied when its agent first works. Send it a message first."
        )


def _waits_for_files(conversation_id: UUID) -> bool:
    types = (events.ConversationForked.type, events.SandboxFilesCopied.type)
    newest = next(event_log.backwards(conversation_id, types, upto_seq=HIGHEST_SEQ), None)
    return isinstance(newest, events.ConversationForked) and newest.files == FILES_LATER


def _require_room(owner: UUID) -> None:
    """Raises ``FilesBusy`` if too many requests wait or are answered. A few more may slip in at once."""
    living = FileRequest.objects.filter(expires_at__gt=timezone.now()).order_by()
    # guard: file-requests-are-bounded
    if living.filter(conversation=owner).count() >= MAX_OPEN_OF_CONVERSATION:
        raise FilesBusy
    if living.count() >= MAX_OPEN:
        raise FilesBusy


# --- waiting ----------------------------------------------------------------------------------------


def wait(request: FileRequest) -> dict[str, Any]:
    """Wait for the first answer. It blocks, so it is for a thread. Raises ``FilesUnavailable``, and the error of the request."""
    began = untaken_since = clock.monotonic()
    pause = FIRST_LOOK_SECONDS
    limit = min(ANSWER_SECONDS, (request.expires_at - request.created_at).total_seconds())
    while True:
        found = FileRequest.objects.filter(pk=request.pk).first()
        answer = _answer(found)
        if answer is not None:
            return answer
        now = clock.monotonic()
        if found is not None and found.state != FileRequestState.WAITING:
            untaken_since = now  # a worker that ends hands it back
        # guard: a-file-request-ends-at-its-limit
        if now - untaken_since > TAKE_SECONDS:
            raise FilesUnavailable(NO_WORKER.format(TAKE_SECONDS))
        if now - began > limit:
            raise FilesUnavailable(LATE)
        time.sleep(pause)
        pause = min(2 * pause, LOOK_SECONDS)


def _answer(found: FileRequest | None) -> dict[str, Any] | None:
    """The answer of a request; None while there is none."""
    if found is None:
        raise FilesUnavailable(LATE)
    if found.state == FileRequestState.FAILED:
        raise error_of(found.error_code, found.error_detail)
    if found.state == FileRequestState.DONE and found.answer is None:
        return _unpacked(found)
    if found.state in (FileRequestState.STREAMING, FileRequestState.DONE):
        return found.answer if isinstance(found.answer, dict) else {}
    return None


def _unpacked(found: FileRequest) -> dict[str, Any]:
    packed = found.parts.filter(number=0).values_list("data", flat=True).first()
    try:
        return client.unpack(bytes(packed or b""))
    except WorkspaceError as error:
        raise FilesUnavailable(error.detail) from error


def error_of(code: str, detail: str) -> PacaError:
    """The error of a request as the API answers it."""
    match code:
        case "no_such_file":
            return NotFound(detail or "There is no such file.")
        case "outside_workspace" | "not_a_file":
            return Invalid(fields={"path": [detail]})
        case "file_too_large":
            return WorkspaceFileTooLarge(detail)
        case "workspace_full":
            return WorkspaceIsFull(detail)
        case "no_files_yet":
            return NoWorkspace(detail)
    return FilesUnavailable(detail)


def delete(request_id: UUID) -> None:
    """Delete the row of a request, with its parts."""
    FileRequest.objects.filter(pk=request_id).delete()


def cloned_commits(conversation_id: UUID) -> dict[str, str]:
    """The commits that repositories were cloned at, by their path in the workspace, as the log tells it."""
    types = (events.RepositoryCloned.type,)
    found: dict[str, str] = {}
    for event in event_log.backwards(conversation_id, types, upto_seq=HIGHEST_SEQ):
        if isinstance(event, events.RepositoryCloned) and event.commit:
            found.setdefault(event.path or event.repository, event.commit)
    return found


def copied_at(conversation_id: UUID) -> float:
    """When the files of a fork were copied, in seconds since 1970; 0 for a conversation that began with none."""
    types = (events.SandboxFilesCopied.type,)
    newest = next(event_log.backwards(conversation_id, types, upto_seq=HIGHEST_SEQ), None)
    if not isinstance(newest, events.SandboxFilesCopied) or newest.error:
        return 0.0
    return datetime.fromisoformat(newest.copied_at).timestamp()
