"""Downloads of files and archives: the bytes come in parts, which are deleted as they are read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import F

from paca.common import clock
from paca.conversations.models import Conversation, FileRequest, FileRequestPart, FileRequestState
from paca.conversations.services import files

SILENT_SECONDS = 40.0  # of a worker that sends parts


@dataclass(frozen=True, slots=True)
class Begun:
    """A download and its first answer, ``head``. ``data`` are all its bytes, if they are few; the row is deleted then."""

    request: FileRequest
    head: dict[str, Any]
    data: bytes | None = None


def begin(
    conversation: Conversation, op: str, arguments: dict[str, Any], *, in_memory: int = 0
) -> Begun:
    """Ask for something that comes in parts. Up to ``in_memory`` bytes are read here: a sandbox that sends them slowly
    holds no thread that pages need. Raises what ``files.ask`` raises.
    """
    with files.place_to_wait():
        request = files.begin(conversation, op, arguments)
        try:
            head = files.wait(request)
            size = head.get("size")
            if isinstance(size, int) and size <= in_memory:
                return Begun(request, head, read_small(request, size))
            return Begun(request, head)
        except BaseException:
            files.delete(request.pk)
            raise


async def read_parts(request_id: UUID) -> AsyncIterator[bytes]:
    """The parts of a download in their order, as they come; the row is deleted at the end, also if the reader goes away.

    Raises ``FilesUnavailable`` if the worker falls silent, so that the client sees that the file is not whole.
    """
    number, came, pause = 0, clock.monotonic(), files.FIRST_LOOK_SECONDS
    take, delete = sync_to_async(take_part), sync_to_async(files.delete)
    try:
        while True:
            data, is_last = await take(request_id, number)
            if data is not None:
                number, came, pause = number + 1, clock.monotonic(), files.FIRST_LOOK_SECONDS
                yield data
            elif is_last:
                return
            elif clock.monotonic() - came > SILENT_SECONDS:
                raise files.FilesUnavailable(files.LATE)
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, files.LOOK_SECONDS)
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
                raise files.FilesUnavailable(files.LATE)
            else:
                time.sleep(files.LOOK_SECONDS)
    finally:
        files.delete(request.pk)
    if len(data) != size:
        raise files.FilesUnavailable(files.LATE)
    return bytes(data)


def take_part(request_id: UUID, number: int) -> tuple[bytes | None, bool]:
    """The part of this number, which is deleted, or None; and whether no more come.

    Raises ``FilesUnavailable``, and the error of the request.
    """
    # The state first: the worker writes it after the last part.
    found = FileRequest.objects.filter(pk=request_id).first()
    if found is None:
        raise files.FilesUnavailable(files.LATE)
    part = FileRequestPart.objects.filter(request=request_id, number=number).first()
    if part is not None:
        with transaction.atomic():
            part.delete()
            FileRequest.objects.filter(pk=request_id).update(read_parts=F("read_parts") + 1)
        return bytes(part.data), False
    if found.state == FileRequestState.FAILED:
        raise files.error_of(found.error_code, found.error_detail)
    return None, found.state == FileRequestState.DONE
