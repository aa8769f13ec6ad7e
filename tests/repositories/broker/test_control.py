"""Workers answer the broker over its private socket and allow pushes, as long as they live."""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from paca.repositories.broker import control, key
from paca.repositories.broker.mirrors import Mirrors
from paca.repositories.broker.process import BrokerProcess
from paca.repositories.broker.requests import Refused
from paca.repositories.broker.routes import Grant, Route
from paca.repositories.broker.running import BranchOnServer, BrokerClient, RefsUnknown
from paca.sandbox.egress import gates
from tests.sandbox.egress.test_gates import pid_of
from tests.support.git_server import HEADER, GitServer
from tests.support.waiting import until

pytestmark = pytest.mark.anyio
A, B = "a" * 40, "b" * 40
ROUTE = Route("https://git.example.org/app.git", header=HEADER, name="app", private=("x:1",))


@pytest.fixture
async def client(tmp_path: Path, anyio_backend: str) -> AsyncIterator[BrokerClient]:
    """A client of a broker in this process."""
    found = BrokerClient(tmp_path, tmp_path / "mirrors")
    found.root.mkdir()
    key.create(found.root)
    mirrors = Mirrors(tmp_path / "mirrors", max_bytes=1 << 20, max_age_seconds=1e6)
    found.served = BrokerProcess(found.root, found._version, mirrors)  # type: ignore[attr-defined]
    running = asyncio.create_task(found.served.run())  # type: ignore[attr-defined]
    await until((found.root / "control").exists)
    await found.ensure_process()
    yield found
    running.cancel()
    await asyncio.wait({running})


def grants(client: BrokerClient, conversation: UUID, repository: UUID) -> list[Grant]:
    return client.served._control.grants(conversation, repository)  # type: ignore[attr-defined]


async def test_worker_answers_for_the_conversation_and_repository_that_is_asked(
    client: BrokerClient,
) -> None:
    asked: list[tuple[UUID, UUID]] = []

    async def find(conversation: UUID, repository: UUID) -> Route | str:
        asked.append((conversation, repository))
        return ROUTE if len(asked) == 1 else "Not yours."

    answering = asyncio.create_task(client.answer(find))
    control = client.served._control  # type: ignore[attr-defined]
    one, two = uuid.uuid4(), uuid.uuid4()
    assert await control.route(one, two) == ROUTE
    assert await control.route(one, two) == ROUTE
    assert asked == [(one, two)]
    with pytest.raises(Refused, match="Not yours"):
        await control.route(two, one)
    answering.cancel()
    await asyncio.wait({answering})
    await until(lambda: not control._answerers)
    assert not control._kept  # no credential outlives the worker that told it


async def test_git_waits_for_the_worker_that_takes_over(client: BrokerClient) -> None:
    control = client.served._control  # type: ignore[attr-defined]
    asked = asyncio.Event()

    async def die(conversation: UUID, repository: UUID) -> Route | str:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def find(conversation: UUID, repository: UUID) -> Route | str:
        return ROUTE

    first = asyncio.create_task(client.answer(die))
    question = asyncio.create_task(control.route(uuid.uuid4(), uuid.uuid4()))
    await asked.wait()
    first.cancel()
    await asyncio.wait({first})
    await until(lambda: not control._answerers)
    assert not question.done()
    second = asyncio.create_task(client.answer(find))
    assert await question == ROUTE
    second.cancel()
    await asyncio.wait({second})


async def test_slow_answer_about_one_repository_leaves_the_worker_to_the_others(
    client: BrokerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "ASK_SECONDS", 0.2)
    monkeypatch.setattr(control, "WAIT_SECONDS", 1.0)
    slow = uuid.uuid4()

    async def find(conversation: UUID, repository: UUID) -> Route | str:
        if repository == slow:
            await asyncio.Event().wait()
        return ROUTE

    answering = asyncio.create_task(client.answer(find))
    asking = client.served._control  # type: ignore[attr-defined]
    with pytest.raises(Refused, match="in a moment"):
        await asking.route(uuid.uuid4(), slow)
    assert await asking.route(uuid.uuid4(), uuid.uuid4()) == ROUTE
    answering.cancel()
    await asyncio.wait({answering})


async def test_grant_counts_for_its_conversation_and_repository(client: BrokerClient) -> None:
    grant = Grant(uuid.uuid4(), uuid.uuid4(), "refs/heads/x", A, B)
    async with client.grant(grant):
        assert grants(client, grant.conversation_id, grant.repository_id) == [grant]
        assert grants(client, uuid.uuid4(), grant.repository_id) == []
        assert grants(client, grant.conversation_id, uuid.uuid4()) == []


async def test_grant_ends_with_the_connection_of_its_worker(client: BrokerClient) -> None:
    grant = Grant(uuid.uuid4(), uuid.uuid4(), "refs/heads/x", A, B)
    async with client.grant(grant):
        pass
    await until(lambda: not grants(client, grant.conversation_id, grant.repository_id))


async def test_refs_are_asked_with_the_credential_of_the_route(
    client: BrokerClient, tmp_path: Path
) -> None:
    with GitServer(tmp_path / "server") as server:
        server.create("app")
        private = (f"127.0.0.1:{server.port}",)
        route = Route(server.url("app"), header=HEADER, private=private)
        commit = server.refs("app")["refs/heads/main"]
        assert await client.ask_branch(route, "main") == BranchOnServer(commit, "main", "")
        assert await client.ask_branch(route, "mai") == BranchOnServer("", "main", "")
        with pytest.raises(RefsUnknown, match="refuses the credentials"):
            await client.ask_branch(replace(route, header=""), "main")


@pytest.mark.parametrize("sent", [{}, {"key": ""}, {"key": "0" * 64}, {"key": 7}, {"key": None}])
@pytest.mark.parametrize("wanted", ["look", "end", "answer", "grant", "refs"])
async def test_broker_does_nothing_for_who_has_not_its_key(
    client: BrokerClient, sent: dict[str, object], wanted: str
) -> None:
    """The network gate runs as the same user: bytes of sandboxes must not be able to take it over and go on here."""
    reader, writer = await gates.connect(client.root / "control")
    await control.send(writer, {"do": wanted, **sent})
    assert await reader.read(-1) == b""
    writer.close()
    served = client.served  # type: ignore[attr-defined]
    assert served._control._answerers == served._control._grants == []
    assert not served._ending.is_set()


@pytest.mark.parametrize("left", [b"", b"ab", b"\xff" * 7])
async def test_a_key_that_a_crash_has_cut_off_opens_nothing_and_is_replaced(
    tmp_path: Path, left: bytes
) -> None:
    (tmp_path / key.NAME).write_bytes(left)
    assert not key.is_right(tmp_path, left.decode("ascii", "replace"))
    key.create(tmp_path)
    made = key.read(tmp_path)
    assert key.is_right(tmp_path, made)
    assert (tmp_path / key.NAME).stat().st_mode & 0o777 == 0o600
    key.create(tmp_path)
    assert key.read(tmp_path) == made


async def test_older_worker_leaves_the_broker_of_a_newer_one(
    client: BrokerClient, tmp_path: Path
) -> None:
    served = client.served  # type: ignore[attr-defined]
    newer = BrokerClient(tmp_path, tmp_path / "mirrors")
    served._version = f"newer.{newer._created_ns}"
    await client.ensure_process()
    assert not served._ending.is_set()
    newer._version, newer._created_ns = "newest", newer._created_ns + 1
    assert not await newer._find_process()
    assert served._ending.is_set()


@pytest.mark.service
async def test_process_is_started_once_and_found_again(tmp_path: Path, anyio_backend: str) -> None:
    one, two = (BrokerClient(tmp_path, tmp_path / "mirrors") for _ in range(2))
    await asyncio.gather(one.ensure_process(), two.ensure_process())

    async def find(conversation: UUID, repository: UUID) -> Route | str:
        return ROUTE

    answering = asyncio.create_task(one.answer(find))
    pid = pid_of(one.root)
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    assert {each.partition(b"=")[0] for each in variables if each} == {b"PATH", b"LC_CTYPE"}
    assert not one.root.stat().st_mode & 0o077
    os.kill(pid, signal.SIGKILL)
    with suppress(OSError):  # it may not have been connected yet
        await answering
    await two.ensure_process()
    assert pid_of(one.root) != pid
    os.kill(pid_of(one.root), signal.SIGKILL)
