"""Files with which the agent tries to trap the reader."""

import asyncio

import pytest

from paca.engine.workspace import (
    FileTooLarge,
    NoSuchFile,
    NotAFile,
    OutsideWorkspace,
    WorkspaceError,
)

pytestmark = [pytest.mark.service, pytest.mark.anyio]


async def test_reading_a_pipe_a_device_or_a_socket_never_waits(handle):
    made = await handle.bash(
        "mkfifo pipe; ln -s /dev/zero device; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'"
    )
    assert made.exit_code == 0
    for attempt in (
        handle.sandbox.read_lines("pipe"),
        handle.sandbox.read("sock"),
        handle.sandbox.write("w", "pipe", b""),
    ):
        with pytest.raises(NotAFile, match="named pipe|socket"):
            await attempt
    with pytest.raises(OutsideWorkspace):
        await handle.sandbox.read_lines("device")
    kinds = {entry.path: entry.kind for entry in await handle.sandbox.list()}
    assert kinds == {"pipe": "other", "sock": "other", "device": "link"}


async def test_a_huge_file_is_never_loaded(open_sandbox):
    handle = await open_sandbox(workspace_mib=4096)
    await handle.bash("truncate -s 3G huge.bin; yes text | head -c 40000000 > huge.txt")
    found = await handle.sandbox.read_lines("huge.bin")
    assert (found.binary, found.size, found.text) == ("binary data", 3 << 30, "")
    with pytest.raises(FileTooLarge, match="40000000 bytes; read a part"):
        await handle.sandbox.read_lines("huge.txt")
    with pytest.raises(FileTooLarge):
        await handle.sandbox.replace("r", "huge.bin", "a", "b")
    with pytest.raises(FileTooLarge):
        await handle.sandbox.write("w", "mine.bin", bytes(20 << 20))
    assert await handle.sandbox.read("huge.bin", offset=2 << 30, limit=10) == bytes(10)
    # The runner's memory at its largest, not as it is now.
    most = int((await handle.bash("awk '/VmHWM/ {print $2}' /proc/1/status")).output)
    assert most < 128 << 10


async def test_a_long_answer_is_cut(handle):
    await handle.write("wide.txt", "x" * 100_000 + "\nsecond\n")
    found = await handle.sandbox.read_lines("wide.txt")
    assert found.truncated
    assert len(found.text) < 70_000
    assert found.text.endswith("second\n")
    await handle.write("long.txt", "some words in a line\n" * 20_000)
    found = await handle.sandbox.read_lines("long.txt", count=20_000)
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
async def test_a_link_never_leads_outside_of_the_workspace(handle, make, path):
    await handle.bash(make)
    for attempt in (
        handle.sandbox.read_lines(path),
        handle.sandbox.stat(path),
        handle.sandbox.write("w", path, b"x"),
        handle.bash("pwd", cwd=path),
    ):
        with pytest.raises(OutsideWorkspace):
            await attempt


async def test_a_link_that_stays_inside_is_followed(handle):
    await handle.bash(
        "mkdir -p real/deep; echo text > real/a; ln -s real link; ln -s /workspace/real/deep far; ln -s ../a real/up"
    )
    assert (await handle.sandbox.read_lines("link/a")).text == "text\n"
    assert (await handle.sandbox.stat("far")).path == "real/deep"
    change = await handle.sandbox.write("w", "link/a", b"new\n")
    assert change.path == "real/a"
    assert (await handle.bash("cat real/a; stat -c %F link")).output == "new\nsymbolic link\n"


async def test_links_in_a_circle_are_refused(handle):
    await handle.bash("ln -s b a; ln -s a b; ln -s c c")
    for path in ("a", "c", "a/x"):
        with pytest.raises(NoSuchFile):
            await handle.sandbox.read_lines(path)


async def test_a_path_replaced_during_its_use_never_leads_outside(handle):
    await handle.bash("mkdir -p safe; echo inside > safe/passwd; ln -s /etc trap; cp -r safe spare")
    swapping = asyncio.create_task(
        handle.bash(
            "while true; do mv safe old; mv trap safe; mv safe trap; mv old safe; done",
            seconds=60,
            call_id="swap",
        )
    )
    for _ in range(300):
        try:
            found = await handle.sandbox.read_lines("safe/passwd")
        except (OutsideWorkspace, NoSuchFile):
            continue
        assert found.text == "inside\n"
    await handle.sandbox.kill("swap")
    await swapping


async def test_names_that_are_not_text_can_be_listed_and_read(handle):
    await handle.bash(r"printf bytes > $'caf\xe9.txt'; printf surrogate > $'\xed\xa0\x80'")
    names = [entry.path for entry in await handle.sandbox.list()]
    for name in names:
        name.encode("utf-8")
    assert "caf\ufffd.txt" in names
    assert (await handle.sandbox.read_lines("caf\ufffd.txt")).text == "bytes"
    assert (await handle.sandbox.read_lines("\ud800")).text == "surrogate"


@pytest.mark.parametrize("path", ["a\0b", "x" * 300, "file/below"])
async def test_an_invalid_path_is_refused_with_a_reason(handle, path):
    await handle.write("file", "")
    for attempt in (handle.sandbox.read_lines(path), handle.sandbox.write("w", path + "/x", b"")):
        with pytest.raises(WorkspaceError) as refusal:
            await attempt
        assert refusal.value.detail
    assert (await handle.bash("echo alive")).output == "alive\n"


async def test_a_folder_without_permissions_is_refused(handle):
    await handle.bash("mkdir closed; touch closed/a; chmod 0 closed; touch sealed; chmod 0 sealed")
    for attempt in (
        handle.sandbox.read("sealed"),
        handle.sandbox.read("closed/a"),
        handle.sandbox.list("closed"),
    ):
        with pytest.raises(WorkspaceError, match="Permission denied"):
            await attempt


async def test_a_write_keeps_the_mode_and_leaves_no_other_file(handle):
    await handle.write("tool.sh", "#!/bin/sh\necho one\n")
    await handle.bash("chmod 755 tool.sh")
    await handle.sandbox.replace("r", "tool.sh", "one", "two")
    assert (await handle.bash("./tool.sh; ls -A")).output == "two\ntool.sh\n"


async def test_windows_line_ends_are_matched_and_kept(handle):
    await handle.write("dos.txt", "one\r\ntwo\r\nthree\r\n")
    await handle.sandbox.replace("r", "dos.txt", "one\ntwo\n", "1\n2\n")
    assert await handle.sandbox.read("dos.txt") == b"1\r\n2\r\nthree\r\n"


async def test_an_output_folder_replaced_by_a_link_is_not_followed(handle):
    await handle.bash("mkdir -p .paca; ln -s /etc .paca/output; ln -s /etc/passwd .paca/.gitignore")
    outcome = await handle.bash("seq 100000")
    assert outcome.truncated
    assert outcome.file == ""
    await handle.bash("rm -rf .paca; mkdir .paca; chmod 0 .paca")
    assert (await handle.bash("seq 100000")).truncated


async def test_a_thousand_long_outputs_do_not_fill_the_workspace(handle):
    for _ in range(40):
        await handle.bash("seq 20000")
    assert int((await handle.bash("ls .paca/output | wc -l")).output) <= 32
