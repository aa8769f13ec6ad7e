"""Files attached to tasks: limits, names and their bytes."""

import hashlib

import pytest
from django.conf import LazySettings

from paca.common import disk_space
from paca.common.errors import Invalid
from paca.projects.models import Attachment, AttachmentPart, Task
from paca.projects.services import attachments, tasks
from paca.projects.services.attachments import AttachmentsFull, AttachmentTooLarge
from tests.support.world import World, make_world

MIB = 1024 * 1024


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def task(world: World) -> Task:
    return tasks.create(world.project, title="Paint", by=world.owner)


def add(task: Task, data: list[bytes], name: str = "pier.png") -> Attachment:
    return attachments.add(task, name=name, content_type="image/png", data=data, by=task.reporter)


@pytest.mark.django_db
@pytest.mark.parametrize("sizes", [[], [1], [256 * 1024], [300_000, 5, 300_000]])
def test_file_comes_back_as_it_was_whatever_its_pieces(sizes: list[int], task: Task) -> None:
    pieces = [bytes([number]) * size for number, size in enumerate(sizes)]
    stored = add(task, pieces)
    whole = b"".join(pieces)
    assert b"".join(attachments.read(stored)) == whole
    assert (stored.size_bytes, stored.sha256) == (len(whole), hashlib.sha256(whole).hexdigest())


@pytest.mark.django_db
def test_file_is_refused_before_it_fills_the_disk(
    task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk_space, "MIN_FREE_MIB", 1 << 40)
    with pytest.raises(disk_space.DiskFull):
        add(task, [b"x"])
    assert not Attachment.objects.exists()


@pytest.mark.django_db
def test_file_above_a_limit_leaves_nothing(task: Task, settings: LazySettings) -> None:
    settings.ATTACHMENT_MIB, settings.ATTACHMENTS_PER_TASK_MIB = 1, 2
    add(task, [bytes(MIB)])
    with pytest.raises(AttachmentTooLarge):
        add(task, [bytes(MIB), b"x"])
    kept = add(task, [bytes(MIB)])
    with pytest.raises(AttachmentsFull):
        add(task, [b"x"])
    assert (Attachment.objects.count(), AttachmentPart.objects.count()) == (2, 8)
    attachments.remove(kept, by=task.reporter)
    add(task, [b"x"])
    assert [each.kind for each in task.activities.all()][1:] == [
        "task.attachment.added",
        "task.attachment.added",
        "task.attachment.removed",
        "task.attachment.added",
    ]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\files\\a.txt", "a.txt"),
        (" report.pdf ", "report.pdf"),
        ("a\0b\r\nc.txt", "a␀bc.txt"),
        ("photo\u202egpj.exe", "photogpj.exe"),
        ("\ud83d.txt", "?.txt"),
        (".htaccess", "htaccess"),
        ("x" * 300 + ".tar", "x" * 196 + ".tar"),
        ("x" * 300, "x" * 200),
    ],
)
def test_name_of_a_file_is_cleaned(given: str, name: str) -> None:
    assert attachments.clean_name(given) == name


@pytest.mark.parametrize("given", ["", "..", "a/", "\u202e", "\r\n"])
def test_file_without_a_name_is_refused(given: str) -> None:
    with pytest.raises(Invalid):
        attachments.clean_name(given)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("text/html; charset=utf-8", "text/html"),
        ("IMAGE/PNG", "image/png"),
        ("", "application/octet-stream"),
        ("text/html\r\nX-Evil: 1", "application/octet-stream"),
        ("x" * 200 + "/y", "application/octet-stream"),
    ],
)
def test_content_type_is_one_or_that_of_unknown_bytes(given: str, kind: str) -> None:
    assert attachments.clean_content_type(given) == kind
