"""Git in a sandbox clones and fetches through the broker, which adds the credential."""

from __future__ import annotations

import asyncio
import gzip
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from paca.repositories.broker import serving
from paca.repositories.broker.bodies import BrokenBody
from paca.repositories.broker.routes import Route
from tests.repositories.broker.world import BrokerWorld
from tests.support.git_server import HEADER, TOKEN, GitServer

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("protocol", ["0", "2"])
@pytest.mark.parametrize("mirrored", [False, True], ids=["server", "mirror"])
async def test_git_clones_and_fetches(world: BrokerWorld, protocol: str, mirrored: bool) -> None:
    if mirrored:
        world.with_mirror()
        await world.mirrors.fill(world.route)
    clone = await world.clone("-c", f"protocol.version={protocol}")
    assert (clone / "README.md").read_bytes() == b"hello\n"
    newer = world.server.commit("app", {"more.txt": b"more\n"})
    assert (await world.git("pull", "-q", cwd=clone))[0] == 0
    assert (await world.git("rev-parse", "HEAD", cwd=clone))[1].strip() == newer


@pytest.mark.parametrize("mirrored", [False, True], ids=["server", "mirror"])
async def test_git_clones_in_part(world: BrokerWorld, mirrored: bool) -> None:
    world.server.commit("app", {"second.txt": b"2\n"}, branch="other")
    if mirrored:
        world.with_mirror()
        await world.mirrors.fill(world.route)
    for option in ("--depth=1", "--branch=other"):
        assert ((await world.clone(option, to=option[2:])) / "README.md").exists()
    clone = await world.clone("--filter=blob:none")
    assert (await world.git("show", "origin/other:second.txt", cwd=clone))[1] == "2\n"


async def test_credential_never_reaches_the_sandbox(world: BrokerWorld) -> None:
    code, output = await world.git(
        "-c", "http.extraHeader=Authorization: Basic bm9ib2R5", "clone", world.url, "c"
    )
    assert code == 0
    assert {headers.get("authorization") for _, _, headers in world.server.requests} == {HEADER}
    found = [p for p in (world.folder / "c").rglob("*") if p.is_file()]
    assert not any(TOKEN.encode() in p.read_bytes() for p in found)
    assert TOKEN not in output


async def test_first_clone_begins_a_mirror_and_the_next_one_uses_it(world: BrokerWorld) -> None:
    world.with_mirror()
    await world.clone(to="one")
    filling = world.mirrors.usage(world.route).filling
    assert filling is not None
    await filling
    before = len([r for r in world.server.requests if r[0] == "POST"])
    await world.clone(to="two")
    refs_only = [r for r in world.server.requests if r[0] == "POST"][before:]
    assert len(refs_only) <= 2  # what changed is asked for, nothing is fetched
    assert (world.folder / "two" / "big.bin").stat().st_size == 200_000


async def test_revoked_credential_closes_the_mirror(world: BrokerWorld) -> None:
    world.with_mirror()
    await world.mirrors.fill(world.route)
    world.route = replace(world.route, header="Basic b3RoZXI=")
    code, output = await world.git("clone", world.url, "c")
    assert code != 0
    assert "refuses the credentials of app" in output


async def test_mirror_is_closed_while_the_server_is_asked(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.with_mirror()
    await world.mirrors.fill(world.route)
    world.route = replace(world.route, header="Basic b3RoZXI=")
    asked, go_on, update = asyncio.Event(), asyncio.Event(), world.mirrors.update

    async def slow_update(route: Route) -> Path:
        asked.set()
        await go_on.wait()
        return await update(route)

    monkeypatch.setattr(world.mirrors, "update", slow_update)
    first = f"GET {world.url}info/refs?service=git-upload-pack HTTP/1.1\r\nHost: repositories.paca\r\n\r\n"
    advertising = asyncio.create_task(world.ask(first.encode()))
    await asked.wait()
    answer = await world.ask(post(world, f"Content-Length: {len(LS_REFS)}", LS_REFS))
    go_on.set()
    await advertising
    assert b"refs/heads/main" not in answer
    assert b"refuses the credentials" in answer


async def test_redirect_to_another_host_gets_no_credential(
    world: BrokerWorld, tmp_path: Path
) -> None:
    with GitServer(tmp_path / "other", header="") as other:
        other.create("app")
        world.server.redirect = other.address
        code, output = await world.git("clone", world.url, "c")
        assert code != 0
        assert "says that the repository is at http://127.0.0.1" in output
        assert not other.requests


CASES = {
    "another repository": (
        "GET",
        "{other}/info/refs?service=git-upload-pack",
        "is not one of yours",
    ),
    "no id": ("GET", "app/info/refs?service=git-upload-pack", "No repository is linked"),
    "dumb": ("GET", "{own}/info/refs", "Only git's smart protocol"),
    "object": ("GET", "{own}/objects/info/packs", "Only git's smart protocol"),
    "head": ("GET", "{own}/HEAD", "Only git's smart protocol"),
    "path": ("GET", "{own}/../{other}/info/refs?service=git-upload-pack", "Only git's smart"),
    "encoded path": ("GET", "{own}/%2e%2e/info/refs?service=git-upload-pack", "Only git's smart"),
    "service": ("GET", "{own}/info/refs?service=git-upload-archive", "Only git's smart"),
    "two services": (
        "GET",
        "{own}/info/refs?service=git-upload-pack&service=git-receive-pack",
        "Only git's smart",
    ),
    "lfs": ("POST", "{own}/info/lfs/objects/batch", "Git LFS"),
    "push without a grant": ("GET", "{own}/info/refs?service=git-receive-pack", "push_branch"),
    "method": ("POST", "{own}/info/refs?service=git-upload-pack", "Only git's smart"),
    "type": ("POST", "{own}/git-upload-pack", "Only git's smart"),
}


@pytest.mark.parametrize("name", CASES)
async def test_broker_refuses_with_words(world: BrokerWorld, name: str) -> None:
    method, path, words = CASES[name]
    target = path.format(own=world.repository, other=uuid.uuid4())
    answer = await world.ask(
        f"{method} http://repositories.paca/{target} HTTP/1.1\r\nHost: repositories.paca\r\n\r\n".encode()
    )
    assert answer.startswith(b"HTTP/1.1 403")
    assert words in answer.decode()
    assert not world.server.requests


async def test_gate_of_another_conversation_reaches_nothing(world: BrokerWorld) -> None:
    proxy = await world.gate_of(uuid.uuid4())
    code, output = await world.git("clone", world.url, "c", proxy=proxy)
    assert code != 0
    assert "is not one of yours" in output


async def test_claim_to_be_another_conversation_is_no_header(world: BrokerWorld) -> None:
    proxy = await world.gate_of(uuid.uuid4())
    head = (
        f"GET {world.url}info/refs?service=git-upload-pack HTTP/1.1\r\nHost: repositories.paca\r\n"
        f"X-Conversation: {world.conversation}\r\n\r\n"
    )
    assert b"is not one of yours" in await world.ask(head.encode(), proxy=proxy)


def post(world: BrokerWorld, headers: str, body: bytes) -> bytes:
    return (
        f"POST {world.url}git-upload-pack HTTP/1.1\r\nHost: repositories.paca\r\n"
        f"Content-Type: application/x-git-upload-pack-request\r\nGit-Protocol: version=2\r\n{headers}\r\n\r\n"
    ).encode() + body


LS_REFS = b"0014command=ls-refs\n0001001bref-prefix refs/heads/\n0000"


@pytest.mark.parametrize("mirrored", [False, True], ids=["server", "mirror"])
@pytest.mark.parametrize("form", ["length", "chunks", "gzip", "expect"])
async def test_bodies_are_read_in_every_form(world: BrokerWorld, form: str, mirrored: bool) -> None:
    if mirrored:
        world.with_mirror()
        await world.mirrors.fill(world.route)
        await world.ask(
            f"GET {world.url}info/refs?service=git-upload-pack HTTP/1.1\r\nHost: repositories.paca\r\n\r\n".encode()
        )
    if form == "length":
        request = post(world, f"Content-Length: {len(LS_REFS)}", LS_REFS)
    elif form == "chunks":
        chunks = b"".join(b"%x\r\n%b\r\n" % (1, LS_REFS[i : i + 1]) for i in range(len(LS_REFS)))
        request = post(world, "Transfer-Encoding: chunked", chunks + b"0\r\n\r\n")
    elif form == "gzip":
        body = gzip.compress(LS_REFS)
        request = post(world, f"Content-Encoding: gzip\r\nContent-Length: {len(body)}", body)
    else:
        request = post(world, f"Expect: 100-continue\r\nContent-Length: {len(LS_REFS)}", LS_REFS)
    answer = await world.ask(request)
    assert b"refs/heads/main" in answer
    assert answer.startswith(b"HTTP/1.1 100 Continue") == (form == "expect")


BROKEN = {
    "two framings": "Content-Length: 4\r\nTransfer-Encoding: chunked",
    "coding": "Transfer-Encoding: gzip, chunked",
    "length": "Content-Length: -4",
    "long length": "Content-Length: 99999999999999999999",
}


@pytest.mark.parametrize("name", BROKEN)
async def test_doubtful_framing_is_not_passed_on(world: BrokerWorld, name: str) -> None:
    answer = await world.ask(post(world, BROKEN[name], b"4\r\n0000\r\n0\r\n\r\n"))
    assert b"200 OK" not in answer
    assert not world.server.requests


async def test_trailer_is_not_passed_on(world: BrokerWorld) -> None:
    body = b"%x\r\n%b\r\n0\r\nX-Next: 1\r\n\r\n" % (len(LS_REFS), LS_REFS)
    assert b"200 OK" not in await world.ask(post(world, "Transfer-Encoding: chunked", body))


async def pieces_of(*data: bytes) -> AsyncIterator[bytes]:
    for each in data:
        yield each


async def test_request_of_a_fetch_is_bounded(
    anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MAX_FETCH_REQUEST", 1000)
    assert [each async for each in serving._limited(pieces_of(b"a" * 1000))]
    with pytest.raises(BrokenBody):
        [each async for each in serving._limited(pieces_of(b"a" * 999, b"bb"))]


async def test_compressed_request_is_bounded(
    anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MAX_FETCH_REQUEST", 1 << 20)
    bomb = gzip.compress(bytes(40 << 20))
    with pytest.raises(BrokenBody):
        [each async for each in serving._unzipped(pieces_of(bomb[:100], bomb[100:]))]
    with pytest.raises(BrokenBody):
        [each async for each in serving._unzipped(pieces_of(b"no gzip at all"))]


async def test_private_server_is_reached_only_if_the_operator_lists_it(world: BrokerWorld) -> None:
    world.route = replace(world.route, private=())
    code, output = await world.git("clone", world.url, "c")
    assert code != 0
    assert "PRIVATE_GIT_SERVERS=127.0.0.1" in output
    assert not world.server.requests


async def test_answer_of_another_program_is_not_passed_on(world: BrokerWorld) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")  # it tells what it was asked, as debug pages do
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" + head
        )
        writer.close()

    other = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = other.sockets[0].getsockname()[1]
    world.route = replace(
        world.route, url=f"http://127.0.0.1:{port}/a.git", private=(f"127.0.0.1:{port}",)
    )
    answer = await world.ask(
        f"GET {world.url}info/refs?service=git-upload-pack HTTP/1.1\r\nHost: repositories.paca\r\n\r\n".encode()
    )
    other.close()
    assert b"does not speak git's protocol" in answer
    assert HEADER.encode() not in answer
