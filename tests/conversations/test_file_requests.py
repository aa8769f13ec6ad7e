"""Requests for files as rows: how many there may be, who answers them, how long they wait, and what is left of them."""

import pytest
from django.utils import timezone

from paca.common.errors import NotFound
from paca.conversations import deletion, file_requests, store
from paca.conversations.models import FileRequest, FileRequestPart, Sandbox, SandboxState
from paca.conversations.services import files
from paca.events import ConversationForked
from tests.conversations.chat import Chat
from tests.support.fake_clock import FakeClock

pytestmark = pytest.mark.django_db


@pytest.fixture
def chat() -> Chat:
    return Chat()


@pytest.fixture
def conversation(chat):
    found = chat.row(chat.start("Hello")["conversation"])
    columns = {"backend": "bubblewrap", "state": SandboxState.ENDED, "last_used_at": timezone.now()}
    Sandbox.objects.create(conversation=found, **columns)
    return found


def test_requests_of_a_conversation_are_bounded(conversation):
    for _ in range(files.MAX_OPEN_OF_CONVERSATION):
        files.begin(conversation, "list", {"path": "."})
    with pytest.raises(files.FilesBusy):
        files.begin(conversation, "list", {"path": "."})


def test_upload_beyond_the_limit_leaves_no_row(conversation, settings):
    settings.WORKSPACE_UPLOAD_MIB = 1
    with pytest.raises(files.WorkspaceFileTooLarge):
        files.begin(conversation, "upload", {"name": "a"}, data=[b"x" * (1 << 20), b"x"])
    assert not FileRequest.objects.exists()


def test_request_is_taken_by_one_worker(conversation, monkeypatch):
    asked = files.begin(conversation, "list", {"path": "."})
    rows = list(FileRequest.objects.all())

    class Stale:
        """What two workers have read before either of them wrote."""

        def filter(self, **_):
            return self

        def order_by(self, *_):
            return rows

    monkeypatch.setattr(file_requests, "_waiting", Stale)
    assert file_requests.take("one", ops=("list",), at_most=4) == [asked]
    assert file_requests.take("two", ops=("list",), at_most=4) == []


def test_one_conversation_does_not_take_all_places_of_a_worker(chat, conversation):
    other = chat.row(chat.start("Hello")["conversation"])
    Sandbox.objects.create(
        conversation=other, backend="docker", state="ended", last_used_at=timezone.now()
    )
    asked = [files.begin(conversation, "list", {"path": "."}) for _ in range(3)]
    last = files.begin(other, "list", {"path": "."})
    rest = {"ops": ("list",), "at_most": 4, "each": 2}
    assert file_requests.take("w", **rest, busy=[conversation.pk]) == [asked[0], last]
    assert file_requests.take("w", **rest, busy=[conversation.pk] * 2) == []
    assert file_requests.take("w", **rest) == asked[1:]


def test_request_that_no_worker_takes_ends_with_the_next_step(conversation, monkeypatch):
    clock = FakeClock()
    monkeypatch.setattr(files, "clock", clock)
    monkeypatch.setattr(files.time, "sleep", lambda _: clock.advance(5))
    with pytest.raises(files.FilesUnavailable, match="No worker has answered"):
        files.ask(conversation, "list", path=".")
    assert not FileRequest.objects.exists()


def test_worker_that_dies_ends_the_request_at_its_limit(conversation, monkeypatch):
    clock = FakeClock()

    def sleep(_):
        clock.advance(5)
        file_requests.take("w", ops=("list",), at_most=1)

    monkeypatch.setattr(files, "clock", clock)
    monkeypatch.setattr(files.time, "sleep", sleep)
    with pytest.raises(files.FilesUnavailable, match="too long"):
        files.ask(conversation, "list", path=".")


def test_parts_of_a_download_come_in_order_and_go_with_the_reading(conversation):
    asked = files.begin(conversation, "download", {"path": "a"})
    file_requests.take("w", ops=("download",), at_most=1)
    assert files.take_part(asked.pk, 0) == (None, False)
    assert file_requests.answer(asked.pk, {"size": 2}, more=True)
    assert file_requests.add_part(asked.pk, 0, b"a")
    assert file_requests.add_part(asked.pk, 1, b"b")
    file_requests.finish(asked.pk)
    assert files.read_small(asked, 2) == b"ab"
    assert not FileRequestPart.objects.exists()
    assert file_requests.unread_parts(asked.pk) is None
    assert not file_requests.add_part(asked.pk, 2, b"c")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("no_such_file", NotFound),
        ("workspace_full", files.WorkspaceIsFull),
        ("no_files_yet", files.NoWorkspace),
        ("file_too_large", files.WorkspaceFileTooLarge),
        ("anything", files.FilesUnavailable),
    ],
)
def test_error_of_the_sandbox_becomes_an_answer(conversation, monkeypatch, code, error):
    def sleep(_):
        [taken] = file_requests.take("w", ops=("list",), at_most=1)
        file_requests.fail(taken.pk, code, "Why.")

    monkeypatch.setattr(files.time, "sleep", sleep)
    with pytest.raises(error, match="Why"):
        files.ask(conversation, "list", path=".")


def test_fork_whose_files_are_not_copied_yet_takes_no_upload(chat):
    fork = chat.row(chat.start("Hello")["conversation"])
    event = ConversationForked(conversation_id=str(fork.pk), seq=1, files="later")
    store.append(fork.pk, event)
    with pytest.raises(files.NoWorkspace, match="Send it a message first"):
        files.begin(fork, "upload", {"name": "a"})


def test_deleted_conversation_keeps_no_request(chat, conversation):
    files.begin(conversation, "upload", {"name": "a"}, data=[b"1"])
    deletion.delete(conversation, by=chat.world.owner)
    assert not FileRequest.objects.exists()


def test_expired_requests_are_deleted(conversation):
    files.begin(conversation, "list", {}, seconds=-1)
    assert not file_requests.take("w", ops=("list",), at_most=1)
    assert file_requests.delete_expired() == 1
