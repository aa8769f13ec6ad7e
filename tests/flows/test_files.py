"""People see, take and give files of a conversation: from the API by a worker to the sandbox, and back."""

import asyncio
import io
import threading
import zipfile

import pytest
from django.db import connections
from django.http import HttpResponse
from rest_framework.test import APIClient

from paca.conversations.models import FileRequest, FileRequestPart, Sandbox
from paca.conversations.services.files import MAX_WAITING_HERE
from tests.support.flow import UNTIL_ALLOWED, Flow, ObservedConversation, wait_until
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 40


class Files:
    """The files of one conversation, as a person asks for them."""

    def __init__(self, flow: Flow, conversation: ObservedConversation) -> None:
        self.client = APIClient()
        self.client.force_login(flow.world.owner.user)
        project = conversation.row.project_id
        self.base = f"/api/v1/projects/{project}/conversations/{conversation.id}/files/"

    def get(self, address: str = "", **query: str) -> HttpResponse:
        return self.client.get(self.base + address, query)

    def post(self, name: str, data: bytes, folder: str = ".") -> HttpResponse:
        address = f"{self.base}?name={name}&folder={folder}"
        return self.client.generic("POST", address, data, content_type="image/svg+xml")

    def names(self, path: str = ".") -> list[str]:
        answer = self.get(path=path)
        assert answer.status_code == 200, answer.data
        return [each["name"] for each in answer.data["entries"]]


@pytest.fixture
def conversation(flow) -> ObservedConversation:
    script = "mkdir src; printf 'one\\ntwo\\n' > src/a.py; ln -s /etc/passwd link"
    return flow.ask("Make files", [calls(bash=script), says("Made.")])


@pytest.fixture
def files(flow, conversation) -> Files:
    return Files(flow, conversation)


def test_person_lists_reads_and_compares_files_while_the_sandbox_runs(files):
    assert files.names() == ["src", "link"]
    shown = files.get("preview/", path="src/a.py").data
    assert (shown["kind"], shown["text"]) == ("text", "one\ntwo\n")
    changes = files.get("changes/").data
    assert [(e["path"], e["change"], e["added"]) for e in changes["entries"]] == [
        ("link", "added", None),
        ("src/a.py", "added", 2),
    ]
    assert files.get("diff/", path="src/a.py").data["diff"] == "@@ -0,0 +1,2 @@\n+one\n+two"
    assert files.get("preview/", path="link").json()["fields"]["path"] == [
        "This path is outside the workspace."
    ]
    assert files.get("preview/", path="gone").status_code == 404
    assert not FileRequest.objects.exists()


def test_file_is_downloaded_as_a_file_and_never_as_a_page(files):
    answer = files.get("content/", path="src/a.py")
    assert answer.content == b"one\ntwo\n"
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"] == 'attachment; filename="a.py"'
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert files.post("a.svg", b"<svg onload='alert(1)'/>").status_code == 201
    assert files.get("content/", path="a.svg")["Content-Type"] == "application/octet-stream"
    assert files.post("a.png", PNG).status_code == 201
    assert files.get("content/", path="a.png")["Content-Type"] == "image/png"


async def _read(answer: HttpResponse) -> bytes:
    return b"".join([part async for part in answer.streaming_content])


def test_archive_has_all_files_under_safe_names_and_no_link(files):
    files.post("b.txt", b"x" * 3_000_000, "src")
    answer = files.get("archive/")
    assert answer["Content-Type"] == "application/zip"
    archive = zipfile.ZipFile(io.BytesIO(asyncio.run(_read(answer))))
    assert archive.testzip() is None
    assert sorted(archive.namelist()) == ["_left out.txt", "src/a.py", "src/b.txt"]
    assert archive.read("src/a.py") == b"one\ntwo\n"
    assert b"link: no regular file" in archive.read("_left out.txt")
    assert not FileRequestPart.objects.exists()


def test_large_download_streams_in_bounded_parts(files):
    data = bytes(range(256)) * 40_000
    assert files.post("big.bin", data).status_code == 201
    answer = files.get("content/", path="big.bin")
    assert answer["Content-Length"] == str(len(data))
    assert asyncio.run(_read(answer)) == data


def test_upload_is_told_in_the_log_and_keeps_what_is_there(files, conversation):
    first, again = files.post("a b.txt", b"one"), files.post("a b.txt", b"one")
    assert first.data == again.data == {"path": "a b.txt", "size": 3}
    assert files.post("a b.txt", b"two").data["path"] == "a b (2).txt"
    assert files.post("..%2F..%2Fetc%2Fpasswd", b"x").data["path"] == "__.._etc_passwd"
    told = conversation.event_data("file.changed")
    assert [each["path"] for each in told][:2] == ["a b.txt", "a b.txt"]
    assert told[0]["change"] == "uploaded"


def test_ended_sandbox_is_started_for_its_files_and_the_next_turn_uses_it(
    flow, files, conversation
):
    boot = Sandbox.objects.get(conversation=conversation.id).boot_id
    manager = flow.sandboxes()
    asyncio.run(manager.sweep(set()))
    assert files.names() == ["src", "link"]
    row = Sandbox.objects.get(conversation=conversation.id)
    assert (row.state, row.boot_id != boot) == ("running", True)
    again = flow.ask("Look", [calls(bash="ls"), says("Seen.")], after=conversation)
    assert "src" in again.outputs[-1]
    assert len(again.event_data("sandbox.started")) == 2


def test_paused_sandbox_is_resumed_for_its_files(flow, files, conversation):
    manager = flow.sandboxes()
    backend = Sandbox.objects.get(conversation=conversation.id).backend
    assert asyncio.run(manager.pause(conversation.row.pk, backend))
    Sandbox.objects.filter(conversation=conversation.id).update(state="paused")
    assert files.names() == ["src", "link"]
    assert Sandbox.objects.get(conversation=conversation.id).state == "running"
    assert conversation.has_event("sandbox.resumed")


def test_files_are_read_while_a_command_runs_and_the_run_keeps_its_sandbox(flow):
    script = f"echo x > begun; {UNTIL_ALLOWED}; echo ended"
    conversation = flow.begin("Wait", [calls(bash=script), says("Ended.")])
    flow.wait_until_written(conversation, "begun")
    files = Files(flow, conversation)
    assert "begun" in files.names()
    flow.let_command_end(conversation)
    flow.wait_until_idle(conversation)
    assert conversation.answers == ["Ended."]
    assert len(conversation.event_data("sandbox.started")) == 1


def test_many_requests_at_once_are_answered_or_told_to_wait_and_the_agent_goes_on(
    flow, files, conversation
):
    answers: list[int] = []

    def ask() -> None:
        answers.append(Files(flow, conversation).get().status_code)
        connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(30)]
    for each in threads:
        each.start()
    done = flow.ask("Go on", [calls(bash="echo on"), says("On.")], after=conversation)
    for each in threads:
        each.join()
    assert done.answers[-1] == "On."
    assert set(answers) <= {200, 503}
    assert answers.count(200) >= MAX_WAITING_HERE
    assert not FileRequest.objects.exists()


def test_without_a_worker_the_request_ends_with_a_clear_error(flow, files, monkeypatch):
    flow.stop_worker()
    with monkeypatch.context() as impatient:
        impatient.setattr("paca.conversations.services.files.TAKE_SECONDS", 0.1)
        answer = files.get()
    assert answer.status_code == 503
    assert answer.data["code"] == "files_unavailable"
    assert "No worker has answered" in answer.data["detail"]
    flow.start_worker()
    assert files.names() == ["src", "link"]


def test_conversation_without_files_says_so_and_takes_an_upload(flow):
    conversation = flow.ask("Hello", [says("Hello.")])
    files = Files(flow, conversation)
    answer = files.get()
    assert (answer.status_code, answer.data["code"]) == (409, "no_files_yet")
    assert files.post("a.txt", b"1").status_code == 201
    assert files.names() == ["a.txt"]
    wait_until(lambda: conversation.has_event("sandbox.started"))
