"""A sandbox that lies about its commits takes nothing away from a branch, and changes none but the approved one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from paca.repositories.broker import ancestry, pkt_line, server_refs
from paca.repositories.broker.host_git import GitFailed
from paca.repositories.broker.push_rules import server_problem
from paca.repositories.broker.server_refs import ServerRefs
from paca.repositories.broker.upstream import ServerProblem
from tests.repositories.broker.world import ZEROS, BrokerWorld
from tests.support.git_server import git

pytestmark = pytest.mark.anyio
A, B = "a" * 40, "b" * 40
MIRRORED = pytest.mark.parametrize("mirrored", [False, True], ids=["no mirror", "mirror"])


async def prepare(world: BrokerWorld, *, mirrored: bool = False) -> tuple[Path, str]:
    """A clone, and where the branch of a colleague is on the server."""
    theirs = world.server.commit("app", {"t": b"t" * 5000}, branch="theirs")
    if mirrored:
        await world.fill_mirror()
    return await world.clone(), theirs


async def refused(world: BrokerWorld, clone: Path, *what: str) -> str:
    """What git says of a push that changes nothing on the server."""
    before = world.server.refs("app")
    code, output = await world.git("push", "origin", *what, cwd=clone)
    assert code != 0, output
    assert world.server.refs("app") == before
    return output


@MIRRORED
async def test_commits_of_others_are_not_dropped_by_an_approved_push(
    world: BrokerWorld, mirrored: bool
) -> None:
    clone, theirs = await prepare(world, mirrored=mirrored)
    commit = await world.commit(clone)  # it follows main, and not theirs
    world.grant("theirs", commit, old=theirs)
    for refspec in (f"+{commit}:refs/heads/theirs", f"{commit}:refs/heads/theirs"):
        output = await refused(world, clone, "--force", refspec)
        assert "has commits on the server that this push would drop" in output
    assert not list((world.mirrors.root / ancestry.FOLDER).iterdir())


@MIRRORED
async def test_commits_are_added_to_a_branch_that_exists(
    world: BrokerWorld, mirrored: bool
) -> None:
    clone, theirs = await prepare(world, mirrored=mirrored)
    await world.git("checkout", "-q", "theirs", cwd=clone)
    (clone / "t").write_bytes(b"t" * 5000 + b"more")  # of which a thin pack has the difference only
    commit = await world.commit(clone)
    world.grant("theirs", commit, old=theirs)
    code, output = await world.git("push", "origin", f"{commit}:refs/heads/theirs", cwd=clone)
    assert code == 0, output
    assert world.server.refs("app")["refs/heads/theirs"] == commit


async def test_branch_is_moved_to_a_commit_that_the_server_has(world: BrokerWorld) -> None:
    clone, theirs = await prepare(world)
    world.server.commit("app", {"x": b"x"}, branch="ahead")
    await world.git("fetch", "-q", cwd=clone)
    ahead = world.server.refs("app")["refs/heads/ahead"]
    world.grant("theirs", ahead, old=theirs)
    code, output = await world.git("push", "origin", f"{ahead}:refs/heads/theirs", cwd=clone)
    assert code == 0, output
    world.grants.clear()
    world.grant("theirs", theirs, old=ahead)
    output = await refused(world, clone, f"+{theirs}:refs/heads/theirs")
    assert "would drop" in output


async def test_proof_that_fails_passes_nothing_on(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone, theirs = await prepare(world)
    await world.git("checkout", "-q", "theirs", cwd=clone)
    commit = await world.commit(clone, size=3000)
    world.grant("theirs", commit, old=theirs)
    what = f"{commit}:refs/heads/theirs"
    with monkeypatch.context() as patched:
        patched.setattr(ancestry, "MAX_PUSH_BYTES", 1000)
        assert "may have 0 MiB" in await refused(world, clone, what)
    with monkeypatch.context() as patched:
        patched.setattr(ancestry, "PROOF_SECONDS", 0.0)
        assert "it takes too long" in await refused(world, clone, what)
    with monkeypatch.context() as patched:
        patched.setattr(ancestry.PushProofs, "_init", fail)
        assert "cannot be shown" in await refused(world, clone, what)


async def fail(*_: object) -> None:
    raise GitFailed("broken")


async def test_history_without_a_mirror_is_bounded(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ancestry, "MAX_HISTORY_BYTES", 1000)
    with pytest.raises(GitFailed, match="too large"):
        await ancestry.PushProofs(world.mirrors)._require_space(world.server.root)


def raw(world: BrokerWorld, *commands: str, pack: bytes = b"") -> bytes:
    first, *rest = commands
    body = pkt_line.line(first.encode() + b"\0 report-status side-band-64k atomic")
    body += b"".join(pkt_line.line(each.encode()) for each in rest) + b"0000" + pack
    return world.post("git-receive-pack", f"Content-Length: {len(body)}", body)


async def test_raw_requests_change_nothing(world: BrokerWorld) -> None:
    clone, theirs = await prepare(world)
    main = world.server.refs("app")["refs/heads/main"]
    commit = await world.commit(clone)
    world.grant("work", commit)
    world.grant("theirs", main, old=theirs)
    empty = bytes.fromhex("5041434b0000000200000000029d08823bd8a8eab510ad6ac75c823cfd3ed31e")
    before = world.server.refs("app")
    work, drop = f"{ZEROS} {commit} refs/heads/work", f"{theirs} {main} refs/heads/theirs"
    attempts = {
        "deletion": [f"{theirs} {ZEROS} refs/heads/theirs"],
        "deletion beside the granted": [work, f"{theirs} {ZEROS} refs/heads/theirs"],
        "another beside the granted": [work, f"{main} {commit} refs/heads/main"],
        "the same twice": [work, work],
        "drop": [drop],
        "drop, said to be from elsewhere": [f"{main} {main} refs/heads/theirs"],
        "drop, said to be new": [f"{ZEROS} {main} refs/heads/theirs"],
        "shallow": [f"shallow {theirs}", drop],
        "certificate": ["push-cert", drop],
        "no branch": [f"{ZEROS} {commit} refs/tags/v1"],
        "HEAD": [f"{main} {commit} HEAD"],
        "twice refs": [f"{ZEROS} {commit} refs/heads/refs/heads/main"],
        "dots": [f"{ZEROS} {commit} refs/heads/../heads/main"],
        "letters": [f"{ZEROS} {commit} refs/heads/WORK"],
    }
    for name, commands in attempts.items():
        answer = await world.ask(raw(world, *commands, pack=empty))
        assert b"ok refs/" not in answer, name
        assert world.server.refs("app") == before, name
    assert b"Paca refused" in answer


async def test_push_by_another_name_of_a_branch_is_refused(world: BrokerWorld) -> None:
    clone, theirs = await prepare(world)
    bare, main = str(world.server.root / "app.git"), world.server.refs("app")["refs/heads/main"]
    for alias, target in (("alias", "main"), ("theirs-too", "theirs")):
        git("-C", bare, "symbolic-ref", f"refs/heads/{alias}", f"refs/heads/{target}")
    commit = await world.commit(clone)
    world.grant("alias", commit, old=main)
    output = await refused(world, clone, f"{commit}:refs/heads/alias")
    assert "alias is another name of main" in output
    await world.git("fetch", "-q", cwd=clone)
    await world.git("checkout", "-q", "theirs", cwd=clone)
    commit = await world.commit(clone)
    world.grant("theirs-too", commit, old=theirs)
    output = await refused(world, clone, f"{commit}:refs/heads/theirs-too")
    assert "theirs-too is another name of theirs" in output


async def test_name_in_other_letters_is_refused(world: BrokerWorld) -> None:
    clone, _ = await prepare(world)
    commit = await world.commit(clone)
    world.grant("Theirs", commit)
    output = await refused(world, clone, f"{commit}:refs/heads/Theirs")
    assert "There is a branch theirs" in output


def test_branch_at_the_default_commit_may_be_its_other_name_where_the_server_does_not_tell(
    world: BrokerWorld,
) -> None:
    commits = {"HEAD": A, "refs/heads/main": A, "refs/heads/alias": A, "refs/heads/b": B}
    old = ServerRefs(commits, {"HEAD": "refs/heads/main"}, tells_symbolic=False)
    assert "may be another name" in server_problem("refs/heads/alias", world.route, old)
    assert not server_problem("refs/heads/b", world.route, old)
    assert not server_problem("refs/heads/new", world.route, old)
    assert not server_problem("refs/heads/alias", world.route, replace(old, tells_symbolic=True))


async def test_refs_of_a_server_with_an_old_protocol_are_listed_by_git(world: BrokerWorld) -> None:
    git("-C", str(world.server.root / "app.git"), "symbolic-ref", "refs/heads/a", "refs/heads/main")
    commit = world.server.refs("app")["refs/heads/main"]
    new = await server_refs.ask(world.route, world.mirrors.git, server_refs.BRANCHES)
    world.server.speaks_version_2 = False
    old = await server_refs.ask(world.route, world.mirrors.git, server_refs.BRANCHES)
    refs = {"HEAD": commit, "refs/heads/a": commit, "refs/heads/main": commit}
    assert new == ServerRefs(refs, {"HEAD": "refs/heads/main", "refs/heads/a": "refs/heads/main"})
    assert old == ServerRefs(refs, {"HEAD": "refs/heads/main"}, tells_symbolic=False)


async def test_list_of_refs_is_bounded(world: BrokerWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_refs, "MAX_ANSWER_BYTES", 10)
    with pytest.raises(ServerProblem, match="too many branches"):
        await server_refs.ask(world.route, world.mirrors.git, server_refs.BRANCHES)
