"""Requests for the files of a conversation's sandbox.

A web server cannot reach a sandbox. It writes a row and a hint; a worker takes the row, asks the program inside the sandbox,
and writes the answer. If that worker dies, nobody answers: the request ends at its time limit, its row is deleted, and a
repeat is a new request. Reading changes nothing, and an upload that is repeated finds its own file.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from paca import events
from paca.bus import get_bus
from paca.bus.base import Signal
from paca.common import clock, disk_space
from paca.common.errors import Conflict, Invalid, NotFound, PacaError
from paca.conversations import event_log, sandbox_queries, store
from paca.conversations.models import (
    Conversation,
    FileRequest,
    FileRequestPart,
    FileRequestState,
    SandboxState,
)
from paca.engine.context.history import FILES_LATER
from paca.engine.workspace import WorkspaceError
from paca.projects.models import Member
from paca.sandbox.files import client
from paca.sandbox.files.names import safe_part

MAX_OPEN, MAX_OPEN_OF_CONVERSATION = 48, 12
ANSWER_SECONDS = 45.0
TAKE_SECONDS = 15.0
STREAM_SECONDS = 1800.0
SILENT_SECONDS = 40.0  # of a worker that sends parts
FIRST_LOOK_SECONDS, LOOK_SECONDS = 0.005, 0.025
PART_BYTES = 256 * 1024
MIB = 1 << 20
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
LATE = "The answer has taken too long. Try again; if the sandbox has much to do, wait until the agent has ended."


def ask(conversation: Conversation, op: str, **arguments: Any) -> dict[str, Any]:
    """The answer of the sandbox to one request. The row is gone afterwards.

    Raises ``NoWorkspace``, ``FilesBusy``, ``FilesUnavailable``, and the error of the request.
    """
    request = begin(conversation, op, arguments)
    try:
        return wait(request)
    finally:
        FileRequest.objects.filter(pk=request.pk).delete()


def upload(
    conversation: Conversation, *, name: str, folder: str, data: Iterable[bytes], by: Member
) -> dict[str, Any]:
    """Store a file in the folder of the workspace; gives its path and size. Raises what ``ask`` raises.

    A file that exists keeps its name and content. The sandbox is started if there is none. The log tells of the file
    after it is stored: a process that dies before has stored a file that the next list shows.
    """
    disk_space.require_space(settings.PACA_DATA_DIR)
    arguments = {"name": safe_part(name), "folder": folder}
    request = begin(conversation, "upload", arguments, data=data)
    try:
        found = wait(request)
    finally:
        FileRequest.objects.filter(pk=request.pk).delete()
    path, size = str(found.get("path", ""))[:MAX_PATH], int(found.get("size", 0))
    told = events.FileChanged(path=path, change="uploaded", size=size, by=by.name)
    with suppress(NotFound):  # the conversation was deleted meanwhile
        store.append(conversation.pk, told)
    return {"path": path, "size": size}


@transaction.atomic
def begin(
    conversation: Conversation,
    op: str,
    arguments: dict[str, Any],
    *,
    seconds: float = ANSWER_SECONDS,
    data: Iterable[bytes] = (),
) -> FileRequest:
    """Write a request, with the bytes of an upload, and tell the workers. Raises ``NoWorkspace`` and ``FilesBusy``."""
    owner = conversation.parent_id or conversation.pk
    _require_workspace(owner, starts=op in WRITES)
    _require_room(owner)
    now = timezone.now()
    request = FileRequest.objects.create(
        conversation_id=owner,
        op=op,
        arguments=arguments,
        created_at=now,
        expires_at=now + timedelta(seconds=seconds),
    )
    if op == "upload":
        _store_upload(request, data)
    transaction.on_commit(lambda: get_bus().signal(owner, Signal.FILES))
    return request


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


def _store_upload(request: FileRequest, data: Iterable[bytes]) -> None:
    size = number = 0
    for number, piece in enumerate(_in_parts(data)):
        size += len(piece)
        # guard: uploads-are-bounded
        if size > settings.WORKSPACE_UPLOAD_MIB * MIB:
            raise WorkspaceFileTooLarge(f"A file has at most {settings.WORKSPACE_UPLOAD_MIB} MiB.")
        FileRequestPart.objects.create(request=request, number=number, data=piece)
    request.arguments = {**request.arguments, "size": size}
    request.save(update_fields=["arguments"])


def _in_parts(data: Iterable[bytes]) -> Iterable[bytes]:
    waiting = bytearray()
    for piece in data:
        waiting += piece
        while len(waiting) >= PART_BYTES:
            yield bytes(waiting[:PART_BYTES])
            del waiting[:PART_BYTES]
    if waiting:
        yield bytes(waiting)


# --- waiting ----------------------------------------------------------------------------------------


def wait(request: FileRequest) -> dict[str, Any]:
    """Wait for the first answer. It blocks, so it is for a thread. Raises ``FilesUnavailable``, and the error of the request."""
    began, pause = clock.monotonic(), FIRST_LOOK_SECONDS
    limit = min(ANSWER_SECONDS, (request.expires_at - request.created_at).total_seconds())
    while True:
        found = FileRequest.objects.filter(pk=request.pk).first()
        answer = _answer(found)
        if answer is not None:
            return answer
        waited = clock.monotonic() - began
        # guard: a-file-request-ends-at-its-limit
        if found is not None and found.state == FileRequestState.WAITING and waited > TAKE_SECONDS:
            raise FilesUnavailable(NO_WORKER.format(TAKE_SECONDS))
        if waited > limit:
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


async def read_parts(request_id: UUID) -> AsyncIterator[bytes]:
    """The parts of a download in their order, as they come; the row is deleted at the end, also if the reader goes away.

    Raises ``FilesUnavailable`` if the worker falls silent, so that the client sees that the file is not whole.
    """
    number, came, pause = 0, clock.monotonic(), FIRST_LOOK_SECONDS
    take, delete = sync_to_async(take_part), sync_to_async(_delete)
    try:
        while True:
            data, is_last = await take(request_id, number)
            if data is not None:
                number, came, pause = number + 1, clock.monotonic(), FIRST_LOOK_SECONDS
                yield data
            elif is_last:
                return
            elif clock.monotonic() - came > SILENT_SECONDS:
                raise FilesUnavailable(LATE)
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LOOK_SECONDS)
    finally:
        await delete(request_id)


def read_small(request: FileRequest, size: int) -> bytes:
    """All bytes of a small download. It blocks, so it is for a thread. Raises ``FilesUnavailable``."""
    data, number, began = bytearray(), 0, clock.monotonic()
    try:
        while True:
            part, is_last = take_part(request.pk, number)
            if part is not None:
                data += part
                number += 1
            elif is_last:
                break
            elif clock.monotonic() - began > SILENT_SECONDS:
                raise FilesUnavailable(LATE)
            else:
                time.sleep(LOOK_SECONDS)
    finally:
        _delete(request.pk)
    if len(data) != size:
        raise FilesUnavailable(LATE)
    return bytes(data)


def take_part(request_id: UUID, number: int) -> tuple[bytes | None, bool]:
    """The part of this number, which is deleted, or None; and whether no more come.

    Raises ``FilesUnavailable``, and the error of the request.
    """
    # The state first: the worker writes it after the last part.
    found = FileRequest.objects.filter(pk=request_id).first()
    if found is None:
        raise FilesUnavailable(LATE)
    part = FileRequestPart.objects.filter(request=request_id, number=number).first()
    if part is not None:
        with transaction.atomic():
            part.delete()
            FileRequest.objects.filter(pk=request_id).update(read_parts=F("read_parts") + 1)
        return bytes(part.data), False
    if found.state == FileRequestState.FAILED:
        raise error_of(found.error_code, found.error_detail)
    return None, found.state == FileRequestState.DONE


def _delete(request_id: UUID) -> None:
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
