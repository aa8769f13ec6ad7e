"""The tools that read, write and edit a file."""

import hashlib

import pytest

from paca.common.secret_removal import SecretMask
from paca.engine.tools.formatting import MAX_OUTPUT_BYTES
from tests.engine.tools.conftest import ToolSession

pytestmark = pytest.mark.anyio

SOURCE = "def a():\n    return 1\n\ndef b():\n    return 2\n"


async def test_read_file_numbers_lines(session: ToolSession):
    session.put("src/app.py", "one\n\nthree\n")
    result = await session.call("read_file", path="src/app.py")
    assert result.output == "     1\tone\n     2\t\n     3\tthree\n[3 lines, 11 bytes]"


async def test_read_file_tells_the_range_and_where_to_go_on(session: ToolSession):
    session.put("n.txt", "".join(f"line {n}\n" for n in range(1, 3001)))
    result = await session.call("read_file", path="n.txt", first_line=1000, line_count=2)
    assert result.output == (
        "  1000\tline 1000\n  1001\tline 1001\n[lines 1,000 to 1,001 of 3,000; go on with first_line=1002]"
    )
    assert result.truncated
    last = await session.call("read_file", path="n.txt", first_line=3000)
    assert last.output == "  3000\tline 3000\n[lines 3,000 to 3,000 of 3,000]"
    assert not last.truncated


async def test_read_file_gives_each_line_once_if_its_remarks_are_followed(session: ToolSession):
    wanted = [f"{n} {'x' * 90}" for n in range(1, 1201)]
    session.put("long.txt", "\n".join(wanted))
    got: list[str] = []
    first = 1
    while True:
        result = await session.call("read_file", path="long.txt", first_line=first)
        assert len(result.output.encode()) <= MAX_OUTPUT_BYTES + 100
        rows = result.output.split("\n")
        got += [row.partition("\t")[2] for row in rows[:-1]]
        if "first_line=" not in rows[-1]:
            break
        first = int(rows[-1].rpartition("=")[2].rstrip("]"))
    assert got == wanted


async def test_read_file_marks_a_line_that_it_cut(session: ToolSession):
    session.put("min.js", "x" * 5000 + "\nshort\n")
    result = await session.call("read_file", path="min.js")
    assert result.output.startswith(f"     1\t{'x' * 2000} [... line cut]\n     2\tshort\n")


async def test_read_file_fails_for_a_line_beyond_the_end(session: ToolSession):
    session.put("a.txt", "one\n")
    result = await session.call("read_file", path="a.txt", first_line=9)
    assert (result.failed, result.output) == (True, "a.txt has only 1 line; there is no line 9.")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"%PDF-1.7\n\xff\xfe\x00", "file is binary (PDF, 12 bytes); it is not shown as text."),
        (
            b"\x89PNG\r\n\x1a\n" + bytes(4_000_000),
            "file is binary (PNG image, 3.8 MiB); it is not shown as text.",
        ),
        (
            b"\x1f\x8b\x08\x00abc",
            "file is binary (gzip archive, 7 bytes); it is not shown as text.",
        ),
        (b"", "file is empty."),
        (b"a\r\nb\r\n", "     1\ta\n     2\tb\n[2 lines, 6 bytes; lines end with CRLF]"),
    ],
)
async def test_read_file_describes_files_that_are_no_text(
    session: ToolSession, content: bytes, expected: str
):
    session.put("file", content)
    result = await session.call("read_file", path="file")
    assert (result.output, result.failed) == (expected, False)


async def test_read_file_gives_an_image_to_models_that_see(session: ToolSession):
    content = b"\x89PNG\r\n\x1a\n" + bytes(2_000_000)
    session.put("pictures/boat.png", content)
    result = await session.call("read_file", path="pictures/boat.png")
    assert result.output == "pictures/boat.png: PNG image, 1.9 MiB"
    assert [(image.kind, image.data == content) for image in result.images] == [("image/png", True)]


@pytest.mark.parametrize("tool", ["read_file", "edit_file"])
async def test_file_tools_suggest_names_for_a_wrong_path(session: ToolSession, tool: str):
    session.put("src/application.py", SOURCE)
    more = {"old": "a", "new": "b"} if tool == "edit_file" else {}
    near = await session.call(tool, path="src/aplication.py", **more)
    assert near.output == "There is no file src/aplication.py. Did you mean src/application.py?"
    lost = await session.call(tool, path="nowhere/a.py", **more)
    assert lost.output == "There is no file nowhere/a.py: its folder does not exist either."
    folder = await session.call(tool, path="src", **more)
    assert folder.output == "src is a folder. Use list_directory."
    assert near.failed
    assert lost.failed
    assert folder.failed


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "link"])
async def test_file_tools_refuse_a_path_outside_of_the_workspace(session: ToolSession, path: str):
    (session.workspace.root / "link").symlink_to("/etc/passwd")
    for tool, more in [
        ("read_file", {}),
        ("write_file", {"content": "x"}),
        ("edit_file", {"old": "root", "new": "x"}),
        ("search_files", {"pattern": "root"}),
        ("list_directory", {}),
    ]:
        result = await session.call(tool, path=path, **more)
        assert (result.cause, result.failed) == ("refused", True), tool
        assert result.output == f"{path}: This path is outside the workspace."


@pytest.mark.parametrize(
    "path", ["src/a b ü.py", "./src/../src/a b ü.py", "/workspace/src/a b ü.py", "src//a b ü.py"]
)
async def test_file_tools_treat_every_spelling_of_a_path_alike(session: ToolSession, path: str):
    session.put("src/a b ü.py", "old\n")
    assert "1\told\n" in (await session.call("read_file", path=path)).output
    session.put("src/a b ü.py", "new\n")
    result = await session.call("edit_file", path="src/a b ü.py", old="new", new="newer")
    assert "has changed since you last read it" in result.output


async def test_write_file_creates_folders(session: ToolSession):
    result = await session.call("write_file", path="a/b/c.txt", content="one\ntwo")
    assert result.output == "Created a/b/c.txt: 2 lines, 7 bytes."
    assert (session.workspace.root / "a/b/c.txt").read_text() == "one\ntwo"


async def test_write_file_shows_the_diff_of_a_replaced_file(session: ToolSession):
    session.put("a.txt", "one\ntwo\n")
    result = await session.call("write_file", path="a.txt", content="one\nthree\n")
    assert result.output.startswith("Replaced a.txt: 2 lines, 10 bytes.\n")
    assert "-two\n+three" in result.output


async def test_edit_file_shows_a_short_diff(session: ToolSession):
    session.put("app.py", SOURCE)
    result = await session.call("edit_file", path="app.py", old="return 1", new="return 10")
    assert result.output.startswith("Edited app.py: 1 line added, 1 line removed.\n")
    assert "-    return 1\n+    return 10" in result.output
    assert (session.workspace.root / "app.py").read_text() == SOURCE.replace(
        "return 1", "return 10"
    )


async def test_edit_file_cuts_a_long_diff(session: ToolSession):
    session.put("n.txt", "a much longer row of such words: x\n" * 500)
    result = await session.call("edit_file", path="n.txt", old="x", new="y", every=True)
    assert result.truncated
    assert len(result.output) < 4500
    assert (
        session.workspace.root / "n.txt"
    ).read_text() == "a much longer row of such words: y\n" * 500


@pytest.mark.parametrize(
    ("old", "expected"),
    [
        (
            "return",
            "occurs 2 times; give more of its surroundings. It begins at lines 2, 5.",
        ),
        ("def  a():", "does not occur in the file. A similar first line is at line 1"),
        ("return 3", "Read the file and copy the text exactly, without the line numbers."),
    ],
)
async def test_edit_file_names_similar_lines_if_the_text_does_not_occur(
    session: ToolSession, old: str, expected: str
):
    file = session.put("app.py", SOURCE)
    result = await session.call("edit_file", path="app.py", old=old, new="x")
    assert result.failed
    assert result.output.startswith("Nothing was changed in app.py. ")
    assert expected in result.output
    assert file.read_text() == SOURCE


async def test_edit_file_refuses_an_edit_without_a_change(session: ToolSession):
    session.put("app.py", SOURCE)
    result = await session.call("edit_file", path="app.py", old="def", new="def", every=True)
    assert (result.failed, result.output) == (True, "old and new are the same: nothing to change.")


@pytest.mark.parametrize(
    ("tool", "more"), [("edit_file", {"old": "a", "new": "b"}), ("write_file", {"content": "b"})]
)
async def test_file_tools_refuse_a_file_that_changed_since_it_was_read(
    session: ToolSession, tool: str, more: dict
):
    file = session.put("a.txt", "a\n")
    await session.call("read_file", path="a.txt")
    await session.call("bash", command="echo more >> a.txt")
    result = await session.call(tool, path="a.txt", **more)
    assert (result.failed, file.read_text()) == (True, "a\nmore\n")
    assert result.output == (
        "a.txt has changed since you last read it, so nothing was written. Read it again first."
    )
    await session.call("read_file", path="a.txt")
    assert not (await session.call(tool, path="a.txt", **more)).failed


async def test_edit_file_edits_a_file_that_was_never_read(session: ToolSession):
    session.put("a.txt", "a\n")
    assert not (await session.call("edit_file", path="a.txt", old="a", new="b")).failed


async def test_write_file_writes_a_file_that_was_deleted_since_it_was_read(session: ToolSession):
    file = session.put("a.txt", "a\n")
    await session.call("read_file", path="a.txt")
    file.unlink()
    result = await session.call("write_file", path="a.txt", content="b\n")
    assert (result.failed, file.read_text()) == (False, "b\n")
    file.unlink()
    lost = await session.call("edit_file", path="a.txt", old="b", new="c")
    assert lost.failed


async def test_file_tools_ignore_their_own_changes(session: ToolSession):
    file = session.put("a.txt", "1")
    await session.call("read_file", path="a.txt")
    for old, new in [("1", "2"), ("2", "3")]:
        assert not (await session.call("edit_file", path="./a.txt", old=old, new=new)).failed
    assert not (await session.call("write_file", path="a.txt", content="4")).failed
    assert not (await session.call("edit_file", path="a.txt", old="4", new="5")).failed
    assert file.read_text() == "5"


async def test_edit_file_edits_once_for_a_repeated_call_id(session: ToolSession):
    file = session.put("a.txt", "x\n")
    results = [
        await session.call("edit_file", call_id="one", path="a.txt", old="x", new="xx")
        for _ in range(2)
    ]
    assert results[0] == results[1]
    assert file.read_text() == "xx\n"


async def test_write_file_recognizes_its_own_content_in_a_new_runner(session: ToolSession):
    session.put("a.txt", "old")
    await session.call("read_file", path="a.txt")
    before = dict(session.seen_files)
    await session.call("write_file", path="a.txt", content="new")
    session.seen_files.clear()
    session.workspace.forget_calls()
    # As a worker has it that took over before the outcome was stored.
    session.seen_files.update(before)
    result = await session.call("write_file", path="a.txt", content="new")
    assert (result.failed, result.output) == (False, "a.txt already has this content.")
    assert session.seen_files["a.txt"] == hashlib.sha256(b"new").hexdigest()


async def test_write_file_never_puts_masks_over_secrets(session: ToolSession):
    session.limits["mask"] = SecretMask(["canary-0123456789"])
    file = session.put("a.env", "# *** old ***\nTOKEN=canary-0123456789\nDEBUG=0\n")
    result = await session.call(
        "write_file", path="a.env", content="# *** old ***\nTOKEN=***\nDEBUG=1\n"
    )
    assert (result.failed, "edit_file" in result.output) == (True, True)
    edited = await session.call(
        "edit_file", path="a.env", old="TOKEN=***\nDEBUG=0", new="TOKEN=***\nDEBUG=1"
    )
    assert "leave it out of old and new" in edited.output
    assert "DEBUG=0" in file.read_text()
    assert not (await session.call("edit_file", path="a.env", old="DEBUG=0", new="DEBUG=1")).failed
    assert file.read_text() == "# *** old ***\nTOKEN=canary-0123456789\nDEBUG=1\n"
    # Stars of its own do no harm, and a file without secrets may get some.
    assert not (await session.call("write_file", path="a.env", content="# *** old ***\n")).failed
    assert not (await session.call("write_file", path="a.env", content="*** *** ***\n")).failed
    assert not (await session.call("write_file", path="new.md", content="***\n")).failed
