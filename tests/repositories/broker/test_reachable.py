"""Mirrors give what the refs of the server reach now, and nothing that was forced away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from paca.repositories.broker import fetches, pkt_line, reachable
from paca.repositories.broker.host_git import GitFailed, HostGit
from paca.repositories.broker.pkt_line import line
from tests.repositories.broker.world import BrokerWorld
from tests.support.fake_clock import FakeClock
from tests.support.git_server import git

pytestmark = pytest.mark.anyio
SECRET = b"s3cr3t of a commit that was forced away\n"


@pytest.fixture
def time() -> FakeClock:
    """A clock for the minute in which an answer of the server counts."""
    return FakeClock()


def force(world: BrokerWorld, branch: str, to: str) -> None:
    """Set a branch of the server to a commit, and remove from the server what no ref reaches then."""
    bare = world.server.root / "app.git"
    git("-C", str(bare), "update-ref", f"refs/heads/{branch}", to)
    git("-C", str(bare), "-c", "gc.reflogExpire=now", "gc", "--quiet", "--prune=now")


def mirror_of(world: BrokerWorld) -> Path:
    return world.mirrors.path(world.route.mirror)


def fetch(*wants: str, last: str = "") -> bytes:
    lines = [line(b"command=fetch"), b"0001", *(line(b"want " + each.encode()) for each in wants)]
    further = [line(b"want " + last.encode())] if last else []
    return b"".join([*lines, line(b"done"), *further, b"0000"])


async def post(world: BrokerWorld, body: bytes) -> bytes:
    """What a request gets."""
    headers = f"Git-Protocol: version=2\r\nContent-Length: {len(body)}"
    return await world.ask(world.post("git-upload-pack", headers, body))


async def ask(world: BrokerWorld, *wants: str, last: str = "") -> bytes:
    """What a fetch of these objects gets."""
    return await post(world, fetch(*wants, last=last))


async def forced_away(world: BrokerWorld, *, unnoticed: bool = False) -> tuple[str, str, str]:
    """The commit of the server, one that was forced away from it, and a file of that; the mirror has both."""
    kept = world.server.refs("app")["refs/heads/main"]
    gone = world.server.commit("app", {"secret.txt": SECRET})
    secret = git("-C", str(world.server.root / "app.git"), "rev-parse", f"{gone}:secret.txt")
    await world.fill_mirror()
    assert b"PACK" in await ask(world, secret)
    force(world, "main", kept)
    if not unnoticed:
        await world.mirrors.update(world.route)
    return kept, gone, secret


def asked_for_objects(world: BrokerWorld) -> int:
    """How many requests of fetches the server got since the last time."""
    posts = [path for method, path, _ in world.server.requests if method == "POST"]
    world.server.requests.clear()
    return len(posts)


@pytest.mark.parametrize("unnoticed", [False, True], ids=["fetched", "not yet fetched"])
async def test_object_that_was_forced_away_is_not_given(
    world: BrokerWorld, time: FakeClock, unnoticed: bool
) -> None:
    with time:
        kept, gone, secret = await forced_away(world, unnoticed=unnoticed)
        assert await reachable.has_all(world.mirrors.git, mirror_of(world), [gone, secret])
        time.advance(fetches.READABLE_SECONDS + 1)
        for wants in ([gone], [secret], [kept, secret]):
            answer = await ask(world, *wants)
            assert b"PACK" not in answer
            assert b"not our ref" in answer  # the server says it
        assert b"PACK" in await ask(world, kept)


async def test_want_at_the_end_of_a_request_is_no_way_around(world: BrokerWorld) -> None:
    kept, _, secret = await forced_away(world)
    answer = await ask(world, kept, last=secret)
    assert b"PACK" not in answer
    assert b"not our ref" in answer
    one = fetch(kept)
    another_section = one[:-4] + b"0001" + line(b"want " + secret.encode()) + b"0000"
    assert b"PACK" not in await post(world, another_section)
    answers = [await post(world, body) for body in (one, one + fetch(secret))]
    objects = [answer.split(b"PACK")[1:] for answer in answers]
    assert [int.from_bytes(pack[4:8], "big") for each in objects for pack in each] == [4, 4]


async def test_request_that_is_too_long_to_be_read_whole_goes_to_the_server(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.fill_mirror()
    commit = world.server.refs("app")["refs/heads/main"]
    assert b"PACK" in await ask(world, commit)
    asked_for_objects(world)
    monkeypatch.setattr(pkt_line, "MAX_READ_FETCH_BYTES", 60)
    assert b"PACK" in await ask(world, commit)
    assert asked_for_objects(world) == 1


async def test_partial_clone_reads_from_a_mirror_and_after_a_force_from_the_server_until_it_is_pruned(
    world: BrokerWorld,
) -> None:
    file = git("-C", str(world.server.root / "app.git"), "rev-parse", "main:README.md")
    _, gone, secret = await forced_away(world)
    asked_for_objects(world)
    assert b"PACK" in await ask(world, file)
    assert asked_for_objects(world) == 1  # the mirror cannot tell what the refs reach
    (mirror_of(world) / "objects" / "pack" / "pack-1.keep").touch()
    for pack in (mirror_of(world) / "objects" / "pack").glob("*.pack"):
        pack.with_suffix(".keep").touch()  # of a git that was killed
    assert await world.mirrors.prune() == [world.route.mirror]
    assert b"PACK" in await ask(world, file)
    assert asked_for_objects(world) == 0
    for lost in (gone, secret):
        assert not await reachable.has_all(world.mirrors.git, mirror_of(world), [lost])
    assert git("-C", str(mirror_of(world)), "fsck", "--full", "--unreachable") == ""
    assert await world.mirrors.prune() == []


async def test_mirror_that_is_read_or_pruned_is_left_alone(world: BrokerWorld) -> None:
    kept, _, _ = await forced_away(world)
    async with world.mirrors.in_use(world.route):
        assert await world.mirrors.prune() == []
    asked_for_objects(world)
    world.mirrors.usage(world.route).is_pruning = True
    assert b"PACK" in await ask(world, kept)
    assert asked_for_objects(world) == 1


async def change(world: BrokerWorld, what: str) -> None:
    """Change the server so that its refs may reach less than before."""
    bare = str(world.server.root / "app.git")
    if what == "a branch is deleted":
        git("-C", bare, "update-ref", "-d", "refs/heads/other")
    elif what == "a tag is deleted":
        git("-C", bare, "update-ref", "-d", "refs/tags/v1")
    elif what == "a tag is replaced":
        git("-C", bare, "tag", "-f", "v1", "-m", "again", "main")
    else:
        raise AssertionError(what)


@pytest.mark.parametrize("what", ["a branch is deleted", "a tag is deleted", "a tag is replaced"])
async def test_refs_that_go_make_a_mirror_doubtful(world: BrokerWorld, what: str) -> None:
    bare = str(world.server.root / "app.git")
    world.server.commit("app", {"o.txt": b"o\n"}, branch="other")
    git("-C", bare, "tag", "-m", "one", "v1", "main")
    await world.fill_mirror()
    assert reachable.is_pruned(mirror_of(world))
    await change(world, what)
    await world.mirrors.update(world.route)
    assert not reachable.is_pruned(mirror_of(world))


async def test_commits_that_are_added_or_merged_leave_a_mirror_whole(world: BrokerWorld) -> None:
    other = world.server.commit("app", {"o.txt": b"o\n"}, branch="other")
    await world.fill_mirror()
    force(world, "main", other)
    git("-C", str(world.server.root / "app.git"), "update-ref", "-d", "refs/heads/other")
    await world.mirrors.update(world.route)
    world.server.commit("app", {"n.txt": b"n\n"}, branch="new")
    await world.mirrors.update(world.route)
    assert reachable.is_pruned(mirror_of(world))


async def test_update_that_changes_nothing_leaves_a_mirror_whole(world: BrokerWorld) -> None:
    await world.fill_mirror()
    world.server.header = "Basic b3RoZXI="
    with pytest.raises(GitFailed):
        await world.mirrors.update(world.route)
    assert reachable.is_pruned(mirror_of(world))


async def test_update_that_breaks_off_makes_a_mirror_doubtful(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.fill_mirror()
    world.server.commit("app", {"n.txt": b"n\n"})

    fetched = HostGit.run

    async def run(self: HostGit, *arguments: str, **more: Any) -> str:
        printed = await fetched(self, *arguments, **more)
        if "fetch" in arguments:
            raise GitFailed("it ended late")
        return printed

    monkeypatch.setattr(HostGit, "run", run)
    with pytest.raises(GitFailed):
        await world.mirrors.update(world.route)
    assert not reachable.is_pruned(mirror_of(world))


async def test_repository_with_sha256_is_cloned_from_its_mirror(world: BrokerWorld) -> None:
    world.server.create("hashed", {"README.md": b"hello\n"}, object_format="sha256")
    world.route = type(world.route)(
        **{**world.route.to_fields(), "url": world.server.url("hashed"), "mirror": "cd" * 16}
    )
    await world.mirrors.fill(world.route)
    asked_for_objects(world)
    clone = await world.clone()
    assert asked_for_objects(world) == 1  # which refs
    newer = world.server.commit("hashed", {"more.txt": b"more\n"})
    assert (await world.git("pull", "-q", cwd=clone))[0] == 0
    assert (await world.git("rev-parse", "HEAD", cwd=clone))[1].strip() == newer
    assert len(newer) == 64
