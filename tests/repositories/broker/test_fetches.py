"""Git in a sandbox clones and fetches through the broker, which adds the credential."""

from __future__ import annotations

import asyncio
import gzip
import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from paca.repositories.broker import fetches, pkt_line, requests, sending, serving
from paca.repositories.broker.bodies import BrokenBody
from tests.repositories.broker.world import BrokerWorld
from tests.support.fake_clock import FakeClock
from tests.support.git_server import HEADER, TOKEN, GitServer, git

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("protocol", "mirrored"), [("0", False), ("2", False), ("2", True)])
async def test_git_clones_and_fetches(world: BrokerWorld, protocol: str, mirrored: bool) -> None:
    if mirrored:
        await world.fill_mirror()
    clone = await world.clone("-c", f"protocol.version={protocol}")
    assert (clone / "README.md").read_bytes() == b"hello\n"
    newer = world.server.commit("app", {"more.txt": b"more\n"})
    assert (await world.git("pull", "-q", cwd=clone))[0] == 0
    assert (await world.git("rev-parse", "HEAD", cwd=clone))[1].strip() == newer


@pytest.mark.parametrize("mirrored", [False, True], ids=["server", "mirror"])
async def test_git_clones_in_part(world: BrokerWorld, mirrored: bool) -> None:
    world.server.commit("app", {"second.txt": b"2\n"}, branch="other")
    if mirrored:
        await world.fill_mirror()
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
    world.server.requests.clear()
    await world.clone(to="two")
    assert [method for method, _, _ in world.server.requests] == ["GET", "POST"]  # refs, no objects
    assert (world.folder / "two" / "big.bin").stat().st_size == 20_000


async def test_ref_that_a_mirror_has_not_is_fetched_from_the_server(world: BrokerWorld) -> None:
    await world.fill_mirror()
    proposed = world.server.commit("app", {"p.txt": b"p\n"}, branch="proposed")
    git("-C", str(world.server.root / "app.git"), "update-ref", "refs/pull/1/head", proposed)
    git("-C", str(world.server.root / "app.git"), "update-ref", "-d", "refs/heads/proposed")
    clone = await world.clone()
    code, output = await world.git("fetch", "-q", "origin", "pull/1/head", cwd=clone)
    assert code == 0, output
    assert (await world.git("rev-parse", "FETCH_HEAD", cwd=clone))[1].strip() == proposed


async def test_revoked_credential_closes_the_mirror(world: BrokerWorld) -> None:
    await world.fill_mirror()
    world.server.header = "Basic b3RoZXI="
    code, output = await world.git("clone", world.url, "c")
    assert code != 0
    assert "refuses the credentials of app" in output


def fetch_of(world: BrokerWorld) -> bytes:
    commit = world.server.refs("app")["refs/heads/main"]
    want = pkt_line.line(f"want {commit}\n".encode())
    return (
        pkt_line.line(b"command=fetch") + b"0001" + want + pkt_line.line(b"deepen 1\n")
        + pkt_line.line(b"done\n") + b"0000"
    )  # fmt: skip


async def test_objects_of_a_mirror_are_told_for_a_minute_after_the_server_has_agreed(
    world: BrokerWorld,
) -> None:
    body = fetch_of(world)
    request = post(world, f"Content-Length: {len(body)}", body)
    with FakeClock() as time:
        await world.fill_mirror()
        assert b"PACK" in await world.ask(request)
        world.server.header = "Basic b3RoZXI="
        time.advance(fetches.READABLE_SECONDS - 1)
        assert b"PACK" in await world.ask(request)
        time.advance(2)
        refused = await world.ask(request)
        assert b"PACK" not in refused
        assert b"refuses the credentials of app" in refused
        world.server.header = HEADER
        assert b"PACK" in await world.ask(request)
        world.route = replace(world.route, header="Basic bm8=")
        assert b"PACK" not in await world.ask(request)


async def test_long_read_of_a_mirror_is_cut_when_the_server_refuses(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    await world.fill_mirror()
    body = fetch_of(world)
    monkeypatch.setattr(fetches, "READABLE_SECONDS", 0.01)
    reader, writer = await world.connect()
    writer.write(post(world, f"Content-Length: {len(body) + 4}", body))  # it goes on and on
    assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    world.server.header = "Basic b3RoZXI="
    assert not (await reader.read(-1)).endswith(b"0\r\n\r\n")
    writer.close()


async def test_running_transfer_is_cut_when_the_repository_is_unlinked(
    world: BrokerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        kind = b"application/x-git-upload-pack-advertisement"
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: " + kind + b"\r\n\r\nbegin")
        await reader.read(-1)  # and never the rest
        writer.close()

    endless = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = endless.sockets[0].getsockname()[1]
    server = f"127.0.0.1:{port}"
    world.route = replace(world.route, url=f"http://{server}/a.git", private=(server,))
    monkeypatch.setattr(serving, "LOOK_SECONDS", 0.01)
    reader, writer = await world.connect()
    writer.write(world.get("info/refs?service=git-upload-pack"))
    await reader.readuntil(b"begin")
    world.is_linked = False
    assert not (await reader.read(-1)).endswith(b"0\r\n\r\n")
    writer.close()
    endless.close()


async def test_right_to_a_transfer_ends_when_the_repository_moves(world: BrokerWorld) -> None:
    found = SimpleNamespace(conversation_id=world.conversation, repository_id=world.repository)
    began = world.route
    await world.broker._require_access(found, began)  # type: ignore[arg-type]
    world.route = replace(began, url=f"{world.server.address}/other.git")
    with pytest.raises(fetches.AccessEnded):
        await world.broker._require_access(found, began)  # type: ignore[arg-type]


async def test_client_that_takes_nothing_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, data: bytes) -> None:
            pass

        async def drain(self) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(sending, "GRACE_SECONDS", 0.01)
    with pytest.raises(TimeoutError):
        await sending.Client(Full()).send(b"data")  # type: ignore[arg-type]


async def test_refusal_of_lfs_is_in_the_form_that_it_shows(world: BrokerWorld) -> None:
    answer = await world.ask(world.post("info/lfs/objects/batch", "Content-Length: 0", b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"Content-Type: application/vnd.git-lfs+json" in head
    assert "Leave the pointers as they are" in json.loads(body)["message"]


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
    return world.post("git-upload-pack", f"Git-Protocol: version=2\r\n{headers}", body)


LS_REFS = b"0014command=ls-refs\n0001001bref-prefix refs/heads/\n0000"


@pytest.mark.parametrize("mirrored", [False, True], ids=["server", "mirror"])
async def test_bodies_are_read_in_every_form(world: BrokerWorld, mirrored: bool) -> None:
    if mirrored:
        await world.fill_mirror()
    body, words = (fetch_of(world), b"PACK") if mirrored else (LS_REFS, b"refs/heads/main")
    chunks = b"".join(b"%x\r\n%b\r\n" % (1, body[i : i + 1]) for i in range(len(body)))
    zipped, length = gzip.compress(body), f"Content-Length: {len(body)}"
    forms = {
        "length": (length, body),
        "chunks": ("Transfer-Encoding: chunked", chunks + b"0\r\n\r\n"),
        "gzip": (f"Content-Encoding: gzip\r\nContent-Length: {len(zipped)}", zipped),
        "expect": (f"Expect: 100-continue\r\n{length}", body),
    }
    for form, (headers, sent) in forms.items():
        answer = await world.ask(post(world, headers, sent))
        assert words in answer, form
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
    monkeypatch.setattr(requests, "MAX_FETCH_REQUEST", 1000)
    assert [each async for each in requests._limited(pieces_of(b"a" * 1000))]
    with pytest.raises(BrokenBody):
        [each async for each in requests._limited(pieces_of(b"a" * 999, b"bb"))]


async def test_compressed_request_is_bounded(
    anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "MAX_FETCH_REQUEST", 1 << 20)
    bomb = gzip.compress(bytes(40 << 20))
    with pytest.raises(BrokenBody):
        [each async for each in requests._unzipped(pieces_of(bomb[:100], bomb[100:]))]
    with pytest.raises(BrokenBody):
        [each async for each in requests._unzipped(pieces_of(b"no gzip at all"))]


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
