"""Files the agent made to trap whoever reads them."""

import asyncio
import time

import pytest

from paca.engine.workspace import (
    FileTooLarge,
    NoSuchFile,
    NotAFile,
    OutsideWorkspace,
    WorkspaceError,
)

pytestmark = [pytest.mark.service, pytest.mark.anyio]


async def test_reading_a_pipe_a_device_or_a_socket_never_waits(hands):
    made = await hands.bash(
        "mkfifo pipe; ln -s /dev/zero device; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'"
    )
    assert made.exit_code == 0
    began = time.monotonic()
    for attempt in (
        hands.sandbox.read_lines("pipe"),
        hands.sandbox.read("sock"),
        hands.sandbox.write("w", "pipe", b""),
    ):
        with pytest.raises(NotAFile, match="named pipe|socket"):
            await attempt
    with pytest.raises(OutsideWorkspace):
        await hands.sandbox.read_lines("device")
    assert time.monotonic() - began < 20
    kinds = {entry.path: entry.kind for entry in await hands.sandbox.list()}
    assert kinds == {"pipe": "other", "sock": "other", "device": "link"}


async def test_a_huge_file_is_never_loaded(open_sandbox):
    hands = await open_sandbox(workspace_mib=4096)
    await hands.bash("truncate -s 3G huge.bin; yes text | head -c 40000000 > huge.txt")
    began = time.monotonic()
    found = await hands.sandbox.read_lines("huge.bin")
    assert (found.binary, found.size, found.text) == ("binary data", 3 << 30, "")
    with pytest.raises(FileTooLarge, match="40000000 bytes; read a part"):
        await hands.sandbox.read_lines("huge.txt")
    with pytest.raises(FileTooLarge):
        await hands.sandbox.replace("r", "huge.bin", "a", "b")
    with pytest.raises(FileTooLarge):
        await hands.sandbox.write("w", "mine.bin", bytes(20 << 20))
    assert await hands.sandbox.read("huge.bin", offset=2 << 30, limit=10) == bytes(10)
    assert time.monotonic() - began < 20
    resident = int((await hands.bash("awk '/VmRSS/ {print $2}' /proc/1/status")).output)
    assert resident < 128 << 10


async def test_a_long_answer_is_cut(hands):
    await hands.put("wide.txt", "x" * 100_000 + "\nsecond\n")
    found = await hands.sandbox.read_lines("wide.txt")
    assert found.truncated
    assert len(found.text) < 70_000
    assert found.text.endswith("second\n")
    await hands.put("long.txt", "some words in a line\n" * 20_000)
    found = await hands.sandbox.read_lines("long.txt", count=20_000)
    assert found.truncated
    assert (found.total, found.last) == (20_000, len(found.text.splitlines()))


LINKS = {
    "to a file outside": ("ln -s /etc/passwd trap", "trap"),
    "up and out": ("ln -s ../../../etc/passwd trap", "trap"),
    "to a folder outside": ("ln -s /etc trap", "trap/passwd"),
    "through a link": ("ln -s /etc one; ln -s one two", "two/passwd"),
    "to the root": ("ln -s / trap", "trap/etc/passwd"),
    "through proc": ("ln -s /proc/self/root trap", "trap/etc/passwd"),
    "in the middle": ("mkdir a; ln -s ../.. a/trap", "a/trap/etc/passwd"),
}


@pytest.mark.parametrize(("make", "path"), LINKS.values(), ids=LINKS)
async def test_no_link_leads_outside(hands, make, path):
    await hands.bash(make)
    for attempt in (
        hands.sandbox.read_lines(path),
        hands.sandbox.stat(path),
        hands.sandbox.write("w", path, b"x"),
        hands.bash("pwd", cwd=path),
    ):
        with pytest.raises(OutsideWorkspace):
            await attempt


async def test_a_link_that_stays_inside_is_followed(hands):
    await hands.bash(
        "mkdir -p real/deep; echo text > real/a; ln -s real link; ln -s /workspace/real/deep far; ln -s ../a real/up"
    )
    assert (await hands.sandbox.read_lines("link/a")).text == "text\n"
    assert (await hands.sandbox.stat("far")).path == "real/deep"
    change = await hands.sandbox.write("w", "link/a", b"new\n")
    assert change.path == "real/a"
    assert (await hands.bash("cat real/a; stat -c %F link")).output == "new\nsymbolic link\n"


async def test_links_that_go_in_circles_end(hands):
    await hands.bash("ln -s b a; ln -s a b; ln -s c c")
    for path in ("a", "c", "a/x"):
        with pytest.raises(NoSuchFile):
            await hands.sandbox.read_lines(path)


async def test_a_path_exchanged_while_it_is_used_never_leads_outside(hands):
    await hands.bash("mkdir -p safe; echo inside > safe/passwd; ln -s /etc trap; cp -r safe spare")
    swapping = asyncio.create_task(
        hands.bash(
            "while true; do mv safe old; mv trap safe; mv safe trap; mv old safe; done",
            seconds=60,
            call_id="swap",
        )
    )
    for _ in range(300):
        try:
            found = await hands.sandbox.read_lines("safe/passwd")
        except (OutsideWorkspace, NoSuchFile):
            continue
        assert found.text == "inside\n"
    await hands.sandbox.kill("swap")
    await swapping


async def test_names_that_are_no_text_can_be_listed_and_read(hands):
    await hands.bash(r"printf bytes > $'caf\xe9.txt'; printf surrogate > $'\xed\xa0\x80'")
    names = [entry.path for entry in await hands.sandbox.list()]
    for name in names:
        name.encode("utf-8")
    assert "caf\ufffd.txt" in names
    assert (await hands.sandbox.read_lines("caf\ufffd.txt")).text == "bytes"
    assert (await hands.sandbox.read_lines("\ud800")).text == "surrogate"


@pytest.mark.parametrize("path", ["a\0b", "x" * 300, "file/below"])
async def test_a_path_that_cannot_be_is_refused_with_a_reason(hands, path):
    await hands.put("file", "")
    for attempt in (hands.sandbox.read_lines(path), hands.sandbox.write("w", path + "/x", b"")):
        with pytest.raises(WorkspaceError) as refusal:
            await attempt
        assert refusal.value.detail
    assert (await hands.bash("echo alive")).output == "alive\n"


async def test_a_folder_without_rights_is_refused_not_fatal(hands):
    await hands.bash("mkdir closed; touch closed/a; chmod 0 closed; touch sealed; chmod 0 sealed")
    for attempt in (
        hands.sandbox.read("sealed"),
        hands.sandbox.read("closed/a"),
        hands.sandbox.list("closed"),
    ):
        with pytest.raises(WorkspaceError, match="Permission denied"):
            await attempt


async def test_writing_keeps_the_mode_and_leaves_nothing_beside(hands):
    await hands.put("tool.sh", "#!/bin/sh\necho one\n")
    await hands.bash("chmod 755 tool.sh")
    await hands.sandbox.replace("r", "tool.sh", "one", "two")
    assert (await hands.bash("./tool.sh; ls -A")).output == "two\ntool.sh\n"


async def test_windows_line_ends_are_matched_and_kept(hands):
    await hands.put("dos.txt", "one\r\ntwo\r\nthree\r\n")
    await hands.sandbox.replace("r", "dos.txt", "one\ntwo\n", "1\n2\n")
    assert await hands.sandbox.read("dos.txt") == b"1\r\n2\r\nthree\r\n"


async def test_the_output_folder_is_no_trap(hands):
    await hands.bash("mkdir -p .paca; ln -s /etc .paca/output; ln -s /etc/passwd .paca/.gitignore")
    outcome = await hands.bash("seq 100000")
    assert outcome.truncated
    assert outcome.file == ""
    await hands.bash("rm -rf .paca; mkdir .paca; chmod 0 .paca")
    assert (await hands.bash("seq 100000")).truncated


async def test_a_thousand_long_outputs_do_not_fill_the_workspace(hands):
    for _ in range(40):
        await hands.bash("seq 20000")
    assert int((await hands.bash("ls .paca/output | wc -l")).output) <= 32
