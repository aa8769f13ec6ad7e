"""Bad input to the addresses of files, and answers of a sandbox that the agent has taken over."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from paca.conversations import file_answers
from paca.conversations.services.files import FilesUnavailable
from tests.conversations.chat import Chat

PREVIEW, LIST, DIFF = "preview/", "", "diff/"
LONG = "a" * 5000
TABLE: list[tuple[str, dict[str, str], str, str]] = [
    (PREVIEW, {}, "path", "This field is required."),
    (PREVIEW, {"path": ""}, "path", "This field may not be blank."),
    (PREVIEW, {"path": "a\0b"}, "path", "Null characters are not allowed."),
    (PREVIEW, {"path": LONG}, "path", "no more than 4096"),
    ("content/", {"path": "a\0b"}, "path", "Null characters are not allowed."),
    ("archive/", {"path": "a\0b"}, "path", "Null characters are not allowed."),
    (LIST, {"path": LONG}, "path", "no more than 4096"),
    (LIST, {"offset": "-1"}, "offset", "greater than or equal to 0"),
    (LIST, {"offset": "many"}, "offset", "valid integer"),
    ("changes/", {"base": "else"}, "base", "is not a valid choice"),
    (DIFF, {"path": "a", "base": "else"}, "base", "is not a valid choice"),
    (DIFF, {"base": "start"}, "path", "This field is required."),
]


@pytest.fixture
def base(db: None) -> tuple[APIClient, str]:
    chat = Chat()
    conversation = chat.start("Hello")["conversation"]
    client = APIClient()
    client.force_login(chat.world.owner.user)
    project = chat.row(conversation).project_id
    return client, f"/api/v1/projects/{project}/conversations/{conversation}/files/"


@pytest.mark.parametrize(("address", "query", "field", "message"), TABLE)
def test_bad_query_of_files_is_refused_by_its_field(base, address, query, field, message):
    client, path = base
    answer = client.get(path + address, query)
    assert answer.status_code == 400
    assert message in answer.json()["fields"][field][0]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "name"),
        ("?name=", "name"),
        ("?name=a%00b", "name"),
        (f"?name=a&folder={LONG}", "folder"),
    ],
)
def test_bad_name_of_an_upload_is_refused(base, query, field):
    client, path = base
    answer = client.generic("POST", path + query, b"1", content_type="text/plain")
    assert (answer.status_code, list(answer.json()["fields"])) == (400, [field])


@pytest.mark.parametrize("address", ["", "preview/", "content/", "archive/", "changes/", "diff/"])
def test_conversation_of_another_project_is_not_found_whatever_the_query_is(base, address):
    client, path = base
    other = Chat("Other").start("Hello")["conversation"]
    foreign = path.rsplit("/", 3)[0] + f"/{other}/files/"
    assert client.get(f"{foreign}{address}?offset=many&base=else").status_code == 404
    if not address:
        answer = client.generic("POST", foreign, b"1", content_type="text/plain")
        assert answer.status_code == 404


def test_form_and_too_large_upload_are_refused(base, settings):
    client, path = base
    settings.WORKSPACE_UPLOAD_MIB = 3
    form = client.post(f"{path}?name=a", {"file": "x"}, format="multipart")
    assert (form.status_code, form.json()["code"]) == (400, "invalid")
    large = client.generic("POST", f"{path}?name=a", b"x" * (3 << 20) + b"x", content_type="a/b")
    assert (large.status_code, large.json()["code"]) == (413, "too_large")


MISFITS: list[tuple[Any, dict[str, Any]]] = [
    (file_answers.folder, {}),
    (file_answers.folder, {"path": ".", "entries": [["a"]], "total": 1}),
    (file_answers.folder, {"path": ".", "entries": [["a", "file", -1, 0]], "total": 1}),
    (file_answers.folder, {"path": ".", "entries": [["a", "socket", 1, 0]], "total": 1}),
    (file_answers.folder, {"path": ".", "entries": [["a", "file", 1, 0]] * 10_001, "total": 1}),
    (file_answers.folder, {"path": ["."], "entries": [], "total": 1}),
    (file_answers.folder, {"path": ".", "entries": [], "total": 2**70}),
    (file_answers.preview, {"path": "a", "kind": "page", "size": 1, "modified": 0}),
    (file_answers.preview, {"path": "a", "kind": "text", "size": 1, "modified": 1e300}),
    (file_answers.preview, {"path": "a", "kind": "text", "size": True, "modified": 0}),
    (file_answers.changes, {"entries": ["a"], "repositories": [], "collapsed": []}),
    (file_answers.changes, {"entries": [], "repositories": [1], "collapsed": []}),
    (file_answers.diff, {"path": "a", "change": "stolen", "size": 1}),
]


@pytest.mark.parametrize(("read", "found"), MISFITS)
def test_answer_of_a_sandbox_that_does_not_fit_is_refused(read, found):
    with pytest.raises(FilesUnavailable):
        read(found)
