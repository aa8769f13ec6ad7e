"""Stores the files that people upload in the workspace of a conversation."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from paca import events
from paca.common import disk_space
from paca.common.errors import NotFound
from paca.conversations import file_requests, store
from paca.conversations.models import Conversation, FileRequest, FileRequestState
from paca.conversations.services import files
from paca.projects.models import Member
from paca.sandbox.files.names import safe_part

STORE_SECONDS = 300.0  # for the parts of a file
PART_BYTES = 256 * 1024
MIB = 1 << 20


def upload(
    conversation: Conversation, *, name: str, folder: str, data: Iterable[bytes], by: Member
) -> dict[str, Any]:
    """Store a file in the folder of the workspace; gives its path and size.

    Raises what ``files.ask`` raises, and ``FilesUnavailable`` where the answer of the sandbox is none.
    A file that exists keeps its name and content. The sandbox is started if there is none. The log tells of the file
    after it is stored: a process that dies before has stored a file that the next list shows.
    """
    disk_space.require_space(settings.PACA_DATA_DIR)
    arguments = {"name": safe_part(name), "folder": folder}
    with files.place_to_wait():
        request = begin(conversation, arguments, data)
        try:
            path = files.wait(request).get("path")
        finally:
            files.delete(request.pk)
    # guard: answers-to-uploads-are-checked
    if not isinstance(path, str) or not path:
        raise files.FilesUnavailable(files.MISFIT)
    path, size = path[: files.MAX_PATH], int(request.arguments["size"])
    told = events.FileChanged(path=path, change="uploaded", size=size, by=by.name)
    with suppress(NotFound):  # the conversation was deleted meanwhile
        store.append(conversation.pk, told)
    return {"path": path, "size": size}


def begin(
    conversation: Conversation, arguments: dict[str, Any], data: Iterable[bytes]
) -> FileRequest:
    """Write a request with the bytes of a file. Workers see it when all of them are stored.

    Each part is stored by itself: on SQLite nobody else writes during a transaction. Raises what ``files.begin``
    raises, and ``WorkspaceFileTooLarge``.
    """
    streaming = FileRequestState.STREAMING
    request = files.add_row(conversation, "upload", arguments, streaming, STORE_SECONDS)
    try:
        size = _store_parts(request, data)
        _give_to_workers(request, size)
    except BaseException:
        files.delete(request.pk)
        raise
    return request


def _give_to_workers(request: FileRequest, size: int) -> None:
    now = timezone.now()
    request.arguments = {**request.arguments, "size": size}
    request.state = FileRequestState.WAITING
    request.created_at, request.expires_at = now, now + timedelta(seconds=files.ANSWER_SECONDS)
    columns = ("arguments", "state", "created_at", "expires_at")
    changes = {column: getattr(request, column) for column in columns}
    with transaction.atomic():
        if not FileRequest.objects.filter(pk=request.pk).update(**changes):
            raise NotFound
        files.tell_workers(request)


def _store_parts(request: FileRequest, data: Iterable[bytes]) -> int:
    """Store the bytes in parts; gives how many there are. Raises ``WorkspaceFileTooLarge`` and ``NotFound``."""
    size = 0
    for number, piece in enumerate(_in_parts(data)):
        size += len(piece)
        # guard: uploads-are-bounded
        if size > settings.WORKSPACE_UPLOAD_MIB * MIB:
            raise files.WorkspaceFileTooLarge(
                f"A file has at most {settings.WORKSPACE_UPLOAD_MIB} MiB."
            )
        if not file_requests.add_part(request, number, piece):
            raise NotFound  # it was deleted meanwhile, with its conversation
    return size


def _in_parts(data: Iterable[bytes]) -> Iterable[bytes]:
    waiting = bytearray()
    for piece in data:
        waiting += piece
        while len(waiting) >= PART_BYTES:
            yield bytes(waiting[:PART_BYTES])
            del waiting[:PART_BYTES]
    if waiting:
        yield bytes(waiting)
