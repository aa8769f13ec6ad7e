"""Reading and writing files, on every backend and on the fake workspace of the tests."""

import hashlib
import uuid
from collections.abc import AsyncIterator

import pytest

from paca.engine.workspace import (
    FileChanged,
    NoSuchFile,
    NoSuchText,
    NotAFile,
    OutsideWorkspace,
    SandboxWorkspace,
    TextNotUnique,
)
from paca.sandbox.base import SandboxSpec
from tests.sandbox.conftest import BACKENDS, PARAMETERS, write_file
from tests.support.fake_sandbox_workspace import FakeSandboxWorkspace

pytestmark = [pytest.mark.service, pytest.mark.anyio]


@pytest.fixture(params=[*PARAMETERS, "fake"])
async def workspace(request, tmp_path, anyio_backend) -> AsyncIterator[SandboxWorkspace]:
    if request.param == "fake":
        yield FakeSandboxWorkspace()
        return
    sandbox = await BACKENDS[request.param](tmp_path).open(SandboxSpec(uuid.uuid4()), epoch=1)
    yield sandbox
    await sandbox.end(keep_files=False)


SPELLINGS = [
    "src/a.py",
    "./src/../src/a.py",
    "/workspace/src/a.py",
    "src//a.py",
    "/workspace//src/./a.py",
]


@pytest.mark.parametrize("path", SPELLINGS)
async def test_a_file_is_the_same_in_every_spelling(workspace, path):
    await write_file(workspace, "src/a.py", "print(1)\n")
    found = await workspace.read_lines(path)
    assert (found.path, found.text) == ("src/a.py", "print(1)\n")
    assert (await workspace.stat(path)).path == "src/a.py"
    assert (await workspace.write("again", path, b"print(2)\n")).path == "src/a.py"
    assert await workspace.read("src/a.py") == b"print(2)\n"


async def test_a_folder_is_the_same_in_every_spelling(workspace):
    await write_file(workspace, "src/a.py", "")
    for path in ("src", "src/", "./src", "/workspace/src/", "src/../src/."):
        assert (await workspace.stat(path)).path == "src"
        assert [entry.path for entry in await workspace.list(path)] == ["src/a.py"]
    for path in (".", "", "/workspace", "/workspace/", "src/.."):
        assert (await workspace.stat(path)).path == "."


OUTSIDE = [
    "../x",
    "../../etc/passwd",
    "/etc/passwd",
    "/",
    "src/../../x",
    "/workspace/../etc/passwd",
    "/workspaces/x",
    "..",
    "/workspace/..",
]


@pytest.mark.parametrize("path", OUTSIDE)
async def test_a_path_that_leaves_the_workspace_is_refused(workspace, path):
    await write_file(workspace, "src/a.py", "")
    for attempt in (
        workspace.read_lines(path),
        workspace.read(path),
        workspace.stat(path),
        workspace.list(path),
        workspace.write("w", path, b"x"),
        workspace.replace("r", path, "a", "b"),
    ):
        with pytest.raises(OutsideWorkspace):
            await attempt


@pytest.mark.parametrize(
    "name", ["with blank", "ümlaut.txt", "数字", "quote'\"", "new\nline", "-rf", "a*b"]
)
async def test_any_name_can_be_written_read_and_listed(workspace, name):
    await write_file(workspace, f"folder/{name}", "content")
    assert (await workspace.read_lines(f"folder/{name}")).text == "content"
    assert [entry.path for entry in await workspace.list("folder")] == [f"folder/{name}"]


async def test_lines_are_counted_from_one_and_limited_to_the_requested_number(workspace):
    text = "".join(f"line {number}\n" for number in range(1, 101))
    await write_file(workspace, "long.txt", text)
    found = await workspace.read_lines("long.txt", first=10, count=2)
    assert (found.text, found.first, found.last, found.total) == ("line 10\nline 11\n", 10, 11, 100)
    assert found.size == len(text)
    assert found.digest == hashlib.sha256(text.encode()).hexdigest()
    beyond = await workspace.read_lines("long.txt", first=500)
    assert (beyond.text, beyond.total) == ("", 100)


@pytest.mark.parametrize(
    ("content", "total", "text"),
    [
        ("", 0, ""),
        ("\n", 1, "\n"),
        ("a", 1, "a"),
        ("a\nb", 2, "a\nb"),
        ("a\n\n", 2, "a\n\n"),
        ("a\r\nb\r\n", 2, "a\r\nb\r\n"),
    ],
)
async def test_the_last_line_of_a_file_is_read_with_or_without_its_newline(
    workspace, content, total, text
):
    await write_file(workspace, "end.txt", content)
    found = await workspace.read_lines("end.txt")
    assert (found.text, found.total, found.binary) == (text, total, "")


BINARIES = {
    "PDF": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "PNG image": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "gzip archive": b"\x1f\x8b\x08\0\0\0\0\0",
    "ELF program": b"\x7fELF\x02\x01\x01\0",
    "binary data": bytes(range(256)),
}


@pytest.mark.parametrize("kind", BINARIES)
async def test_a_binary_file_is_described_not_shown(workspace, kind):
    await write_file(workspace, "thing", BINARIES[kind])
    found = await workspace.read_lines("thing")
    assert (found.binary, found.text, found.size) == (kind, "", len(BINARIES[kind]))
    assert await workspace.read("thing", offset=1, limit=4) == BINARIES[kind][1:5]


async def test_text_in_another_encoding_is_still_text(workspace):
    await write_file(workspace, "latin.txt", "Größe und Übermut, sonst nichts".encode("latin-1"))
    found = await workspace.read_lines("latin.txt")
    assert (found.binary, found.encoding) == ("", "Windows-1252")
    assert found.text == "Größe und Übermut, sonst nichts"


async def test_a_missing_file_and_a_path_of_another_type_have_different_errors(workspace):
    await write_file(workspace, "folder/a", "")
    for attempt in (
        workspace.read_lines("folder"),
        workspace.read("folder"),
        workspace.write("w", "folder", b""),
    ):
        with pytest.raises(NotAFile):
            await attempt
    for attempt in (
        workspace.read_lines("nothing"),
        workspace.read("no/thing"),
        workspace.stat("nothing"),
        workspace.list("nothing"),
        workspace.replace("r", "nothing", "a", "b"),
    ):
        with pytest.raises(NoSuchFile):
            await attempt
    with pytest.raises(NotAFile):
        await workspace.list("folder/a")


async def test_a_listing_respects_its_depth_and_limit(workspace):
    for path in ("a/b/c.txt", "a/z.txt", "b.txt"):
        await write_file(workspace, path, "12345")
    assert [entry.path for entry in await workspace.list()] == ["a", "b.txt"]
    deep = await workspace.list(depth=3)
    assert [entry.path for entry in deep] == ["a", "a/b", "a/b/c.txt", "a/z.txt", "b.txt"]
    assert [(entry.kind, entry.size) for entry in deep if entry.path == "b.txt"] == [("file", 5)]
    assert len(await workspace.list(depth=3, limit=2)) == 2


async def test_a_write_reports_the_change(workspace):
    made = await workspace.write("one", "notes/a.txt", b"a\nb\nc\n")
    assert (made.created, made.added, made.removed) == (True, 3, 0)
    assert made.digest == hashlib.sha256(b"a\nb\nc\n").hexdigest()
    changed = await workspace.write("two", "notes/a.txt", b"a\nB\nc\nd\n")
    assert (changed.created, changed.added, changed.removed) == (False, 2, 1)
    assert "-b\n+B\n" in changed.diff
    assert changed.diff.startswith("--- a/notes/a.txt\n+++ b/notes/a.txt\n@@ -1,3 +1,4 @@\n")


async def test_a_repeated_write_answers_as_the_first_did_and_writes_nothing(workspace):
    first = await workspace.write("once", "a.txt", b"one")
    await workspace.write("other", "a.txt", b"two")
    assert await workspace.write("once", "a.txt", b"one") == first
    assert await workspace.read("a.txt") == b"two"


async def test_a_write_that_expects_other_content_is_refused(workspace):
    seen = await workspace.write("one", "a.txt", b"one")
    await workspace.write("two", "a.txt", b"two")
    for attempt in (
        workspace.write("three", "a.txt", b"three", expected_digest=seen.digest),
        workspace.replace("four", "a.txt", "two", "four", expected_digest=seen.digest),
        workspace.write("five", "never.txt", b"", expected_digest=seen.digest),
    ):
        with pytest.raises(FileChanged):
            await attempt
    assert await workspace.read("a.txt") == b"two"
    current = hashlib.sha256(b"two").hexdigest()
    await workspace.replace("six", "a.txt", "two", "six", expected_digest=current)
    assert await workspace.read("a.txt") == b"six"


async def test_a_text_is_replaced_only_if_it_occurs_once(workspace):
    await write_file(workspace, "a.txt", "one two one\n")
    with pytest.raises(TextNotUnique):
        await workspace.replace("r1", "a.txt", "one", "1")
    for missing in ("three", ""):
        with pytest.raises(NoSuchText):
            await workspace.replace("r2", "a.txt", missing, "3")
    await workspace.replace("r3", "a.txt", "two", "2")
    change = await workspace.replace("r4", "a.txt", "one", "1", every=True)
    assert await workspace.read("a.txt") == b"1 2 1\n"
    assert (change.created, change.added, change.removed) == (False, 1, 1)
