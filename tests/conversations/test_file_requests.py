"""Requests for files as rows: how many there may be, who answers them, how long they wait, and what is left of them."""

import threading

import pytest
from django.db import connection
from django.utils import timezone

from paca.common import database_threads
from paca.common.errors import NotFound
from paca.conversations import deletion, file_answers, file_requests, store
from paca.conversations.models import (
    FileRequest,
    FileRequestPart,
    FileRequestState,
    Sandbox,
    SandboxState,
    Worker,
)
from paca.conversations.services import file_downloads, file_uploads, files
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
        file_uploads.begin(conversation, {"name": "a"}, [b"x" * (1 << 20), b"x"])
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


def test_requests_that_wait_leave_threads_for_pages(conversation, monkeypatch):
    answers = []

    def sleep(_):
        try:
            files.ask(conversation, "list", path=".")
        except files.FilesBusy:
            answers.append("busy")
        for taken in file_requests.take("w", ops=("list",), at_most=1):
            file_requests.answer(taken, {"path": "."})

    monkeypatch.setattr(files.time, "sleep", sleep)
    monkeypatch.setattr(files, "MAX_OPEN_OF_CONVERSATION", 1000)
    assert files.ask(conversation, "list", path=".") == {"path": "."}
    assert "busy" in answers
    assert files.MAX_WAITING_HERE < database_threads.PAGES


def test_upload_reaches_no_worker_before_it_is_whole_and_holds_no_transaction(conversation):
    seen = []

    def data():
        for _ in range(3):
            seen.append(file_requests.take("w", ops=("upload",), at_most=1))
            seen.append(len(connection.savepoint_ids))
            yield b"x" * file_uploads.PART_BYTES

    outside = len(connection.savepoint_ids)
    asked = file_uploads.begin(conversation, {"name": "a"}, data())
    assert seen == [[], outside] * 3
    assert asked.arguments["size"] == 3 * file_uploads.PART_BYTES
    assert file_requests.take("w", ops=("upload",), at_most=1) == [asked]


def test_upload_whose_conversation_is_deleted_meanwhile_says_so(chat, conversation):
    def data():
        yield b"1"
        deletion.delete(conversation, by=chat.world.owner)

    with pytest.raises(NotFound):
        file_uploads.begin(conversation, {"name": "a"}, data())
    assert not FileRequest.objects.exists()


def test_worker_that_ends_leaves_its_requests_to_another_one(conversation):
    asked = files.begin(conversation, "list", {"path": "."})
    [of_one] = file_requests.take("one", ops=("list",), at_most=1)
    file_requests.hand_back(of_one)
    assert file_requests.take("two", ops=("list",), at_most=1) == [asked]


def test_request_that_was_handed_on_takes_nothing_from_its_first_worker(conversation):
    asked = files.begin(conversation, "archive", {"path": "."})
    [of_one] = file_requests.take("one", ops=("archive",), at_most=1)
    file_requests.hand_back(of_one)
    [of_two] = file_requests.take("two", ops=("archive",), at_most=1)
    # What the first worker had on its way when it was told to end.
    assert not file_requests.answer(of_one, {}, more=True)
    file_requests.answer_packed(of_one, b"")
    file_requests.fail(of_one, "files_unavailable", "Late.")
    file_requests.hand_back(of_one)
    assert file_requests.answer(of_two, {}, more=True)
    assert not file_requests.add_part(of_one, 0, b"of one")
    assert file_requests.unread_parts(of_one) is None
    file_requests.finish(of_one)
    assert file_requests.add_part(of_two, 0, b"of two")
    file_requests.finish(of_two)
    assert file_downloads.read_small(asked, 6) == b"of two"


def test_worker_that_ends_in_a_download_ends_it_with_the_next_step(conversation):
    asked = files.begin(conversation, "download", {"path": "a"})
    [taken] = file_requests.take("one", ops=("download",), at_most=1)
    file_requests.answer(taken, {"size": 2}, more=True)
    file_requests.hand_back(taken)
    with pytest.raises(files.FilesUnavailable, match="Try again"):
        file_downloads.take_part(asked.pk, 0)


def test_requests_of_a_dead_worker_go_to_another_one(conversation):
    now = timezone.now()
    facts = {"host": "h", "pid": 1, "concurrency": 1, "heartbeat_at": now}
    Worker.objects.create(id="alive", **facts)
    lost, kept = (files.begin(conversation, "list", {"path": "."}) for _ in range(2))
    file_requests.take("dead", ops=("list",), at_most=1)
    file_requests.take("alive", ops=("list",), at_most=1)
    assert file_requests.hand_back_of_dead_workers("dead") == 0  # it asks, so it is alive
    assert file_requests.hand_back_of_dead_workers("alive") == 1
    assert file_requests.take("alive", ops=("list",), at_most=4) == [lost]
    kept.refresh_from_db()
    assert kept.state == FileRequestState.TAKEN


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
    [taken] = file_requests.take("w", ops=("download",), at_most=1)
    assert file_downloads.take_part(asked.pk, 0) == (None, False)
    assert file_requests.answer(taken, {"size": 2}, more=True)
    assert file_requests.add_part(taken, 0, b"a")
    assert file_requests.add_part(taken, 1, b"b")
    file_requests.finish(taken)
    assert file_downloads.read_small(asked, 2) == b"ab"
    assert not FileRequestPart.objects.exists()
    assert file_requests.unread_parts(taken) is None
    assert not file_requests.add_part(taken, 2, b"c")


def test_download_whose_bytes_do_not_come_holds_no_thread_that_pages_need(
    conversation, monkeypatch
):
    clock, refused = FakeClock(), []
    monkeypatch.setattr(files, "_places", threading.BoundedSemaphore(1))
    monkeypatch.setattr(files, "clock", clock)
    monkeypatch.setattr(file_downloads, "clock", clock)

    def sleep(_):
        clock.advance(5)
        for taken in file_requests.take("w", ops=("download",), at_most=1):
            file_requests.answer(taken, {"size": 2}, more=True)
            return
        with pytest.raises(files.FilesBusy):
            files.ask(conversation, "list", path=".")
        refused.append(1)

    monkeypatch.setattr(files.time, "sleep", sleep)
    with pytest.raises(files.FilesUnavailable, match="too long"):
        file_downloads.begin(conversation, "download", {"path": "a"}, in_memory=10)
    assert refused
    assert not FileRequest.objects.exists()


@pytest.mark.parametrize("said", [{}, {"path": ""}, {"path": ["a"]}, {"path": 7, "size": "x"}])
def test_answer_to_an_upload_that_does_not_fit_is_refused_and_not_logged(
    chat, conversation, monkeypatch, said
):
    def sleep(_):
        for taken in file_requests.take("w", ops=("upload",), at_most=1):
            file_requests.answer(taken, said)

    monkeypatch.setattr(files.time, "sleep", sleep)
    before = conversation.events.count()
    with pytest.raises(files.FilesUnavailable, match="does not fit"):
        file_uploads.upload(conversation, name="a", folder=".", data=[b"1"], by=chat.world.owner)
    assert conversation.events.count() == before


def test_list_that_counts_more_than_it_can_have_seen_is_refused():
    said = {"path": ".", "entries": [], "total": 200_000}
    assert file_answers.folder(said)["total"] == 200_000
    with pytest.raises(files.FilesUnavailable, match="does not fit"):
        file_answers.folder({**said, "total": 200_001})


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
        file_requests.fail(taken, code, "Why.")

    monkeypatch.setattr(files.time, "sleep", sleep)
    with pytest.raises(error, match="Why"):
        files.ask(conversation, "list", path=".")


def test_fork_whose_files_are_not_copied_yet_takes_no_upload(chat):
    fork = chat.row(chat.start("Hello")["conversation"])
    event = ConversationForked(conversation_id=str(fork.pk), seq=1, files="later")
    store.append(fork.pk, event)
    with pytest.raises(files.NoWorkspace, match="Send it a message first"):
        file_uploads.begin(fork, {"name": "a"}, [])


def test_deleted_conversation_keeps_no_request(chat, conversation):
    file_uploads.begin(conversation, {"name": "a"}, [b"1"])
    deletion.delete(conversation, by=chat.world.owner)
    assert not FileRequest.objects.exists()


def test_expired_requests_are_deleted(conversation):
    files.begin(conversation, "list", {}, seconds=-1)
    assert not file_requests.take("w", ops=("list",), at_most=1)
    assert file_requests.delete_expired() == 1
