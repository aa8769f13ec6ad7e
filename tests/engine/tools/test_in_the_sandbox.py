"""The tools in a real bubblewrap sandbox, with cases that broke other products."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from paca.sandbox.base import SandboxLimits, SandboxSpec
from paca.sandbox.bubblewrap.backend import Bubblewrap
from tests.engine.tools.conftest import ToolSession
from tests.support import runners

pytestmark = [pytest.mark.anyio, pytest.mark.service]

LIMITS = SandboxLimits(memory_mib=512, workspace_mib=4096)


@pytest.fixture
async def boxed(tmp_path: Path) -> AsyncIterator[ToolSession]:
    """A session with a real sandbox as its workspace."""
    backend = Bubblewrap(tmp_path / "data", "tools-tests")
    sandbox = await backend.open(SandboxSpec(uuid4(), limits=LIMITS), epoch=1)
    try:
        yield ToolSession(sandbox, limits={"memory_mib": 512, "workspace_mib": 4096})
    finally:
        await sandbox.end(keep_files=False)


@pytest.mark.parametrize(
    ("command", "begins"),
    [
        ("head -c 4096 /dev/urandom", ""),
        (r"printf 'a\000b'", "a␀b\n"),
        (r"printf '\345'; sleep 0.2; printf '\255\227'", "字\n"),
        (r"printf 'a\355\240\200b'", "a"),
    ],
)
async def test_bash_output_that_is_no_text_can_be_stored(
    boxed: ToolSession, command: str, begins: str
):
    result = await boxed.call("bash", command=command)
    assert (result.failed, result.exit_code) == (False, 0)
    assert result.output.startswith(begins)
    assert "\0" not in result.output
    result.output.encode()
    assert (await boxed.call("bash", command="echo on")).output.startswith("on\n")


async def test_listing_and_search_show_a_file_name_that_is_no_text(boxed: ToolSession):
    await boxed.call("bash", command=r"echo needle > $'odd\355\240\200.txt'")
    for tool, more in [
        ("list_directory", {}),
        ("list_directory", {"glob": "*"}),
        ("search_files", {"pattern": "n"}),
    ]:
        result = await boxed.call(tool, **more)
        assert result.output.startswith("odd"), result
        result.output.encode()


@pytest.mark.parametrize(
    ("make", "expected", "failed"),
    [
        (r"printf '%%PDF-1.7\n\000\377' > file", "PDF", False),
        (r"printf '\211PNG\r\n\032\n\000\000' > file", "PNG", False),
        ("echo text | gzip > file", "gzip", False),
        (": > file", "file is empty.", False),
        ("mkdir file", "file is a folder. Use list_directory.", True),
        ("mkfifo file", "pipe", True),
        ("truncate -s 3G file", "3.0 GiB", False),
        ("ln -s /dev/zero file", "outside the workspace", True),
    ],
)
async def test_read_file_describes_special_files_at_once(
    boxed: ToolSession, make: str, expected: str, failed: bool
):
    made = await boxed.call("bash", command=make)
    assert not made.failed, made
    result = await boxed.call("read_file", path="file")
    assert expected in result.output
    assert result.failed is failed


@pytest.mark.parametrize(
    ("command", "asked"),
    [
        ("read -p 'Name? ' x; echo got=$x", True),
        ("git init -q .; git commit --allow-empty", True),
        ("python3 -c 'input()'", True),
        ("cat", False),
        ("git clone https://127.0.0.1:1/private", False),
        ("sudo -k true", False),
    ],
)
async def test_bash_command_that_wants_input_ends_at_once(
    boxed: ToolSession, command: str, asked: bool
):
    result = await boxed.call("bash", command=command, timeout_seconds=20)
    assert result.cause == "", "it waited until its time was over"
    assert not asked or "It wanted input, and standard input is closed" in result.output


@pytest.mark.parametrize(
    "path", ["src/a ü.py", "./src/../src/a ü.py", "/workspace/src/a ü.py", "src//a ü.py"]
)
async def test_file_tools_in_the_sandbox_treat_every_spelling_of_a_path_alike(
    boxed: ToolSession, path: str
):
    await boxed.call("write_file", path=path, content="x = 1\n")
    assert (await boxed.call("read_file", path="src/a ü.py")).output.startswith("     1\tx = 1\n")
    await boxed.call("bash", command="echo 'x = 2' > 'src/a ü.py'")
    late = await boxed.call("edit_file", path=path, old="x = 2", new="x = 3")
    assert "has changed since you last read it" in late.output
    await boxed.call("read_file", path="./src/a ü.py")
    assert not (await boxed.call("edit_file", path=path, old="x = 2", new="x = 3")).failed


async def test_listing_accepts_the_workspace_itself(boxed: ToolSession):
    await boxed.call("write_file", path="a.txt", content="x\n")
    for path in (".", "/workspace", "/workspace/", "./"):
        assert (await boxed.call("list_directory", path=path)).output == "a.txt  2 bytes\n[1 entry]"
        found = await boxed.call("search_files", pattern="x", path=path)
        assert found.output == "a.txt:1:x\n[1 match]"


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "link", "folder/passwd"])
async def test_tools_refuse_a_path_outside_of_the_workspace(boxed: ToolSession, path: str):
    await boxed.call("bash", command="ln -s /etc/passwd link; ln -s /etc folder")
    for tool, more in [
        ("read_file", {}),
        ("write_file", {"content": "x"}),
        ("edit_file", {"old": "root", "new": "x"}),
        ("search_files", {"pattern": "root"}),
    ]:
        result = await boxed.call(tool, path=path, **more)
        assert (result.failed, result.cause) == (True, "refused"), (tool, result)
        assert "outside the workspace" in result.output


async def test_bash_in_the_sandbox_keeps_markup_and_drops_terminal_codes(boxed: ToolSession):
    evil = "<img src=x onerror=alert(1)><script>alert(2)</script>[x](javascript:alert(3))"
    await boxed.call(
        "write_file", path=f"<img src=x onerror=alert(1)>/{evil[:28]}.txt", content=evil
    )
    shown = await boxed.call(
        "bash", command=f"printf '\\033]8;;http://evil.example\\007%s\\033[2J' '{evil}'"
    )
    assert shown.output.startswith(f"{evil}\n[exit 0")
    found = await boxed.call("search_files", pattern="<script>")
    assert evil in found.output


async def test_bash_saves_long_output_in_a_file_that_can_be_read(boxed: ToolSession):
    result = await boxed.call("bash", command="seq 1 100000")
    assert result.truncated
    assert result.output.startswith("1\n2\n")
    assert "\n100000\n[exit 0" in result.output
    assert f"all of it is in {result.file}" in result.output
    part = await boxed.call("read_file", path=result.file, first_line=50_000, line_count=1)
    assert part.output.startswith(" 50000\t50000\n")
    assert (await boxed.call("list_directory")).output == "The folder is empty."


async def test_bash_names_the_time_and_memory_limits_that_ended_a_command(boxed: ToolSession):
    slow = await boxed.call("bash", command="echo begun; sleep 60", timeout_seconds=1)
    assert slow.cause == "timed_out"
    assert slow.output.startswith("begun\n[Stopped after ")
    assert "the time limit of this call is 1 s" in slow.output
    hog = await boxed.call("bash", command="python3 -c 'x = b\"x\" * (900 << 20)'")
    assert hog.cause == "out_of_memory"
    assert "out of memory (the limit is 512 MiB)" in hog.output
    assert (await boxed.call("bash", command="echo on")).output.startswith("on\n")


async def test_bash_runs_a_script_with_a_long_here_document(boxed: ToolSession):
    text = "Größe und mehr\n" * 10_000  # 150 KiB
    made = await boxed.call("bash", command=f"cat > text.txt <<'END'\n{text}END\nwc -c text.txt")
    assert made.output.startswith(f"{len(text.encode())} text.txt\n[exit 0")


async def test_bash_names_a_server_that_lives_on(boxed: ToolSession):
    started = await boxed.call(
        "bash",
        command="python3 -m http.server 8765 > log.txt 2>&1 &"
        f" {runners.until_executed('python3')}; echo started",
    )
    assert started.output.startswith("started\n[exit 0")
    assert "Still running after its end: " in started.output
    assert "(python3 -m http.server 8765)" in started.output


async def test_tool_call_with_a_repeated_id_runs_once(boxed: ToolSession):
    for _ in range(2):
        once = await boxed.call("bash", call_id="one", command="echo x >> log; cat log")
        assert once.output.startswith("x\n[exit 0")
        edit = await boxed.call("edit_file", call_id="two", path="log", old="x", new="xx")
        assert edit.output.startswith("Edited log: 1 line added, 1 line removed.\n")
    assert (await boxed.call("bash", command="cat log")).output.startswith("xx\n[")


async def test_git_tools_read_a_repository(boxed: ToolSession):
    await boxed.call("write_file", path="app/a.py", content="one\n")
    made = await boxed.call(
        "bash", command="cd app && git init -q -b main && git add -A && git commit -qm First"
    )
    assert not made.failed, made
    await boxed.call("edit_file", path="app/a.py", old="one", new="two")
    status = await boxed.call("git_status", repository="app")
    assert status.output == "## main\n M a.py"
    assert "-one\n+two" in (await boxed.call("git_diff", repository="app")).output
    assert (
        "paca-agent (HEAD -> main): First" in (await boxed.call("git_log", repository="app")).output
    )
    assert (await boxed.call("git_log", repository="..")).cause == "refused"
