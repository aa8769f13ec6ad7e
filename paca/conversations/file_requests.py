"""The rows of requests for files, as workers take and answer them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from paca import events
from paca.bus import get_bus
from paca.bus.base import Signal
from paca.common.errors import NotFound
from paca.conversations import sandbox_lifecycle, sandbox_queries, store
from paca.conversations.models import (
    Conversation,
    FileRequest,
    FileRequestPart,
    FileRequestState,
    SandboxState,
    Worker,
)

MAX_UNREAD_PARTS = 16
STREAM_SECONDS = 1800.0
ENDED = "The worker that sent this has ended. Try again."
OPEN = (FileRequestState.TAKEN, FileRequestState.STREAMING)


def take(
    worker: str,
    *,
    ops: tuple[str, ...],
    at_most: int,
    each: int | None = None,
    busy: Iterable[UUID] = (),
) -> list[FileRequest]:
    """Take the oldest requests of these kinds. Each goes to one worker.

    ``busy`` are the conversations of those that this worker answers now. With them a conversation has no more than
    ``each``: a sandbox that does not answer takes no place from the others.
    """
    found: list[FileRequest] = []
    taken = Counter(busy)
    for request in _waiting().filter(op__in=ops).order_by("created_at", "pk"):
        if len(found) >= at_most:
            break
        # guard: one-conversation-takes-not-all-places
        if each is not None and taken[request.conversation_id] >= each:
            continue
        mine = FileRequest.objects.filter(pk=request.pk, state=FileRequestState.WAITING)
        # guard: one-worker-answers-a-file-request
        if mine.update(state=FileRequestState.TAKEN, worker=worker):
            request.state, request.worker = FileRequestState.TAKEN, worker
            found.append(request)
            taken[request.conversation_id] += 1
    return found


def _waiting() -> QuerySet[FileRequest]:
    return FileRequest.objects.filter(state=FileRequestState.WAITING, expires_at__gt=timezone.now())


def delete_expired() -> int:
    """Delete the requests for which nobody waits any more; gives their number."""
    return FileRequest.objects.filter(expires_at__lte=timezone.now()).delete()[0]


def _mine(request: FileRequest) -> QuerySet[FileRequest]:
    """The row of a request for as long as its worker answers it: once it is handed back, it is that of another one."""
    # guard: file-request-is-answered-by-its-worker-only
    return FileRequest.objects.filter(pk=request.pk, worker=request.worker, state__in=OPEN)


def answer(request: FileRequest, value: dict[str, Any], *, more: bool = False) -> bool:
    """Store the answer. With ``more`` parts follow. False if nobody waits for it any more."""
    changes: dict[str, Any] = {"answer": value, "state": FileRequestState.DONE}
    if more:
        until = timezone.now() + timedelta(seconds=STREAM_SECONDS)
        changes |= {"state": FileRequestState.STREAMING, "expires_at": until}
    return bool(_mine(request).update(**changes))


@transaction.atomic
def answer_packed(request: FileRequest, packed: bytes) -> None:
    """Store an answer as the sandbox has packed it. It is unpacked where it is read."""
    if _mine(request).update(state=FileRequestState.DONE):
        FileRequestPart.objects.create(request=request, number=0, data=packed)


def fail(request: FileRequest, code: str, detail: str) -> None:
    """Store the error that ends a request."""
    _mine(request).update(state=FileRequestState.FAILED, error_code=code, error_detail=detail)


def hand_back(request: FileRequest) -> None:
    """Leave a request to another worker. One of which the reader has a part already ends with an error: nobody sends the rest.

    To carry a request out twice changes nothing: an upload finds its own file.
    """
    taken = _mine(request).filter(state=FileRequestState.TAKEN)
    # guard: worker-that-ends-hands-its-file-requests-back
    if taken.update(state=FileRequestState.WAITING, worker=""):
        get_bus().signal(request.conversation_id, Signal.FILES)
    else:
        fail(request, "files_unavailable", ENDED)


def hand_back_of_dead_workers(asking: str) -> int:
    """Leave the requests of workers that are not registered any more to another one; gives their number.

    ``asking`` is the worker that asks: it is alive, whatever the register says of it.
    """
    taken = FileRequest.objects.filter(state__in=OPEN).exclude(worker__in=("", asking))
    lost = list(taken.exclude(worker__in=Worker.objects.values("id")))
    for request in lost:
        hand_back(request)
    return len(lost)


@transaction.atomic
def add_part(request: FileRequest, number: int, data: bytes) -> bool:
    """Store the next part of a download or an upload; False if nobody waits for it any more."""
    rows = _mine(request).filter(state=FileRequestState.STREAMING)
    if not rows.select_for_update(of=("self",)).exists():
        return False
    FileRequestPart.objects.create(request=request, number=number, data=data)
    return True


def unread_parts(request: FileRequest) -> int | None:
    """How many parts wait for the reader; None if it has gone."""
    if not _mine(request).exists():
        return None
    return FileRequestPart.objects.filter(request=request).count()


def finish(request: FileRequest) -> None:
    """Say that every part is stored."""
    rows = _mine(request).filter(state=FileRequestState.STREAMING)
    rows.update(state=FileRequestState.DONE)


def part(request_id: UUID, number: int) -> bytes | None:
    """One part of an upload; None after the last one."""
    rows = FileRequestPart.objects.filter(request=request_id, number=number)
    data = rows.values_list("data", flat=True).first()
    return None if data is None else bytes(data)


def record_opened(
    conversation_id: UUID, *, backend: str, boot_id: str, seconds: float, resumed: bool
) -> None:
    """Record that a sandbox was started or resumed for a request, unless the log tells it already: then a run of the
    conversation is not kept waiting for that."""
    if _is_told(conversation_id, boot_id):
        sandbox_lifecycle.record_use(conversation_id)
    else:
        _record_new(conversation_id, backend, boot_id, seconds, resumed=resumed)


def _is_told(conversation_id: UUID, boot_id: str) -> bool:
    row = sandbox_queries.of_conversation(conversation_id).first()
    return row is not None and row.boot_id == boot_id and row.state == SandboxState.RUNNING


@transaction.atomic
def _record_new(
    conversation_id: UUID, backend: str, boot_id: str, seconds: float, *, resumed: bool
) -> None:
    list(Conversation.objects.filter(pk=conversation_id).for_update())
    row = sandbox_queries.of_conversation(conversation_id).first()
    event: events.Event
    if _is_told(conversation_id, boot_id):
        sandbox_lifecycle.record_use(conversation_id)
        return
    if resumed and row is not None and row.boot_id == boot_id:
        event = events.SandboxResumed(boot_id=boot_id, seconds=seconds)
    else:
        event = events.SandboxStarted(backend=backend, boot_id=boot_id, seconds=seconds)
    try:
        store.append(conversation_id, event)
    except NotFound:  # it was deleted a moment ago
        return
    sandbox_lifecycle.record_use(conversation_id)
