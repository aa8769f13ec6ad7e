"""The sandboxes of a project share a bounded cache of packages; those of another project see another one."""

import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from paca.sandbox.base import SandboxSpec
from paca.sandbox.package_caches import PackageCaches
from tests.sandbox.conftest import PARAMETERS, SandboxHandle

PROJECT, OTHER = uuid.uuid4(), uuid.uuid4()


@pytest.fixture
def caches(tmp_path) -> PackageCaches:
    return PackageCaches(tmp_path, "tests")


def fill(folder, times):
    for number, time in enumerate(times):
        path = folder / f"d{number}" / "file"
        path.parent.mkdir()
        path.write_bytes(os.urandom(1 << 20))
        os.utime(path, (time, time))
        os.utime(path.parent, (time, time))


def test_the_oldest_files_of_a_full_cache_go(caches, tmp_path):
    folder = caches.prepare(PROJECT)
    outside = tmp_path / "outside"
    outside.write_text("stays")
    (folder / "link").symlink_to(outside)
    os.utime(folder / "link", (1, 1), follow_symlinks=False)
    fill(folder, range(1_000, 1_006))
    assert caches.prune(PROJECT, most_mib=8) > 6 << 20
    assert len(list(folder.iterdir())) == 7
    caches.prune(PROJECT, most_mib=4)
    assert sorted(path.name for path in folder.iterdir()) == ["d4", "d5"]
    assert outside.read_text() == "stays"


def test_files_of_one_time_do_not_stay_for_ever(caches):
    folder = caches.prepare(PROJECT)
    fill(folder, [9_999_999_999] * 6)
    caches.prune(PROJECT, most_mib=4)
    assert caches.prune(PROJECT, most_mib=4) < 1 << 20


def test_very_many_small_files_count_too(caches):
    folder = caches.prepare(PROJECT)
    for number in range(200):
        (folder / str(number)).touch()
    caches.prune(PROJECT, most_mib=1)
    assert len(list(folder.iterdir())) < 100


def nest(folder, depth):
    """Folders in each other, deeper than any path can name, and a big file in the last."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    big = os.open("big", os.O_WRONLY | os.O_CREAT, dir_fd=at)
    os.write(big, os.urandom(2 << 20))
    os.close(big)
    os.close(at)


def test_a_cache_that_is_nested_very_deep_is_bounded_and_removed(caches):
    folder = caches.prepare(PROJECT)
    nest(folder, 1_100)
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    assert caches.prune(PROJECT, most_mib=1) > 2 << 20
    assert caches.prune(PROJECT, most_mib=1) < 1 << 20
    nest(folder, 200)
    caches.remove(PROJECT)
    assert caches.list_projects() == []
    assert (
        len(list(Path("/proc/self/fd").iterdir())) <= descriptors
    )  # those of earlier tests may be collected


def test_folders_that_are_locked_count_and_go(caches):
    """The sandbox may have the user of the worker, whom it locks out of a folder."""
    folder = caches.prepare(PROJECT)
    fill(folder, [1_000] * 2)
    (folder / "d0").chmod(0)
    (folder / "d1").chmod(0o500)
    outside = folder.parent / "outside"
    outside.mkdir(mode=0o700)
    (folder / "link").symlink_to(outside)
    assert caches.prune(PROJECT, most_mib=8) > 2 << 20
    assert [(folder / name).stat().st_mode & 0o777 for name in ("d0", "d1")] == [0o777, 0o777]
    caches.prune(PROJECT, most_mib=1)
    assert [(folder / name).exists() for name in ("d0", "d1")] == [False, False]
    assert outside.stat().st_mode & 0o777 == 0o700


def test_a_removed_cache_is_gone(caches):
    caches.prepare(PROJECT)
    caches.prepare(OTHER)
    caches.remove(PROJECT)
    assert caches.list_projects() == [OTHER]


@pytest.fixture
async def open_one(backend, caches, anyio_backend) -> AsyncIterator:
    opened = []

    async def open_for(project: uuid.UUID | None) -> SandboxHandle:
        folder = caches.prepare(project) if project else None
        spec = SandboxSpec(uuid.uuid4(), cache_of=project, cache=folder)
        opened.append(await backend.open(spec, epoch=1))
        return SandboxHandle(opened[-1], spec)

    yield open_for
    for sandbox in opened:
        await sandbox.end(keep_files=False)


WRITE = "umask 077; mkdir -p $PIP_CACHE_DIR/a && echo poisoned > $PIP_CACHE_DIR/a/file && echo fine"
READ = "cat $PIP_CACHE_DIR/a/file; echo new > $PIP_CACHE_DIR/a/file2; echo x >> $PIP_CACHE_DIR/a/file && echo fine"


@pytest.mark.anyio
@pytest.mark.service
@pytest.mark.parametrize("backend", PARAMETERS, indirect=True)
async def test_a_cache_is_shared_in_its_project_and_a_poisoned_one_stays_there(open_one, caches):
    first, second, other, without = [
        await open_one(project) for project in (PROJECT, PROJECT, OTHER, None)
    ]
    assert (await first.bash(WRITE)).output.strip() == "fine"
    assert (await second.bash(READ)).output.split() == ["poisoned", "fine"]
    assert (await first.bash("cat $PIP_CACHE_DIR/a/file2")).output.strip() == "new"
    assert (await other.bash("ls -A /cache")).output.strip() == ""
    found = await without.bash("ls /cache; env | grep -c CACHE")
    assert found.output.split()[-1] == "0"
    assert "No such file" in found.output
    above = await first.bash("ls /cache/.. | head -30; ls /cache/../*/*caches* 2>&1; echo done")
    assert str(OTHER) not in above.output
    caches.prune(PROJECT, most_mib=0)  # whoever has written it, it goes
    assert (await first.bash("find /cache -type f")).output.strip() == ""
