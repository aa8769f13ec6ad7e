"""Full outputs of tool calls: written by the worker part by part, read by people as a file.

The log has the head and tail of a long output, as the model sees them. The file with all of it lies in
the sandbox, where no person comes, and goes with it.
"""

import zlib
from collections.abc import Iterator
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F

from paca.common.disk_space import require_space
from paca.common.errors import NotFound
from paca.conversations.export import ExportFile, write_file
from paca.conversations.models import (
    Conversation,
    Event,
    FullOutput,
    FullOutputPart,
    ToolCall,
)
from paca.events import ToolStarted

PART_BYTES = 4 << 20
MAX_BYTES = 50 << 20  # as much as the runner writes to its file


def begin(call_id: UUID) -> None:
    """Begin to store the output of a call. An earlier beginning of a worker that died is dropped.

    Raises ``DiskFull``, and ``IntegrityError`` if there is no such call.
    """
    require_space(settings.PACA_DATA_DIR)
    with transaction.atomic():
        FullOutput.objects.filter(pk=call_id).delete()
        FullOutput.objects.create(call_id=call_id)


def add_part(call_id: UUID, number: int, data: bytes) -> None:
    """Store a part. Raises ``IntegrityError`` if another worker has begun again."""
    packed = zlib.compress(data, 1)
    with transaction.atomic():
        FullOutputPart.objects.create(output_id=call_id, number=number, data=packed)
        FullOutput.objects.filter(pk=call_id).update(stored_bytes=F("stored_bytes") + len(packed))


@transaction.atomic
def finish(call_id: UUID, *, size_bytes: int) -> bool:
    """Say that every part is stored, and drop the oldest outputs of the conversation above the limit.

    Gives whether this one is kept: alone it may be larger than the limit.
    """
    FullOutput.objects.filter(pk=call_id).update(size_bytes=size_bytes)
    kept = FullOutput.objects.filter(call__conversation__tool_calls=call_id).order_by("-created_at")
    total, dropped = 0, []
    for output_id, stored in kept.values_list("pk", "stored_bytes"):
        total += stored
        if total > settings.CONVERSATION_OUTPUT_MIB << 20:
            dropped.append(output_id)
    FullOutput.objects.filter(pk__in=dropped).delete()
    return call_id not in dropped


def delete_all(conversation: Conversation) -> None:
    """Delete the full outputs of a conversation."""
    FullOutput.objects.filter(call__conversation=conversation).delete()


def to_file(conversation: Conversation, call_id: UUID) -> ExportFile:
    """The full output of a call in the log of this conversation as a text file. A fork has calls of its origin.

    Raises ``NotFound`` if it is not kept: it was short, too much followed it, it was never whole, or the
    conversation that made the call is deleted.
    """
    kept = FullOutput.objects.filter(
        pk=call_id, call__conversation__project=conversation.project_id, size_bytes__isnull=False
    )
    found = kept.select_related("call").first()
    # guard: full-output-of-the-log
    if found is None or not _is_in_log(conversation, found.call):
        raise NotFound("The full output of this call is not kept.")
    name = f"output-{found.call_id.hex[:12]}.txt"
    written = write_file(_parts(found), name, "text/plain; charset=utf-8")
    # It was dropped meanwhile, or a worker that was taken for dead has finished what another began again.
    # guard: full-output-is-whole
    if written.size != found.size_bytes:
        written.file.close()
        raise NotFound("The full output of this call is not kept.")
    return written


def _is_in_log(conversation: Conversation, call: ToolCall) -> bool:
    """Whether the conversation made the call, or began with a copy of a log in which it has started."""
    if call.conversation_id == conversation.pk:
        return True
    started = Event.objects.filter(conversation=conversation, type=ToolStarted.type)
    return (
        conversation.forked_from_id is not None
        and started.filter(payload__contains=call.pk.hex).exists()
    )


def _parts(output: FullOutput) -> Iterator[bytes]:
    """The parts in order, one in memory at a time."""
    number = 0
    while packed := output.parts.filter(number=number).values_list("data", flat=True).first():
        yield zlib.decompress(packed)
        number += 1
