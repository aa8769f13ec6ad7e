"""A push passes only while a grant for exactly this branch and commit exists."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import ANY

import pytest

from paca.engine.tools.repository_commands import PUSH_OPTIONS
from paca.repositories.broker import ancestry, pkt_line, upstream
from paca.repositories.broker.bodies import BrokenBody
from paca.repositories.broker.mirrors import Mirrors
from paca.repositories.broker.pkt_line import Command, CommandList, ProtocolProblem
from paca.repositories.broker.push_rules import push_problem, server_problem
from paca.repositories.broker.requests import GitRequest
from paca.repositories.broker.routes import Grant, Route
from paca.repositories.broker.server_refs import ServerRefs
from tests.repositories.broker.world import ZEROS, BrokerWorld
from tests.support.git_server import git

pytestmark = pytest.mark.anyio
A, B = "a" * 40, "b" * 40


async def push(world: BrokerWorld, clone: Path, *what: str) -> tuple[int, str]:
    return await world.git("push", "origin", *what, cwd=clone)


@pytest.mark.parametrize(
    ("size", "option"),
    [(10, ()), (1_200_000, ("--depth=1",))],
    ids=["small", "shallow and above the buffer"],
)
async def test_granted_commit_is_pushed(
    world: BrokerWorld, size: int, option: tuple[str, ...]
) -> None:
    clone = await world.clone(*option)
    commit = await world.commit(clone, size=size)
    world.grant("work", commit)
    code, output = await push(world, clone, f"{commit}:refs/heads/work")
    assert code == 0, output
    assert world.server.refs("app")["refs/heads/work"] == commit


async def test_push_that_is_sent_slowly_keeps_no_place_from_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proofs = ancestry.PushProofs(Mirrors(tmp_path, max_bytes=1, max_age_seconds=1))
    monkeypatch.setattr(ancestry, "PLACE_SECONDS", 0.0)
    monkeypatch.setattr(proofs, "_places", asyncio.Semaphore(1))
    begun = asyncio.Event()

    async def proven(*_: object) -> None:
        return

    monkeypatch.setattr(proofs, "_prove_or_refuse", proven)

    async def slowly() -> AsyncIterator[bytes]:
        begun.set()
        yield b"begin"
        await asyncio.Event().wait()

    async def at_once() -> AsyncIterator[bytes]:
        yield b"pack"

    async def push_of(pack: AsyncIterator[bytes]) -> bytes:
        command = Command(A, B, "refs/heads/work")
        async with proofs.proven(Route("https://git.example.org/app.git"), command, pack) as again:
            return b"".join([piece async for piece in again])

    slow = asyncio.create_task(push_of(slowly()))
    await begun.wait()
    assert await push_of(at_once()) == b"pack"
    slow.cancel()
    await asyncio.wait({slow})
    assert not any((tmp_path / ancestry.FOLDER).iterdir())


async def test_server_that_takes_nothing_ends_the_push(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "TAKE_SECONDS", 0.1)
    held = asyncio.Event()

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await held.wait()
        writer.close()

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield bytes(1 << 20)

    server = await asyncio.start_server(hold, "127.0.0.1", 0, limit=1)
    port = server.sockets[0].getsockname()[1]
    route = Route(f"http://127.0.0.1:{port}/app.git", private=(f"127.0.0.1:{port}",))
    with pytest.raises(upstream.ServerProblem, match="broken the connection off"):
        await upstream.ask(route, upstream.Question("POST", "git-receive-pack", (), endless()))
    held.set()
    server.close()


async def test_push_without_a_grant_says_what_to_use(world: BrokerWorld) -> None:
    clone = await world.clone()
    await world.commit(clone)
    code, output = await push(world, clone, "HEAD:refs/heads/work")
    assert code != 0
    assert "push_branch" in output
    assert "refs/heads/work" not in world.server.refs("app")


REFUSED: dict[str, tuple[Callable[[str], tuple[str, ...]], str]] = {
    "another branch": (lambda c: (f"{c}:refs/heads/other",), "Nothing allows a push to other"),
    "default branch": (lambda c: (f"{c}:refs/heads/main",), "Nothing allows a push to main"),
    "deletion": (lambda c: (":refs/heads/old",), "Branches are not deleted"),
    "two branches": (lambda c: (f"{c}:refs/heads/work", f"{c}:refs/heads/w2"), "one branch at a"),
    "tag": (lambda c: (f"{c}:refs/tags/v1",), "Only branches are pushed"),
    "other commit": (lambda c: (f"{c}~1:refs/heads/work",), "is not the one that may be pushed"),
    "notes": (lambda c: (f"{c}:refs/notes/commits",), "Only branches are pushed"),
}


async def test_push_beyond_the_grant_is_refused_in_words(world: BrokerWorld) -> None:
    world.server.commit("app", {"o": b"o"}, branch="old")
    clone = await world.clone()
    commit = await world.commit(clone, size=1_200_000)  # above the buffer of git
    world.grant("work", commit)
    before = world.server.refs("app")
    for name, (what, words) in REFUSED.items():
        code, output = await push(world, clone, *what(commit))
        assert code != 0, name
        assert words in output, (name, output)
        assert "remote: Paca refused this push" in output, name
        assert world.server.refs("app") == before, name


async def test_commit_made_after_the_approval_is_not_pushed(world: BrokerWorld) -> None:
    clone = await world.clone()
    world.grant("work", await world.commit(clone))
    later = await world.commit(clone, "later.txt")
    code, output = await push(world, clone, f"{later}:refs/heads/work")
    assert code != 0
    assert "is not the one that may be pushed" in output


async def test_branch_that_moved_meanwhile_is_not_overwritten(world: BrokerWorld) -> None:
    clone = await world.clone()
    commit = await world.commit(clone)
    world.grant("work", commit)
    theirs = world.server.commit("app", {"t": b"t"}, branch="work")
    code, output = await push(world, clone, f"+{commit}:refs/heads/work")
    assert code != 0
    assert "has changed on the server" in output
    assert world.server.refs("app")["refs/heads/work"] == theirs


async def test_default_branch_of_the_server_counts_whatever_is_stored(world: BrokerWorld) -> None:
    world.route = replace(world.route, default_branch="trunk")
    clone = await world.clone()
    commit = await world.commit(clone)
    world.grant("main", commit, old=world.server.refs("app")["refs/heads/main"])
    code, output = await push(world, clone, f"{commit}:refs/heads/main")
    assert code != 0
    assert "is the default branch" in output


async def test_default_branch_is_pushed_where_that_is_allowed(world: BrokerWorld) -> None:
    world.route = replace(world.route, default_branch="main", allow_default_branch=True)
    clone = await world.clone()
    commit = await world.commit(clone)
    world.grant("main", commit, old=world.server.refs("app")["refs/heads/main"])
    code, output = await push(world, clone, f"{commit}:refs/heads/main")
    assert code == 0, output
    assert world.server.refs("app")["refs/heads/main"] == commit


@pytest.mark.parametrize(
    "capability", ["push-options", "push-options=", "push-cert=nonce", "new-order"]
)
def test_options_of_a_push_are_not_passed_on(world: BrokerWorld, capability: str) -> None:
    grant = Grant(world.conversation, world.repository, "refs/heads/work", ZEROS, A)
    commands = (Command(ZEROS, A, "refs/heads/work"),)
    assert not push_problem(listed(*commands), [grant])
    with_option = CommandList(b"", commands, frozenset({"report-status", capability}))
    problem = push_problem(with_option, [grant])
    assert "Options of a push are not passed on" in problem


async def test_option_in_the_configuration_of_a_clone_does_not_reach_the_server(
    world: BrokerWorld,
) -> None:
    bare = world.server.root / "app.git"
    git("-C", str(bare), "config", "receive.advertisePushOptions", "true")
    clone = await world.clone()
    commit = await world.commit(clone)
    await world.git("config", "push.pushOption", "repo.private=false", cwd=clone)
    world.grant("work", commit)
    refspec = f"{commit}:refs/heads/work"
    code, output = await push(world, clone, refspec)
    assert code != 0
    assert "Options of a push are not passed on" in output
    code, output = await world.git(*PUSH_OPTIONS, "push", "origin", refspec, cwd=clone)
    assert code == 0, output


@pytest.mark.parametrize("ref", ["refs/heads/Main", "refs/heads/MAIN"])
def test_default_branch_in_other_letters_is_the_default_branch(
    world: BrokerWorld, ref: str
) -> None:
    refs = ServerRefs({"HEAD": A, "refs/heads/main": A}, {"HEAD": "refs/heads/main"})
    assert "default branch" in server_problem(ref, world.route, refs)


def pushing(world: BrokerWorld, length: int) -> bytes:
    return world.post("git-receive-pack", f"Content-Length: {length}", b"")


async def test_probe_of_a_push_needs_a_grant_and_carries_nothing(world: BrokerWorld) -> None:
    answer = await world.ask(pushing(world, 4), b"0000")
    assert b"Nothing allows a push now" in answer
    assert not world.server.requests
    world.grant("work", A)
    hidden = b"0000" + pkt_line.line(f"{ZEROS} {A} refs/heads/main\0".encode()) + b"0000"
    assert b"More follows" in await world.ask(pushing(world, len(hidden)), hidden)
    assert not world.server.requests
    assert (await world.ask(pushing(world, 4), b"0000")).startswith(b"HTTP/1.1 200")


async def test_list_that_is_sent_after_the_grant_has_ended_is_refused(world: BrokerWorld) -> None:
    world.grant("work", A)
    reader, writer = await asyncio.open_connection("127.0.0.1", int(world.proxy.rpartition(":")[2]))
    commands = pkt_line.line(f"{ZEROS} {A} refs/heads/work\0 report-status".encode()) + b"0000"
    writer.write(pushing(world, len(commands)) + commands[:20])
    await world.asked.wait()
    world.grants.clear()
    writer.write(commands[20:])
    answer = await reader.read(-1)
    writer.close()
    assert b"Nothing allows a push" in answer or b"ng refs/heads/work" in answer
    assert not [path for method, path, _ in world.server.requests if "receive-pack" in path]


async def test_body_of_a_push_ends_with_its_grant(world: BrokerWorld) -> None:
    world.grant("work", A)

    async def pieces() -> AsyncIterator[bytes]:
        yield b"first"
        world.grants.clear()
        yield b"second"

    found = GitRequest(world.conversation, world.repository, "git-receive-pack", False, ANY, ANY)
    commands = listed(Command(ZEROS, A, "refs/heads/work"))
    passed = world.broker.pushes._while_granted(found, commands, pieces())
    assert await anext(passed) == b"first"
    with pytest.raises(BrokenBody, match="grant has ended"):
        await anext(passed)


def listed(*commands: Command) -> CommandList:
    return CommandList(b"", commands, frozenset())


@pytest.mark.parametrize("ref", ["refs/heads/main", "refs/heads/master"])
def test_first_branch_of_an_empty_repository_is_its_default(world: BrokerWorld, ref: str) -> None:
    assert "default branch" in server_problem(ref, world.route, ServerRefs())
    named = replace(world.route, default_branch="trunk")
    assert "default branch" in server_problem(ref, named, ServerRefs())


async def read(data: bytes) -> CommandList:
    reader = asyncio.StreamReader()
    reader.feed_data(data)
    reader.feed_eof()
    return await pkt_line.read_commands(reader.readexactly)


MALFORMED = {
    "no number": b"zzzz",
    "sign": b"-001",
    "spaces": b"  10" + b"x" * 12,
    "special line": b"0001",
    "too short": b"0003",
    "empty line": b"0004",
    "too long": b"fff5" + b"x" * 65_521,
    "cut off": b"0064" + f"{A} {B}".encode(),
    "no end": pkt_line.line(f"{A} {B} refs/heads/x\0 report-status".encode()),
    "no hash": pkt_line.line(b"g" * 40 + f" {B} refs/heads/x\0".encode()) + b"0000",
    "mixed hashes": pkt_line.line(f"{A} {'b' * 64} refs/heads/x\0".encode()) + b"0000",
    "space in the ref": pkt_line.line(f"{A} {B} refs/heads/x y\0".encode()) + b"0000",
    "signed push": pkt_line.line(b"push-cert\0 report-status") + b"0000",
    "second capabilities": pkt_line.line(f"{A} {B} refs/heads/x\0".encode())
    + pkt_line.line(f"{A} {B} refs/heads/y\0".encode())
    + b"0000",
    "very many": b"".join(
        pkt_line.line(f"{A} {B} refs/heads/{n:0900}".encode()) for n in range(100)
    )
    + b"0000",
}


@pytest.mark.parametrize("name", MALFORMED)
async def test_malformed_list_of_commands_is_refused(name: str, anyio_backend: str) -> None:
    with pytest.raises(ProtocolProblem):
        await read(MALFORMED[name])


async def test_list_of_commands_is_read(anyio_backend: str) -> None:
    data = pkt_line.line(f"shallow {A}\n".encode())
    data += pkt_line.line(f"{A} {B} refs/heads/x\0 report-status side-band-64k\n".encode())
    found = await read(data + b"0000PACK")
    assert found.commands == (Command(A, B, "refs/heads/x"),)
    assert found.data == data + b"0000"
    assert "side-band-64k" in found.capabilities
