"""What people are shown of files holds no secret that Paca knows."""

import base64
import textwrap
import zlib

import pytest
from django.utils import timezone

from paca.common.secret_removal import SecretMask
from paca.conversations import file_requests
from paca.conversations.models import Sandbox, SandboxState
from paca.conversations.services import files
from paca.sandbox.files import client
from paca.worker.file_masking import masked_answer, masked_diff
from paca.worker.file_requests import _store_failure, _store_found, _store_shown
from tests.conversations.chat import Chat

SECRET = "canary-0123456789-abcdef"
MASK = SecretMask([SECRET])


def shown(answer):
    return client.unpack(masked_answer(client.pack(answer), MASK))


def test_preview_list_and_changes_show_no_secret():
    text = f"TOKEN={SECRET}\nDEBUG=1\n{base64.b64encode(SECRET.encode()).decode()}\n"
    assert shown({"text": text, "size": 7})["text"] == "TOKEN=***\nDEBUG=1\n***\n"
    assert shown({"text": f"a {SECRET[:15]}", "cut": True})["text"] == "a ***"
    assert shown({"entries": [[SECRET, "file", 1, 2.5]]}) == {"entries": [["***", "file", 1, 2.5]]}
    assert shown({"entries": [{"path": f"a/{SECRET}"}]}) == {"entries": [{"path": "a/***"}]}


def test_diff_shows_no_secret_that_goes_on_in_the_next_line():
    lines = textwrap.wrap(base64.b64encode(b"x" * 30 + SECRET.encode() + b"y" * 30).decode(), 20)
    diff = "\n".join(
        ["@@ -1,1 +1,9 @@", " before", f"-{SECRET}", *(f"+{line}" for line in lines), ""]
    )
    found = masked_diff(diff, MASK)
    assert found.startswith("@@ -1,1 +1,9 @@\n before\n-***\n+eHh4")
    whole = found.replace("\n+", "")
    assert base64.b64encode(b"x" * 30 + SECRET.encode()).decode()[44:60] not in whole
    assert masked_diff("@@ -0,0 +1,2 @@\n+one\n+two", MASK) == "@@ -0,0 +1,2 @@\n+one\n+two"


def test_answer_without_a_secret_stays_as_the_sandbox_packed_it():
    packed = client.pack({"text": "plain", "cut": False})
    assert masked_answer(packed, MASK) is packed


def test_answer_that_is_too_deep_is_none():
    refused = 0
    for depth in range(500, 1500, 10):
        deep = b'{"a":' + b"[" * depth + b"]" * depth + b"}"
        try:
            masked_answer(zlib.compress(deep), MASK)
        except client.FilesBroken:
            refused += 1
    assert refused


@pytest.mark.django_db
def test_worker_stores_answers_without_the_secrets_of_the_conversation():
    chat = Chat(llm_api_key=SECRET)
    conversation = chat.row(chat.start("Hello")["conversation"])
    columns = {"backend": "bubblewrap", "state": SandboxState.ENDED, "last_used_at": timezone.now()}
    Sandbox.objects.create(conversation=conversation, **columns)
    asked = files.begin(conversation, "show", {"path": "a"})
    [taken] = file_requests.take("w", ops=("show",), at_most=1)
    _store_shown(taken, client.pack({"text": f"a {SECRET}"}))
    assert files.wait(asked) == {"text": "a ***"}
    asked = files.begin(conversation, "show", {"path": "a"})
    [taken] = file_requests.take("w", ops=("show",), at_most=1)
    _store_failure(taken, "workspace_error", f"{SECRET}: no such thing")
    with pytest.raises(files.FilesUnavailable, match=r"\*\*\*: no such thing"):
        files.wait(asked)
    asked = files.begin(conversation, "upload", {"name": "a"})
    [taken] = file_requests.take("w", ops=("upload",), at_most=1)
    _store_found(taken, {"path": f"a/{SECRET}", "size": 1})
    assert files.wait(asked) == {"path": "a/***", "size": 1}
