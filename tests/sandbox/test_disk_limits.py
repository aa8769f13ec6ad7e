"""The limits of a workspace hold however files are stored: in bytes, and in the number of files."""

import asyncio
import fcntl
import os
import struct
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from paca.engine.workspace import SandboxUnavailable
from paca.sandbox.base import SandboxLimits, SandboxSpec
from paca.sandbox.bubblewrap import file_tree, mounts, workspace_image
from paca.sandbox.bubblewrap.backend import Bubblewrap
from paca.sandbox.bubblewrap.launcher import Launcher
from tests.sandbox import storing
from tests.sandbox.conftest import SandboxHandle, only_bubblewrap
from tests.support import runners, waiting

pytestmark = [pytest.mark.service, pytest.mark.anyio]
LIMIT_MIB = 64
LOOP_GET_STATUS = 0x4C05

# The kernel limits a workspace with a file system of its own. Elsewhere the runner counts.
with_each_disk_limiter = pytest.mark.parametrize(
    ("backend", "disk_limiter"),
    [
        ("bubblewrap", "kernel"),
        ("bubblewrap", "runner"),
        pytest.param("docker", "runner", marks=pytest.mark.docker),
    ],
    indirect=True,
)


@pytest.fixture
def disk_limiter(request, monkeypatch) -> str:
    if request.param == "kernel" and os.geteuid() != 0:
        pytest.skip("only root may make file systems")
    if request.param == "runner":
        monkeypatch.setattr(Launcher, "image_problem", lambda self, limits: "not in this test")
    return request.param


@with_each_disk_limiter
async def test_a_workspace_tells_its_size_and_limit_also_while_nothing_runs(
    backend, disk_limiter, open_sandbox
):
    handle = await open_sandbox(workspace_mib=LIMIT_MIB)
    empty = await handle.sandbox.usage()
    assert empty.limit == LIMIT_MIB << 20
    await handle.bash("head -c 9000000 /dev/urandom > data && sync data")
    full, again = await asyncio.gather(handle.sandbox.usage(), handle.sandbox.usage())
    assert full == again
    assert 9_000_000 <= full.size - empty.size < 9_500_000
    assert full.files - empty.files == 1
    await handle.bash("rm data && sync .")
    assert (await handle.sandbox.usage()).size - empty.size < 500_000


@with_each_disk_limiter
async def test_a_workspace_limit_holds_however_bytes_are_stored(
    backend, disk_limiter, open_sandbox
):
    handles = await asyncio.gather(*(open_sandbox(workspace_mib=LIMIT_MIB) for _ in storing.WAYS))
    outcomes = await asyncio.gather(
        *(
            handle.bash(storing.line(way, 300, 40), seconds=60)
            for handle, way in zip(handles, storing.WAYS, strict=True)
        )
    )
    for handle, way, outcome in zip(handles, storing.WAYS, outcomes, strict=True):
        if disk_limiter == "kernel":
            assert "stored" not in outcome.output, way
        noticed = disk_limiter == "kernel" and "No space left on device" in outcome.output
        assert noticed or outcome.cause == "disk_full", (way, outcome)
        assert (await handle.bash("echo alive")).output == "alive\n", way


@with_each_disk_limiter
async def test_a_workspace_takes_what_its_limit_allows(disk_limiter, open_sandbox):
    """The same programs as in the attacks, with less: so it is the limit that ends those."""
    handle = await open_sandbox(workspace_mib=LIMIT_MIB)
    for way in storing.WAYS:
        outcome = await handle.bash(storing.line(way, 16, 0.2))
        assert (outcome.output, outcome.cause, outcome.exit_code) == ("stored\n", "", 0), way
        await handle.bash("chmod -R u+rwx .; rm -rf *")


@with_each_disk_limiter
@pytest.mark.parametrize("way", ["mapped", "sent"])
async def test_a_workspace_is_not_charged_with_what_others_store_meanwhile(
    disk_limiter, open_sandbox, way
):
    """Files out of sight could be as large as what the disk has lost, if others did not write to it too."""
    handle, other = await open_sandbox(workspace_mib=LIMIT_MIB), await open_sandbox()
    await handle.bash("mkfifo go")
    await handle.sandbox.usage()  # the count begins while nothing is out of sight
    stored = asyncio.Event()
    storing_line = storing.line(way, 16, fifo="go")
    running = asyncio.create_task(
        handle.bash(storing_line, seconds=60, on_output=lambda _: stored.set())
    )
    async with asyncio.timeout(60):
        await stored.wait()
    await handle.sandbox.usage()
    written = await other.bash("head -c 150M /dev/zero > big && echo written", seconds=60)
    assert written.output == "written\n"
    for _ in range(2):
        assert (await handle.sandbox.usage()).size < LIMIT_MIB << 20
    await handle.bash(": > go")
    outcome = await running
    assert (outcome.output, outcome.cause, outcome.exit_code) == ("stored\n", "", 0)


@pytest.fixture
def folder_in_memory() -> Iterator[Path]:
    """A folder on a file system that counts no writes."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("needs /dev/shm")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.mark.parametrize("disk_limiter", ["runner"], indirect=True)
async def test_a_workspace_limit_holds_where_the_kernel_counts_no_writes(
    disk_limiter, folder_in_memory
):
    backend = Bubblewrap(folder_in_memory, "tests")
    spec = SandboxSpec(uuid.uuid4(), limits=SandboxLimits(workspace_mib=LIMIT_MIB))
    sandbox = await backend.open(spec, epoch=1)
    try:
        outcome = await SandboxHandle(sandbox, spec).bash(
            storing.line("mapped", 300, 40), seconds=60
        )
        assert outcome.cause == "disk_full", outcome
    finally:
        await sandbox.end(keep_files=False)


@with_each_disk_limiter
async def test_a_process_that_nobody_may_look_at_stores_no_more(disk_limiter, open_sandbox):
    handle = await open_sandbox(workspace_mib=LIMIT_MIB)
    outcome = await handle.bash(storing.UNREADABLE, seconds=60)
    assert outcome.exit_code != 0
    assert "stored" not in outcome.output


@with_each_disk_limiter
async def test_a_workspace_limits_the_number_of_files(disk_limiter, open_sandbox):
    handle = await open_sandbox(workspace_mib=LIMIT_MIB)
    outcome = await handle.bash(storing.EMPTY_FILES.format(1000), seconds=60)
    assert outcome.output == "stored\n"
    outcome = await handle.bash(storing.EMPTY_FILES.format(60_000), seconds=60)
    assert (outcome.cause, "stored" in outcome.output) == ("disk_full", False)
    assert (await handle.bash("rm -rf many && mkdir many && ls many")).exit_code == 0


@with_each_disk_limiter
async def test_files_stay_in_a_workspace_when_its_sandbox_ends(disk_limiter, open_sandbox):
    first = await open_sandbox(workspace_mib=LIMIT_MIB)
    await first.bash("mkdir -m 0300 closed; echo kept > closed/x; ls -A > list.txt")
    await first.sandbox.end(keep_files=True)
    second = await open_sandbox(conversation=first.spec.conversation_id, workspace_mib=LIMIT_MIB)
    outcome = await second.bash("stat -c %a closed; cat closed/x list.txt")
    assert outcome.output == "300\nkept\nclosed\nlist.txt\n"


@with_each_disk_limiter
@pytest.mark.parametrize("mode", ["000", "300"])
async def test_a_sandbox_outlives_a_workspace_folder_without_rights(
    disk_limiter, open_sandbox, mode
):
    first = await open_sandbox(workspace_mib=LIMIT_MIB)
    closed = await first.bash(f"echo kept > x; sleep 0.5; chmod {mode} .; sleep 1; echo done")
    assert closed.output == "done\n"
    assert (await first.bash(f"cat x; chmod {mode} .")).output == "kept\n"
    await first.sandbox.end(keep_files=True)
    second = await open_sandbox(conversation=first.spec.conversation_id, workspace_mib=LIMIT_MIB)
    assert (await second.bash("cat x")).output == "kept\n"


# --- the file system of a workspace ---------------------------------------------------------------


@pytest.fixture
def as_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may make file systems")


def attached_inodes() -> set[int]:
    """The inodes of the files that are attached to loop devices; their first 16 bytes of status name it."""
    found = set()
    for folder in Path("/sys/block").glob("loop*/loop"):
        with suppress(OSError):  # the device is free again
            device = os.open(f"/dev/{folder.parent.name}", os.O_RDONLY)
            try:
                status = fcntl.ioctl(device, LOOP_GET_STATUS, bytes(232))
            finally:
                os.close(device)
            found.add(struct.unpack_from("=QQ", status)[1])
    return found


async def detached(inode: int) -> None:
    """Wait until no loop device has this file."""
    for _ in range(1500):
        if inode not in attached_inodes():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the file is still attached")


@only_bubblewrap
async def test_the_file_system_of_a_workspace_is_released_when_its_processes_are_killed(
    backend, open_sandbox, as_root
):
    handle = await open_sandbox(workspace_mib=LIMIT_MIB)
    name = str(handle.spec.conversation_id)
    inode = runners.sandbox_directory(backend, handle.spec.conversation_id).image.stat().st_ino
    await handle.bash("echo kept > x; sleep 1000 &")
    assert inode in attached_inodes()
    assert name not in Path("/proc/mounts").read_text(), "other processes see the mount"
    os.kill(runners.pid(backend, handle.spec.conversation_id), 9)
    await handle.sandbox.wait_until_lost()
    again = await open_sandbox(conversation=handle.spec.conversation_id, workspace_mib=LIMIT_MIB)
    assert (await again.bash("cat x")).output == "kept\n"
    await again.sandbox.end(keep_files=False)
    await detached(inode)


@only_bubblewrap
async def test_a_workspace_with_files_from_before_keeps_them(
    backend, open_sandbox, as_root, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(Launcher, "image_problem", lambda self, limits: "an older version of Paca")
        old = await open_sandbox()
        await old.bash("echo kept > x")
        await old.sandbox.end()
    new = await open_sandbox(conversation=old.spec.conversation_id)
    assert (await new.bash("cat x")).output == "kept\n"


@only_bubblewrap
async def test_a_workspace_grows_with_its_limit_and_never_shrinks(backend, open_sandbox, as_root):
    conversation = uuid.uuid4()
    sizes = []
    for limit_mib in (64, 64 * 3, 64):
        handle = await open_sandbox(conversation=conversation, workspace_mib=limit_mib)
        outcome = await handle.bash(
            "touch kept-$(ls | wc -l); ls | wc -l; echo $(($(stat -f -c '%b * %S' .) >> 20)) $(stat -f -c %c .)"
        )
        names, found = outcome.output.splitlines()
        sizes.append([int(word) for word in found.split()])
        assert int(names) == len(sizes)
        await handle.sandbox.end(keep_files=True)
    (small, few), (large, many), last = sizes
    assert large >= 64 * 3 > 64 * 2 > small
    assert many > few
    assert last == [large, many]


@only_bubblewrap
async def test_a_workspace_whose_growth_was_cut_off_is_as_large_as_its_limit_at_the_next_start(
    backend, open_sandbox, as_root
):
    """A worker that is killed after it has made the file longer leaves a file system that is not."""
    first = await open_sandbox(workspace_mib=LIMIT_MIB)
    await first.sandbox.end(keep_files=True)
    image = runners.sandbox_directory(backend, first.spec.conversation_id).image
    os.truncate(image, 10 * image.stat().st_size)
    again = await open_sandbox(conversation=first.spec.conversation_id, workspace_mib=192)
    outcome = await again.bash("echo $(($(stat -f -c '%b * %S' .) >> 20))")
    assert 192 <= int(outcome.output) < 250


def test_a_spare_file_system_leaves_nothing_when_its_worker_is_killed(tmp_path, as_root):
    (tmp_path / "run").mkdir()
    program = (
        "import sys, time; from pathlib import Path; from paca.sandbox.base import SandboxLimits;"
        "from paca.sandbox.bubblewrap.workspace_image import ImageMaker;"
        "base = Path(sys.argv[1]); maker = ImageMaker(base / 'run', base / 'workspaces');"
        "maker.make_spare(SandboxLimits()); print(maker._spare._file, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as worker:
        descriptor = int(worker.stdout.readline())
        inode = Path(f"/proc/{worker.pid}/fd/{descriptor}").stat().st_ino
        assert inode in attached_inodes()
        assert str(tmp_path) not in Path("/proc/mounts").read_text()
        worker.kill()
    asyncio.run(detached(inode))
    assert not list((tmp_path / "workspaces").iterdir())


@only_bubblewrap
async def test_a_new_workspace_takes_the_spare_file_system_and_another_is_made(
    backend, open_sandbox, as_root
):
    first = await open_sandbox()
    maker = backend._launcher()._images
    await waiting.until(lambda: maker._spare is not None)
    spare = os.fstat(maker._spare._file).st_ino
    second = await open_sandbox()
    directory = runners.sandbox_directory(backend, second.spec.conversation_id)
    assert directory.image.stat().st_ino == spare
    await waiting.until(lambda: maker._spare is not None)
    third = await open_sandbox(workspace_mib=LIMIT_MIB)  # a spare of another size is no use
    sizes = [
        int((await handle.bash("echo $(($(stat -f -c '%b * %S' .) >> 20))")).output)
        for handle in (first, second, third)
    ]
    assert sizes[0] == sizes[1] >= first.spec.limits.workspace_mib
    assert LIMIT_MIB <= sizes[2] < 2 * LIMIT_MIB


@only_bubblewrap
async def test_an_image_that_cannot_be_mounted_is_kept_and_named(backend, open_sandbox, as_root):
    first = await open_sandbox(workspace_mib=LIMIT_MIB)
    directory = runners.sandbox_directory(backend, first.spec.conversation_id)
    await first.sandbox.end(keep_files=True)
    directory.image.write_bytes(b"damaged" * 10_000)
    with pytest.raises(SandboxUnavailable, match=f"kept in workspaces/{directory.image.name}"):
        await open_sandbox(conversation=first.spec.conversation_id, workspace_mib=LIMIT_MIB)
    await detached(directory.image.stat().st_ino)


@only_bubblewrap
async def test_space_of_deleted_files_is_given_back_to_the_disk(backend, open_sandbox, as_root):
    handle = await open_sandbox(workspace_mib=256)
    image = runners.sandbox_directory(backend, handle.spec.conversation_id).image
    await handle.bash("head -c 100M /dev/urandom > big; sync")
    assert image.stat().st_blocks * 512 > 100 << 20
    await handle.bash("rm big; sync; sync")
    for _ in range(600):
        if image.stat().st_blocks * 512 < 50 << 20:
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the image has not become smaller")


def test_an_image_is_mounted_once_at_a_time(tmp_path, as_root, monkeypatch):
    monkeypatch.setattr(mounts, "DETACH_SECONDS", 0.1)
    image = tmp_path / "image"
    image.write_bytes(b"")
    descriptor = os.open(image, os.O_RDWR)
    mounts.wait_for_lock(descriptor)
    with pytest.raises(BlockingIOError):
        workspace_image.open_image(image, SandboxLimits())
    assert image.stat().st_size == 0, "it was changed while another process had it"
    os.close(descriptor)


# --- the owner of a workspace ---------------------------------------------------------------------


def test_the_owner_of_a_workspace_changes_without_following_links(tmp_path, as_root):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("of the host")
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "b" / "c").write_text("x")
    (tree / "link").symlink_to(outside)
    (tree / "file-link").symlink_to(outside / "file")
    file_tree.give_tree(tree, 12345)
    changed = [tree, *tree.rglob("*")]
    assert {path.lstat().st_uid for path in changed} == {12345}
    assert {path.stat().st_uid for path in (outside, outside / "file")} == {0}


def test_the_owner_of_a_workspace_changes_nothing_outside_while_folders_are_exchanged(
    tmp_path, as_root
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("of the host")
    tree, ended = tmp_path / "tree", threading.Event()
    (tree / "folder").mkdir(parents=True)
    (tree / "folder" / "file").write_text("x")
    (tree / "link").symlink_to(outside)

    def exchange() -> None:
        while not ended.is_set():
            for one, other in (
                ("folder", "aside"),
                ("link", "folder"),
                ("folder", "link"),
                ("aside", "folder"),
            ):
                (tree / one).rename(tree / other)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        for _ in range(300):
            try:
                file_tree.give_tree(tree, 12345)
            except OSError:  # an entry is gone, or is a link now
                continue
    finally:
        ended.set()
        thread.join()
    assert {path.stat().st_uid for path in (outside, outside / "file")} == {0}


def test_the_owner_of_a_workspace_of_any_depth_changes(tmp_path, as_root):
    tree = tmp_path / "tree"
    tree.mkdir()
    folder = os.open(tree, os.O_RDONLY)
    for _ in range(300):  # a path of more than 4,096 bytes
        os.mkdir("d" * 20, dir_fd=folder)
        inner = os.open("d" * 20, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    file_tree.give_tree(tree, 12345)
    assert os.fstat(folder).st_uid == 12345
    os.close(folder)
    file_tree.remove_tree(tree)
