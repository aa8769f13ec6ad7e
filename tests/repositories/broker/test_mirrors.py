"""Mirrors appear whole, are filled by one at a time, stay within their limit, and are removed when unused."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from paca.repositories.broker import git_config, host_git, mirrors
from paca.repositories.broker.host_git import GitFailed, GitUnusable, HostGit
from paca.repositories.broker.mirrors import MAX_OWN_READERS, Mirrors, NoPlace
from paca.repositories.broker.upstream import ServerProblem
from tests.repositories.broker.world import BrokerWorld
from tests.support.git_server import HEADER, TOKEN, git

pytestmark = pytest.mark.anyio


@pytest.fixture
def world(world: BrokerWorld) -> BrokerWorld:
    """A broker whose repository may have a mirror."""
    world.with_mirror()
    return world


async def test_fills_of_one_mirror_at_once_make_one_copy(world: BrokerWorld) -> None:
    others = [Mirrors(world.mirrors.root, max_bytes=1 << 30, max_age_seconds=1e6) for _ in range(3)]
    await asyncio.gather(*(each.fill(world.route) for each in others))
    asked = [path for method, path, _ in world.server.requests if method == "POST"]
    assert len(asked) == 2  # which refs, and the objects: of one fill


async def test_fill_waits_for_a_git_whose_broker_was_killed(world: BrokerWorld) -> None:
    world.mirrors.root.mkdir(parents=True)
    with (world.mirrors.root / f"{world.route.mirror}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        filling = asyncio.create_task(world.mirrors.fill(world.route))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not filling.done()
    assert (await filling).is_dir()


async def test_what_a_killed_fill_left_is_replaced(world: BrokerWorld) -> None:
    half = world.mirrors.path(world.route.mirror).with_suffix(".new")
    half.mkdir(parents=True)
    (half / "HEAD").write_text("half")
    assert not world.mirrors.is_ready(world.route)
    path = await world.mirrors.fill(world.route)
    assert git("-C", str(path), "fsck", "--full") == ""
    assert not half.exists()


async def test_fill_that_fails_leaves_nothing(world: BrokerWorld) -> None:
    route = replace(world.route, header="Basic bm8=")
    with pytest.raises(ServerProblem, match="refuses the credentials of app") as failed:
        await world.mirrors.fill(route)
    assert "bm8=" not in str(failed.value)
    assert [path.suffix for path in world.mirrors.root.iterdir()] == [".lock"]


async def test_large_repository_has_no_mirror(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_git, "LOOK_SECONDS", 600.0)  # its whole size is what is found
    small = Mirrors(world.mirrors.root, max_bytes=15_000, max_age_seconds=1e6)
    with pytest.raises(GitFailed, match="larger than all mirrors may be"):
        await small.fill(world.route)
    assert not small.is_ready(world.route)


async def test_one_file_beyond_the_limit_ends_git(world: BrokerWorld) -> None:
    world.server.commit("app", {"b": os.urandom(1_500_000)})
    small = Mirrors(world.mirrors.root, max_bytes=100_000, max_age_seconds=1e6)
    with pytest.raises(GitFailed):
        await small.fill(world.route)
    assert [path.suffix for path in world.mirrors.root.iterdir()] == [".lock"]


async def test_fetch_is_ended_when_it_passes_the_limit(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_git, "LOOK_SECONDS", 0.0)
    small = Mirrors(world.mirrors.root, max_bytes=10, max_age_seconds=1e6)
    with pytest.raises(GitFailed, match="more than GIT_MIRRORS_MIB"):
        await small.fill(world.route)
    assert not small.path(world.route.mirror).with_suffix(".new").exists()


async def test_unused_mirrors_make_room_for_a_fetch(world: BrokerWorld) -> None:
    path = await world.mirrors.fill(world.route)
    small = Mirrors(world.mirrors.root, max_bytes=10, max_age_seconds=1e6)
    async with small.in_use(world.route):
        with pytest.raises(GitFailed, match="more than GIT_MIRRORS_MIB"):
            await small.require_space()
    await small.require_space()
    assert not path.exists()


async def test_update_that_fails_leaves_no_half_pack(world: BrokerWorld) -> None:
    path = await world.mirrors.fill(world.route)
    half = path / "objects" / "pack" / "tmp_pack_1"
    half.write_bytes(b"half")
    with pytest.raises(GitFailed):
        await world.mirrors.update(replace(world.route, header="Basic bm8="))
    assert not half.exists()


async def test_what_git_prints_is_bounded(world: BrokerWorld) -> None:
    with pytest.raises(GitFailed, match="more than was wanted"):
        await world.mirrors.git.run("--version", seconds=60, max_output=5)
    assert (await world.mirrors.git.run("--version", seconds=60)).startswith("git version")


async def test_git_on_the_host_has_limits(world: BrokerWorld) -> None:
    git_on_host = HostGit(1 << 20, max_memory=1 << 30)
    show = "alias.limits=!cat /proc/self/limits"
    printed = await git_on_host.run("-c", show, "limits", seconds=60)
    soft = {line[:26].strip(): line[26:].split()[0] for line in printed.splitlines()}
    assert soft["Max file size"] == str(1 << 20)
    assert soft["Max address space"] == str(1 << 30)
    assert soft["Max core file size"] == "0"
    assert soft["Max cpu time"] == str(host_git.CPU_SECONDS)


async def test_unused_mirror_is_removed(world: BrokerWorld) -> None:
    path = await world.mirrors.fill(world.route)
    long_ago = time.time() - 2e6
    os.utime(path, (long_ago, long_ago))
    assert await world.mirrors.remove_unused() == [world.route.mirror]
    assert not path.exists()


async def test_oldest_mirror_goes_beyond_the_limit(world: BrokerWorld) -> None:
    first = await world.mirrors.fill(world.route)
    os.utime(first, (1, time.time() - 100))
    second = await world.mirrors.fill(replace(world.route, mirror="cd" * 16))
    size = host_git.size_of(first)
    bounded = Mirrors(world.mirrors.root, max_bytes=size + 10_000, max_age_seconds=1e6)
    assert await bounded.remove_unused() == [world.route.mirror]
    assert second.is_dir()


async def test_mirror_in_use_is_not_removed(world: BrokerWorld) -> None:
    path = await world.mirrors.fill(world.route)
    os.utime(path, (1, 1))
    world.mirrors.usage(world.route).readers = 1
    assert await world.mirrors.remove_unused() == []
    assert path.is_dir()


@pytest.mark.parametrize("name", ["", "..", "../../etc", "A" * 32, "ab/cd", "ab" * 40])
def test_name_of_a_mirror_is_a_digest(world: BrokerWorld, name: str) -> None:
    with pytest.raises(ValueError, match="no name of a mirror"):
        world.mirrors.path(name)


async def test_credential_is_in_no_file_argument_or_variable_of_git_on_the_host(
    world: BrokerWorld,
) -> None:
    with git_config.config_file(git_config.config_for(world.route, ["127.0.0.1"])) as config:
        process = await world.mirrors.git.start(
            "hash-object", "--stdin", config=config, stdin=asyncio.subprocess.PIPE
        )
        found = [
            Path(f"/proc/{process.pid}/{name}").read_bytes() for name in ("cmdline", "environ")
        ]
        host_git.kill(process)
        await process.communicate()
    await world.mirrors.fill(world.route)
    found += [path.read_bytes() for path in world.mirrors.root.rglob("*") if path.is_file()]
    assert not any(HEADER.split()[1].encode() in data or TOKEN.encode() in data for data in found)
    assert not any(b"127.0.0.1" in data for data in found)


@pytest.mark.parametrize("missing", host_git.PROGRAMS)
async def test_machine_without_a_program_has_no_mirrors_and_is_told_what_to_install(
    world: BrokerWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    await world.fill_mirror()
    for name in host_git.PROGRAMS.keys() - {missing}:
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setitem(host_git.ENVIRONMENT, "PATH", str(tmp_path))
    with pytest.raises(GitUnusable, match=f"{missing} is missing on the server of Paca"):
        await world.mirrors.update(world.route)
    clone = await world.clone()  # from the server
    assert (clone / "README.md").exists()


async def test_mirror_is_filled_only_by_a_git_that_keeps_to_checked_addresses(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host_git, "OLDEST_GIT", (99, 0))
    with pytest.raises(GitUnusable, match="99.0 is needed"):
        await world.mirrors.fill(world.route)
    assert not [path for method, path, _ in world.server.requests if method == "POST"]
    await world.clone()


async def test_conversation_has_few_readers_at_once(world: BrokerWorld) -> None:
    entered, leave = [], asyncio.Event()

    async def read(conversation: UUID) -> None:
        async with world.mirrors.reading(world.route, conversation):
            entered.append(conversation)
            await leave.wait()

    one, other = uuid4(), uuid4()
    tasks = [asyncio.create_task(read(one)) for _ in range(2 * MAX_OWN_READERS)]
    tasks.append(asyncio.create_task(read(other)))
    for _ in range(20):
        await asyncio.sleep(0)
    assert entered.count(one) == MAX_OWN_READERS
    assert other in entered
    leave.set()
    await asyncio.gather(*tasks)
    assert entered.count(one) == 2 * MAX_OWN_READERS
    assert world.mirrors.usage(world.route).readers == 0


async def test_reader_without_a_place_is_told_so(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirrors, "PLACE_SECONDS", 0.0)
    one = uuid4()
    async with AsyncExitStack() as places:
        for _ in range(MAX_OWN_READERS):
            await places.enter_async_context(world.mirrors.reading(world.route, one))
        with pytest.raises(NoPlace):
            await places.enter_async_context(world.mirrors.reading(world.route, one))
    assert world.mirrors.usage(world.route).readers == 0
