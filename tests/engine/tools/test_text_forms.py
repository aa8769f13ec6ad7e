"""File tools keep the form of a text: its line ends, its encoding and the Unicode form of its name."""

import unicodedata

import pytest

from tests.engine.tools.conftest import ToolSession

pytestmark = pytest.mark.anyio

COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "ü.txt") for form in ("NFC", "NFD"))
TEXT = "eins\r\nzwölf\r\ndrei\r\n"
ENCODINGS = {
    "Windows-1252": ("cp1252", b""),
    "UTF-8 with BOM": ("utf-8", b"\xef\xbb\xbf"),
    "UTF-16 LE with BOM": ("utf-16-le", b"\xff\xfe"),
    "UTF-16 BE with BOM": ("utf-16-be", b"\xfe\xff"),
    "UTF-16 LE without BOM": ("utf-16-le", b""),
    "UTF-16 BE without BOM": ("utf-16-be", b""),
    "UTF-32 LE with BOM": ("utf-32-le", b"\xff\xfe\0\0"),
}


@pytest.mark.parametrize(
    ("content", "old", "new", "after"),
    [
        (
            b"one\r\ntwo\r\nthree\r\n",
            "two",
            "two\ntwo and a half",
            b"one\r\ntwo\r\ntwo and a half\r\nthree\r\n",
        ),
        (b"one\r\ntwo\nthree\r\n", "one\ntwo\nthree", "one\n2\nthree", b"one\r\n2\nthree\r\n"),
        (b"one\r\ntwo\nthree\r\n", "three\n", "three\nfour\n", b"one\r\ntwo\nthree\r\nfour\r\n"),
        (b"one\ntwo\n", "two", "two\r\nthree", b"one\ntwo\nthree\n"),
        (b"one\rtwo\rthree\r", "two\nthree", "two\n2.5\nthree", b"one\rtwo\r2.5\rthree\r"),
        (b"one\r\ntwo", "two", "two\nthree", b"one\r\ntwo\r\nthree"),
        (b"one", "one", "one\ntwo", b"one\ntwo"),
        (b"one\r\ntwo\r\n", "\r\n", "\n", b"one\ntwo\n"),
        (b"a\r\nb\na\r\nb\n", "a\nb", "a\nx\nb", b"a\r\nx\nb\na\r\nx\nb\n"),
        (b"one\x0ctwo\r\n", "two", "2", b"one\x0c2\r\n"),
    ],
)
async def test_edit_file_gives_new_lines_the_line_ends_of_the_file(
    session: ToolSession, content: bytes, old: str, new: str, after: bytes
):
    file = session.put("a.txt", content)
    result = await session.call("edit_file", path="a.txt", old=old, new=new, every=True)
    assert (result.failed, file.read_bytes()) == (False, after)


async def test_write_file_keeps_the_line_ends_of_the_file_that_it_replaces(session: ToolSession):
    file = session.put("a.txt", b"one\r\ntwo\r\n")
    result = await session.call("write_file", path="a.txt", content="one\n2\n")
    assert file.read_bytes() == b"one\r\n2\r\n"
    assert result.output.startswith(
        "Replaced a.txt: 2 lines, 6 bytes (kept: lines end with CRLF).\n"
    )


@pytest.mark.parametrize("name", ENCODINGS)
async def test_file_tools_name_and_keep_the_encoding_of_a_file(session: ToolSession, name: str):
    codec, mark = ENCODINGS[name]
    file = session.put("a.txt", mark + TEXT.encode(codec))
    read = await session.call("read_file", path="a.txt")
    assert read.output.startswith("     1\teins\n     2\tzwölf\n     3\tdrei\n[3 lines, ")
    assert read.output.endswith(f"; encoding {name}; lines end with CRLF]")
    edited = await session.call("edit_file", path="a.txt", old="zwölf", new="fünf\nzwölf")
    assert file.read_bytes() == mark + "eins\r\nfünf\r\nzwölf\r\ndrei\r\n".encode(codec)
    assert f"(kept: encoding {name}, lines end with CRLF)" in edited.output
    assert "+fünf" in edited.output
    await session.call("write_file", path="a.txt", content="für\nalle\n")
    assert file.read_bytes() == mark + "für\r\nalle\r\n".encode(codec)


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("zwölf\n".encode("cp1252"), "Windows-1252"),
        (b"a\x81b\x8d\xff text\n", "unknown: not UTF-8"),
    ],
)
@pytest.mark.parametrize(
    ("tool", "more"),
    [("edit_file", {"old": "\n", "new": " →\n"}), ("write_file", {"content": "→\n"})],
)
async def test_file_tools_refuse_a_character_that_the_encoding_of_the_file_lacks(
    session: ToolSession, content: bytes, encoding: str, tool: str, more: dict
):
    file = session.put("a.txt", content)
    result = await session.call(tool, path="a.txt", **more)
    assert (result.failed, file.read_bytes()) == (True, content)
    assert f"encoding is {encoding}" in result.output
    assert "'→' (U+2192) cannot be written" in result.output


@pytest.mark.parametrize(
    "content", [b"\x81\x8d two\n", "größer, schön, ".encode() + b"\xff two\r\n", b"a\xe9 two\0 b\n"]
)
async def test_edit_file_keeps_bytes_that_are_no_text(session: ToolSession, content: bytes):
    file = session.put("a.txt", content)
    result = await session.call("edit_file", path="a.txt", old="two", new="three")
    assert (result.failed, file.read_bytes()) == (False, content.replace(b"two", b"three"))


async def test_file_tools_find_a_name_in_its_other_unicode_form(session: ToolSession):
    file = session.put(f"fo\N{LATIN SMALL LETTER O WITH DIAERESIS}/{DECOMPOSED}", "old\n")
    asked = f"fo\N{LATIN SMALL LETTER O WITH DIAERESIS}/{COMPOSED}"
    assert "old" in (await session.call("read_file", path=asked)).output
    await session.call("edit_file", path=asked, old="old", new="new")
    await session.call("write_file", path=unicodedata.normalize("NFD", asked), content="newer\n")
    assert [path.name for path in file.parent.iterdir()] == [DECOMPOSED]
    assert file.read_text() == "newer\n"
    for tool, more in (("list_directory", {}), ("search_files", {"pattern": "newer"})):
        found = await session.call(tool, glob=COMPOSED, **more)
        assert DECOMPOSED in found.output


async def test_file_tools_tell_names_apart_that_look_the_same(session: ToolSession):
    session.put(COMPOSED, "composed\n")
    session.put(DECOMPOSED, "decomposed\n")
    for name, content in ((COMPOSED, "composed"), (DECOMPOSED, "decomposed")):
        result = await session.call("read_file", path=name)
        assert f"\t{content}\n" in result.output


async def test_search_finds_lines_with_bytes_that_are_not_utf8(session: ToolSession):
    session.put("a.txt", TEXT.encode("cp1252"))
    found = (await session.call("search_files", pattern="^zw")).output
    assert "a.txt:2:zw" in found


async def test_a_diff_shows_a_form_feed_as_part_of_its_line(session: ToolSession):
    session.put("a.txt", "one\x0ctwo\nthree\n")
    result = await session.call("edit_file", path="a.txt", old="three", new="3")
    assert "No newline at end of file" not in result.output
