"""Stores the traces of model calls, and removes old ones.

They lie in the database and not in files: each process of an installation reads them there, and they go in
the transaction that deletes their conversation. The log stays as small as without them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Length

from paca.agents import encryption
from paca.common.disk_space import require_space
from paca.conversations.models import Conversation, Trace, TracedCall
from paca.conversations.traces import contents as packing
from paca.conversations.traces.contents import Contents
from paca.engine.llm.call_recording import CallRecording
from paca.engine.llm.retrying import Attempt
from paca.events import UsageRecorded

# To read a call, the calls before it are read from the last whole one on.
MAX_CHAIN = 100
# A trace that has grown too large is shortened to this part, so that it is not done at each call.
KEPT_PART = 0.75
# What reading raises if the key is another or a row was changed.
UNREADABLE = (encryption.SecretUnreadable, ValueError, zlib.error, struct.error)


@dataclass(frozen=True, slots=True)
class EndedCall:
    """One attempt that has ended, with what was recorded of it."""

    usage: UsageRecorded
    turn: int
    attempt: Attempt
    recording: CallRecording


@dataclass(frozen=True, slots=True)
class KnownBody:
    """The last body of a trace, as a run remembers it, with the number of its call."""

    number: int = 0
    body: bytes = b""


@transaction.atomic
def store(
    conversation_id: UUID, call: EndedCall, contents: Contents, known: KnownBody
) -> KnownBody:
    """Store the trace of a call; gives what the next one needs. A deleted conversation gets none.

    Raises ``DiskFull``, and database errors: the caller tolerates them.
    """
    require_space(settings.PACA_DATA_DIR)
    trace = _lock(conversation_id)
    # guard: deleted-conversation-gets-no-trace
    if trace is None or TracedCall.objects.filter(call_id=call.usage.call_id).exists():
        return known
    number, key = trace.next_number, encryption.decrypt(trace.encrypted_key)
    base, first_number = _base(trace, known, key)
    if number - first_number >= MAX_CHAIN or not packing.shares_most(contents, base):
        base, first_number = b"", number
    sealed = _seal(packing.pack(contents, base), trace, number, key)
    TracedCall.objects.create(
        trace=trace,
        number=number,
        first_number=first_number,
        contents=sealed,
        **_columns(call, contents),
    )
    trace.next_number, trace.stored_bytes = number + 1, trace.stored_bytes + len(sealed)
    trace.save(update_fields=["next_number", "stored_bytes"])
    # guard: trace-has-a-size-limit
    if trace.stored_bytes > settings.CONVERSATION_TRACE_MIB << 20:
        _shorten(trace)
    return KnownBody(number, packing.last_body([Contents({}, [base]), contents]))


def _columns(call: EndedCall, contents: Contents) -> dict[str, Any]:
    """What a list of calls shows of one."""
    exchanges = contents.facts["exchanges"]
    last = exchanges[-1] if exchanges else {}
    return {
        "call_id": call.usage.call_id,
        "turn": call.turn,
        "attempt": call.usage.attempt,
        "purpose": call.usage.purpose,
        "model": call.usage.model[:200],
        "outcome": call.usage.outcome,
        "asked_at": datetime.fromtimestamp(call.recording.asked_at, UTC),
        "first_byte_seconds": last.get("first_byte_seconds"),
        "first_token_seconds": call.attempt.first_token_seconds,
        "last_byte_seconds": last.get("last_byte_seconds"),
        "http_status": last.get("status"),
        "request_id": contents.request_id,
        "request_bytes": contents.request_bytes,
        "omitted_bytes": contents.omitted_bytes,
    }


def read(traced: TracedCall) -> Contents:
    """The contents of a call. Raises ``SecretUnreadable`` if they cannot be decrypted."""
    trace = traced.trace
    key = encryption.decrypt(trace.encrypted_key)
    _, contents = _read_last(trace, traced.first_number, traced.number, key)
    return contents


def read_all(conversation_id: UUID) -> Iterator[tuple[TracedCall, Contents]]:
    """The calls of a trace in their order, with their contents. One is in memory at a time.

    Raises ``SecretUnreadable`` if they cannot be decrypted.
    """
    trace = Trace.objects.filter(pk=conversation_id).first()
    if trace is None:
        return
    key, base = encryption.decrypt(trace.encrypted_key), b""
    for call in TracedCall.objects.filter(trace=trace).order_by("number").iterator(chunk_size=20):
        whole = call.first_number == call.number
        contents = _open(call.number, bytes(call.contents), b"" if whole else base, trace, key)
        base = packing.last_body([Contents({}, [base]), contents])
        yield call, contents


def delete_all(conversation: Conversation) -> None:
    """Delete the trace of a conversation."""
    rows = Trace.objects.filter(pk=conversation.pk)
    # A call that is being stored waits, or is deleted too. Without the lock its row would outlive the trace.
    # guard: deletion-waits-for-the-trace
    list(rows.select_for_update())
    rows.delete()


@transaction.atomic
def drop_before(conversation_id: UUID, before: datetime) -> bool:
    """Drop the calls of a trace that were asked before a time; gives whether there were any."""
    trace = Trace.objects.select_for_update().filter(pk=conversation_id).first()
    if trace is None:
        return False
    old = TracedCall.objects.filter(trace=trace, asked_at__lt=before).order_by("-number").first()
    if old is None:
        return False
    _drop(trace, upto=old.number)
    if not TracedCall.objects.filter(trace=trace).exists():
        try:
            encryption.decrypt(trace.encrypted_key)
        except encryption.SecretUnreadable:  # a new key is made for the next call
            trace.delete()
    return True


# --- one trace --------------------------------------------------------------------------------------


def _lock(conversation_id: UUID) -> Trace | None:
    """The trace of a conversation, locked; made if there is none. None if the conversation is deleted."""
    traces = Trace.objects.select_for_update()
    if found := traces.filter(pk=conversation_id).first():
        return found
    # The deletion locks this row too, so a trace is made before it and deleted with it, or not at all.
    rows = Conversation.objects.filter(pk=conversation_id, deleted_at=None).for_update()
    conversation = rows.first()
    if conversation is None:
        return None
    key = encryption.encrypt(encryption.new_data_key())
    Trace.objects.get_or_create(conversation=conversation, defaults={"encrypted_key": key})
    return traces.get(pk=conversation_id)


def _base(trace: Trace, known: KnownBody, key: str) -> tuple[bytes, int]:
    """The last body of the trace and the number at which its chain begins; nothing in an empty one."""
    last = TracedCall.objects.filter(trace=trace, number=trace.next_number - 1)
    first_number = last.values_list("first_number", flat=True).first()
    if first_number is None:
        return b"", trace.next_number
    if known.number == trace.next_number - 1:
        return known.body, first_number
    try:
        body, _ = _read_last(trace, first_number, trace.next_number - 1, key)
    except UNREADABLE:  # the next chain needs none of it
        return b"", trace.next_number
    return body, first_number


def _read_last(trace: Trace, first: int, last: int, key: str) -> tuple[bytes, Contents]:
    """The last body of a chain, and the contents of its last call. One call is in memory at a time.

    Raises one of ``UNREADABLE`` if a row of it is missing or was changed.
    """
    rows = TracedCall.objects.filter(trace=trace, number__range=(first, last)).order_by("number")
    base, found = b"", None
    for number, sealed in rows.values_list("number", "contents").iterator(chunk_size=20):
        found = _open(number, bytes(sealed), base, trace, key)
        base = packing.last_body([Contents({}, [base]), found])
    if found is None:
        raise ValueError("There is no such call.")
    return base, found


def _open(number: int, sealed: bytes, base: bytes, trace: Trace, key: str) -> Contents:
    packed = encryption.open_sealed(sealed, data_key=key, label=_label(trace, number))
    return packing.unpack(packed, base)


def _seal(packed: bytes, trace: Trace, number: int, key: str) -> bytes:
    return encryption.seal(packed, data_key=key, label=_label(trace, number))


def _label(trace: Trace, number: int) -> str:
    """What a sealed row belongs to: moved to another place, it cannot be opened."""
    return f"{trace.pk} {number}"


def _shorten(trace: Trace) -> None:
    """Drop the oldest calls until the trace takes clearly less than its limit. The newest one stays."""
    excess = trace.stored_bytes - int(KEPT_PART * (settings.CONVERSATION_TRACE_MIB << 20))
    rows = TracedCall.objects.filter(trace=trace).order_by("number")
    upto = 0
    for number, size in rows.values_list("number", Length("contents")):
        if excess <= 0 or number == trace.next_number - 1:
            break
        upto, excess = number, excess - size
    if upto:
        _drop(trace, upto=upto)


def _drop(trace: Trace, *, upto: int) -> None:
    """Delete the calls up to a number. The next one, which may need them, is stored whole before.

    If it cannot be read any more, as without its encryption key, the calls that need the deleted ones go too.
    """
    rows = TracedCall.objects.filter(trace=trace)
    following = rows.filter(number__gt=upto).order_by("number").first()
    # guard: trace-survives-the-loss-of-its-beginning
    if following is not None and following.first_number <= upto:
        try:
            _begin_chain_with(following, trace)
        except UNREADABLE:
            broken = rows.filter(first_number=following.first_number).order_by("-number")
            upto = broken.values_list("number", flat=True)[0]
    dropped, _ = rows.filter(number__lte=upto).delete()
    kept = rows.annotate(size=Length("contents")).values_list("size", flat=True)
    Trace.objects.filter(pk=trace.pk).update(
        stored_bytes=sum(kept), dropped_calls=F("dropped_calls") + dropped
    )


def _begin_chain_with(call: TracedCall, trace: Trace) -> None:
    """Store a call whole, so that it needs none before it. Raises one of ``UNREADABLE``."""
    key = encryption.decrypt(trace.encrypted_key)
    _, contents = _read_last(trace, call.first_number, call.number, key)
    former, begin = call.first_number, call.number
    call.contents = _seal(packing.pack(contents, b""), trace, begin, key)
    call.save(update_fields=["contents"])
    later = TracedCall.objects.filter(trace=trace, first_number=former, number__gte=begin)
    later.update(first_number=begin)


def with_calls_before(before: datetime) -> QuerySet[Conversation]:
    """The conversations with traces of calls that were asked before a time."""
    return Conversation.objects.filter(Q(trace__calls__asked_at__lt=before)).distinct()
