"""The tools that search lines and list files, with grep and with ripgrep."""

import re
import stat
from pathlib import Path

import pytest

from paca.engine.tools import search
from paca.engine.tools.globs import glob_to_regex
from paca.engine.tools.search import SearchFiles
from tests.engine.tools.conftest import ToolSession

pytestmark = pytest.mark.anyio


@pytest.fixture
def library(session: ToolSession) -> ToolSession:
    session.put("src/app.py", "import os\nneedle = 1\nNEEDLE = 22\n")
    session.put("src/deep/view.ts", "const needle = 3\n")
    session.put("src/deep/view.tsx", "<needle/>\n")
    session.put("-n odd ü.txt", "needle here\n")
    session.put("node_modules/lib/index.js", "needle\n")
    session.put(".git/config", "needle\n")
    session.put("image.bin", b"needle\0\xff\n")
    return session


async def found(session: ToolSession, **arguments: object) -> list[str]:
    result = await session.call("search_files", **arguments)
    return sorted(line for line in result.output.split("\n") if not line.startswith("["))


async def test_search_gives_matches_with_path_and_line_number(library: ToolSession):
    assert await found(library, pattern="needle") == [
        "-n odd ü.txt:1:needle here",
        "src/app.py:2:needle = 1",
        "src/deep/view.ts:1:const needle = 3",
        "src/deep/view.tsx:1:<needle/>",
    ]


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"ignore_case": True, "glob": "*.py"}, ["src/app.py:2", "src/app.py:3"]),
        ({"glob": "*.{ts,tsx}"}, ["src/deep/view.ts:1", "src/deep/view.tsx:1"]),
        ({"glob": "src/**/*.ts"}, ["src/deep/view.ts:1"]),
        ({"glob": "src/*.py"}, ["src/app.py:2"]),
        ({"path": "src/deep", "glob": "*.ts"}, ["src/deep/view.ts:1"]),
        ({"path": "src/app.py"}, ["src/app.py:2"]),
        ({"path": "./src/../src/"}, ["src/app.py:2", "src/deep/view.ts:1", "src/deep/view.tsx:1"]),
        ({"glob": "-n odd ?.txt"}, ["-n odd ü.txt:1"]),
        ({"path": "node_modules"}, ["node_modules/lib/index.js:1"]),
        ({"path": ".git"}, [".git/config:1"]),
        ({"path": "-n odd ü.txt"}, ["-n odd ü.txt:1"]),
    ],
)
async def test_search_is_narrowed_by_path_and_glob(
    library: ToolSession, arguments: dict[str, object], paths: list[str]
):
    lines = await found(library, pattern="needle", **arguments)
    assert [":".join(line.split(":")[:2]) for line in lines] == paths


async def test_search_accepts_perl_style_expressions(library: ToolSession):
    assert await found(library, pattern=r"^\w+\s=\s\d{2,}$") == ["src/app.py:3:NEEDLE = 22"]
    assert await found(library, pattern="-n") == ["Nothing matches."]


@pytest.mark.parametrize(
    "text",
    [
        "$(touch pwned)",
        "`touch pwned`",
        "'; touch pwned; '",
        "--version",
        '"; touch pwned #',
    ],
)
async def test_search_reads_no_argument_as_shell(library: ToolSession, text: str):
    for arguments in (
        {"pattern": re.sub(r"([$()])", r"\\\1", text)},
        {"pattern": "needle", "glob": re.sub(r"[^\w $();'`\"#-]", "", text)},
    ):
        result = await library.call("search_files", **arguments)
        assert (result.output, result.failed) == ("Nothing matches.", False)
    assert (await library.call("list_directory", glob=text)).output == "No file or folder matches."
    assert not (library.workspace.root / "pwned").exists()


async def test_search_reports_that_there_are_more_matches(library: ToolSession):
    library.put("many.txt", "needle\n" * 50)
    result = await library.call("search_files", pattern="needle", path="many.txt", limit=3)
    assert result.truncated
    assert result.output == (
        "many.txt:1:needle\nmany.txt:2:needle\nmany.txt:3:needle\n"
        "[the first 3 matches; there are more: narrow it with path, glob or the pattern]"
    )
    exact = await library.call("search_files", pattern="needle", path="many.txt", limit=50)
    assert exact.output.endswith("\n[50 matches]")
    assert not exact.truncated


async def test_search_marks_a_line_that_it_cut(library: ToolSession):
    library.put("min.js", "needle" + "x" * 100_000 + "\n")
    (line,) = await found(library, pattern="needle", path="min.js")
    assert line.endswith("xxx [... line cut]")
    assert len(line) < 650


async def test_search_tells_an_invalid_pattern_from_one_without_matches(library: ToolSession):
    wrong = await library.call("search_files", pattern="needle(")
    assert wrong.failed
    assert wrong.output.startswith("The pattern is no regular expression:\n")
    assert (await library.call("search_files", pattern="haystack")).output == "Nothing matches."


async def test_search_shows_its_matches_after_a_timeout(
    library: ToolSession, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(SearchFiles, "timeout_seconds", 0.5)
    monkeypatch.setattr(search, "SEARCH_SCRIPT", "echo ./a.py:1:needle; sleep 30")
    result = await library.call("search_files", pattern="needle")
    assert (result.failed, result.cause) == (True, "timed_out")
    assert "the search ended early (timed_out, limit 0.50 s)" in result.output


async def test_search_reports_output_that_the_runner_cut(library: ToolSession):
    library.put("wide.txt", ("needle" + "x" * 500 + "\n") * 500)
    result = await library.call("search_files", pattern="needle", path="wide.txt", limit=1000)
    assert result.truncated
    assert result.output.endswith(
        "[more matches than can be shown: narrow it with path, glob or the pattern]"
    )


async def test_search_reports_missing_programs_in_the_sandbox(
    library: ToolSession, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(search, "SEARCH_SCRIPT", "echo no such program >&2; exit 127")
    result = await library.call("search_files", pattern="needle")
    assert (result.failed, result.output) == (True, "The search did not run:\nno such program")


async def test_search_and_listing_name_a_missing_folder(library: ToolSession):
    for tool, more in [
        ("search_files", {"pattern": "x"}),
        ("list_directory", {}),
        ("list_directory", {"glob": "*"}),
    ]:
        result = await library.call(tool, path="nowhere", **more)
        assert (result.failed, result.output) == (True, "nowhere: There is no such file.")


async def test_search_uses_ripgrep_if_it_is_installed(
    library: ToolSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ripgrep = tmp_path / "bin" / "rg"
    ripgrep.parent.mkdir()
    ripgrep.write_text(
        '#!/bin/sh\n[ "$1" = --no-config ] && [ "$#" -gt 6 ] && printf "./by-rg:1:%s\\n" "$*"\nexit 0\n'
    )
    ripgrep.chmod(ripgrep.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{ripgrep.parent}:/usr/bin:/bin")
    (line,) = await found(library, pattern="-needle", path="src", glob="*.py", ignore_case=True)
    assert line.startswith("by-rg:1:--no-config ")
    assert "--ignore-case --glob=*.py --glob=!.git " in line
    assert line.endswith(" -e -needle -- ./src")


async def test_listing_shows_kinds_and_sizes(library: ToolSession):
    (library.workspace.root / "latest").symlink_to("src")
    result = await library.call("list_directory")
    assert result.output == (
        "-n odd ü.txt  12 bytes\n.git/\nimage.bin  9 bytes\nlatest  (link)\nnode_modules/\nsrc/\n[6 entries]"
    )


async def test_listing_goes_as_deep_as_asked(library: ToolSession):
    result = await library.call("list_directory", path="src", depth=2)
    assert result.output.split("\n")[:-1] == [
        "src/app.py  33 bytes",
        "src/deep/",
        "src/deep/view.ts  17 bytes",
        "src/deep/view.tsx  10 bytes",
    ]


async def test_listing_finds_files_by_name(library: ToolSession):
    result = await library.call("list_directory", glob="*.ts*")
    assert result.output == ("src/deep/view.ts  17 bytes\nsrc/deep/view.tsx  10 bytes\n[2 entries]")


async def test_listing_reports_an_empty_and_a_large_folder(session: ToolSession):
    assert (await session.call("list_directory")).output == "The folder is empty."
    for number in range(510):
        session.put(f"f{number:03}", "")
    for more in ({}, {"glob": "f*"}):
        result = await session.call("list_directory", **more)
        assert result.truncated
        assert "[the first 500 entries; there are more: " in result.output


@pytest.mark.parametrize(
    ("glob", "yes", "no"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc", "apy", "a.py/b"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "x/src/a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py"]),
        ("**/test_?.py", ["test_1.py", "a/test_2.py"], ["test_10.py"]),
        ("*.{ts,tsx}", ["a.ts", "b/a.tsx"], ["a.t", "a.ts,tsx"]),
        ("[!a]*.c", ["b.c"], ["a.c"]),
        ("a+b(1).txt", ["a+b(1).txt"], ["aab1.txt", "ab(1)xtxt"]),
        ("{", ["{"], ["x"]),
        ("a,b", ["a,b"], ["a"]),
        (r"\*.md", ["*.md"], ["x.md"]),
        ("docs/", ["docs", "x/docs"], ["docs/a"]),
    ],
)
def test_glob_matches_as_in_ripgrep_and_git(glob: str, yes: list[str], no: list[str]):
    pattern = re.compile(glob_to_regex(glob))
    assert [path for path in yes if not pattern.fullmatch(path)] == []
    assert [path for path in no if pattern.fullmatch(path)] == []
