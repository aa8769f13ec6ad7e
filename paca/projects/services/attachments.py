"""Services for the files attached to tasks."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator

from django.conf import settings
from django.db import transaction
from django.db.models import Sum

from paca.common import disk_space
from paca.common.errors import Invalid, PacaError
from paca.common.text import to_storable
from paca.projects import signals
from paca.projects.models import ActivityKind, Attachment, AttachmentPart, Member, Task
from paca.projects.services import tasks, timeline

PART_BYTES = 256 * 1024
MAX_NAME_CHARACTERS = 200
MIB = 1024 * 1024
UNKNOWN_TYPE = "application/octet-stream"
# A media type as RFC 6838 writes it, without parameters.
MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,49}/[a-z0-9][a-z0-9!#$&^_.+-]{0,48}")


class AttachmentTooLarge(PacaError):
    """The file is too large to attach."""

    code = "attachment_too_large"
    status = 413


class AttachmentsFull(PacaError):
    """The task has no more room for files; delete one first."""

    code = "attachments_full"
    status = 413


@transaction.atomic
def add(
    task: Task, *, name: str, content_type: str, data: Iterable[bytes], by: Member
) -> Attachment:
    """Attach a file. ``data`` are its bytes in pieces of any length.

    Raises ``Invalid`` if the name is empty, ``AttachmentTooLarge`` or ``AttachmentsFull`` if a limit is
    reached, ``DiskFull`` if the server has too little space, and ``NotFound`` if the task is deleted.
    """
    disk_space.require_space(settings.PACA_DATA_DIR)
    tasks.lock(task)
    attachment = Attachment(
        task=task,
        name=clean_name(name),
        content_type=clean_content_type(content_type),
        size_bytes=0,
        sha256="",
        by=by,
    )
    attachment.save(force_insert=True)
    _store(attachment, data, at_most_bytes=_room_bytes(task))
    told = timeline.change_of("attachment", None, attachment.name)
    timeline.record(task, ActivityKind.ATTACHMENT_ADDED, actor=by, changes=[told])
    _tell(task)
    return attachment


@transaction.atomic
def remove(attachment: Attachment, *, by: Member) -> None:
    """Delete a file with its bytes. Raises ``NotFound`` if its task is deleted."""
    task = attachment.task
    tasks.lock(task)
    told = timeline.change_of("attachment", attachment.name, None)
    timeline.record(task, ActivityKind.ATTACHMENT_REMOVED, actor=by, changes=[told])
    attachment.delete()
    _tell(task)


def read(attachment: Attachment) -> Iterator[bytes]:
    """The bytes of a file, one part after the other, so that never the whole file is in memory."""
    for number in range(-(-attachment.size_bytes // PART_BYTES)):
        part = AttachmentPart.objects.get(attachment=attachment, number=number)
        yield bytes(part.data)


def clean_name(name: str) -> str:
    """The name without folders, control characters and marks that turn the direction of text.

    Raises ``Invalid`` if nothing is left.
    """
    last = re.split(r"[/\\]", to_storable(name))[-1]
    shown = "".join(
        each for each in last if unicodedata.category(each) not in {"Cc", "Cf", "Zl", "Zp"}
    )
    cleaned = shown.strip().strip(".").strip()
    if not cleaned:
        raise Invalid(fields={"file": ["The file needs a name."]})
    stem, dot, extension = cleaned.rpartition(".")
    room = MAX_NAME_CHARACTERS - len(extension) - 1
    if len(cleaned) > MAX_NAME_CHARACTERS and dot and room > 0:
        return f"{stem[:room]}.{extension}"
    return cleaned[:MAX_NAME_CHARACTERS]


def clean_content_type(content_type: str) -> str:
    """The media type without parameters; that of unknown bytes if it is none."""
    kind = content_type.partition(";")[0].strip().lower()
    return kind if MEDIA_TYPE.fullmatch(kind) else UNKNOWN_TYPE


def _room_bytes(task: Task) -> int:
    stored = task.attachments.aggregate(total=Sum("size_bytes"))["total"] or 0
    return settings.ATTACHMENTS_PER_TASK_MIB * MIB - stored


def _store(attachment: Attachment, data: Iterable[bytes], *, at_most_bytes: int) -> None:
    digest = hashlib.sha256()
    for number, part in enumerate(_in_parts(data)):
        attachment.size_bytes += len(part)
        _check_size(attachment.size_bytes, at_most_bytes)
        digest.update(part)
        AttachmentPart.objects.create(attachment=attachment, number=number, data=part)
    attachment.sha256 = digest.hexdigest()
    attachment.save(update_fields=["size_bytes", "sha256", "updated_at"])


def _check_size(size_bytes: int, at_most_bytes: int) -> None:
    # guard: attachment-size
    if size_bytes > settings.ATTACHMENT_MIB * MIB:
        raise AttachmentTooLarge(f"A file holds at most {settings.ATTACHMENT_MIB} MiB.")
    if size_bytes > at_most_bytes:
        raise AttachmentsFull(
            f"The files of a task hold at most {settings.ATTACHMENTS_PER_TASK_MIB} MiB together; "
            "delete one first."
        )


def _in_parts(data: Iterable[bytes]) -> Iterator[bytes]:
    buffer = bytearray()
    for piece in data:
        buffer += piece
        while len(buffer) >= PART_BYTES:
            yield bytes(buffer[:PART_BYTES])
            del buffer[:PART_BYTES]
    if buffer:
        yield bytes(buffer)


def _tell(task: Task) -> None:
    signals.project_changed.send(
        sender=Attachment, project_id=task.project_id, noun="task", id=task.number
    )
