"""The gate process is started when it is needed, outlives its worker, and goes on after a kill."""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from paca.common.network_policy import EgressPolicy, Network
from paca.sandbox.egress import gates, process
from paca.sandbox.egress.booking import read_lines
from paca.sandbox.egress.folders import GateFolder
from paca.sandbox.egress.gates import Gates
from tests.support.egress import boot_code
from tests.support.waiting import until

pytestmark = pytest.mark.anyio
POLICY = EgressPolicy(Network.RESTRICTED, ("pkgs.dev",))
CONNECT = b"CONNECT evil.example:443 HTTP/1.1\r\n\r\n"


async def ask(folder: GateFolder) -> bytes:
    reader, writer = await gates.connect(folder.socket)
    writer.write(CONNECT)
    try:
        return await reader.read(-1)
    finally:
        writer.close()


def pid_of(root: Path) -> int:
    """The process that holds the lock of the gates."""
    inode = (root / process.LOCK).stat().st_ino
    for line in Path("/proc/locks").read_text().splitlines():
        words = line.split()
        if words[1] == "FLOCK" and words[5].endswith(f":{inode}"):
            return int(words[4])
    return 0


def opener_of(pid: int) -> int:
    """The process that opens sockets for the gate process."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text())


@pytest.fixture
def opened(tmp_path):
    made = Gates(tmp_path, "tests")
    yield made
    if pid := pid_of(made.root):
        os.kill(pid, signal.SIGKILL)


async def test_the_process_serves_each_conversation_by_its_own_policy(opened):
    first, second = uuid.uuid4(), uuid.uuid4()
    inside = await opened.open(first, POLICY)
    await opened.open(second, EgressPolicy(Network.NONE))
    assert inside == opened.folder(first).inside
    assert b"X-Paca-Refused: not_listed" in await ask(opened.folder(first))
    assert b"X-Paca-Refused: closed" in await ask(opened.folder(second))
    await opened.close(first)
    assert b"X-Paca-Refused: closed" in await ask(opened.folder(first))
    assert [line.host for line in read_lines(opened.folder(first).booked, 0)[0]] == [
        "evil.example"
    ] * 2


async def test_another_worker_uses_the_process_and_a_killed_one_is_replaced(opened, tmp_path):
    conversation_id = uuid.uuid4()
    await opened.open(conversation_id, POLICY)
    pid = pid_of(opened.root)
    other = Gates(tmp_path, "tests")
    await other.open(conversation_id, POLICY)
    assert pid_of(opened.root) == pid
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not pid_of(opened.root))
    await other.open(uuid.uuid4(), POLICY)
    assert pid_of(opened.root) not in (0, pid)
    assert b"not_listed" in await ask(opened.folder(conversation_id))
    assert len(read_lines(opened.folder(conversation_id).booked, 0)[0]) == 1


WORKER = """
import asyncio, sys, uuid, pathlib
from paca.common.network_policy import EgressPolicy, Network
from paca.sandbox.egress import gates
gates.BOOT_CODE = sys.argv[1]
policy = EgressPolicy(Network.RESTRICTED, ("files.example",))
asyncio.run(gates.Gates(pathlib.Path(sys.argv[2]), "tests").open(uuid.UUID(sys.argv[3]), policy))
print("open", flush=True)
sys.stdin.read()
"""


async def test_a_transfer_goes_on_when_its_worker_is_killed_and_is_booked_whole(opened, tmp_path):
    going_on = asyncio.Event()
    size = 4 << 20

    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + bytes(size // 2))
        await going_on.wait()
        writer.write(bytes(size // 2))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    code = boot_code(server.sockets[0].getsockname()[1])
    conversation_id = uuid.uuid4()
    worker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WORKER, code, str(tmp_path), str(conversation_id)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert (await worker.stdout.readline()).strip() == b"open"
    pid, folder = pid_of(opened.root), opened.folder(conversation_id)
    reader, writer = await gates.connect(folder.socket)
    writer.write(b"GET http://files.example/ HTTP/1.1\r\nHost: files.example\r\n\r\n")
    first = await reader.readexactly(size // 2)
    worker.kill()
    await worker.wait()
    await opened.ensure_process()  # another worker
    going_on.set()
    whole = first + await reader.read(-1)
    writer.close()
    server.close()
    assert whole.partition(b"\r\n\r\n")[2] == bytes(size)
    assert pid_of(opened.root) == pid
    begin, end = read_lines(folder.booked, 0)[0]
    assert (begin.host, begin.begins, end.begins, end.reason) == ("files.example", True, False, "")
    assert end.received == len(whole)


async def test_a_process_of_another_version_is_replaced_once(opened, tmp_path):
    await opened.open(uuid.uuid4(), POLICY)
    pid = pid_of(opened.root)
    newer = Gates(tmp_path, "tests")
    newer._version = "newer"
    await newer.open(uuid.uuid4(), POLICY)
    assert pid_of(opened.root) not in (0, pid)
    pid = pid_of(opened.root)
    await opened.open(uuid.uuid4(), POLICY)  # the older worker works on
    assert pid_of(opened.root) == pid
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not pid_of(opened.root))
    await opened.ensure_process()
    pid = pid_of(opened.root)
    await newer.ensure_process()
    assert pid_of(opened.root) not in (0, pid)


async def test_opener_that_is_killed_ends_its_gate_and_both_are_replaced(opened):
    conversation_id = uuid.uuid4()
    await opened.open(conversation_id, POLICY)
    pid = pid_of(opened.root)
    os.kill(opener_of(pid), signal.SIGKILL)
    await until(lambda: not pid_of(opened.root))
    await opened.ensure_process()
    assert pid_of(opened.root) not in (0, pid)
    assert b"not_listed" in await ask(opened.folder(conversation_id))


async def test_opener_of_a_killed_gate_ends_and_until_then_no_other_begins(opened):
    await opened.open(uuid.uuid4(), POLICY)
    pid = pid_of(opened.root)
    opener = opener_of(pid)
    os.kill(opener, signal.SIGSTOP)
    os.kill(pid, signal.SIGKILL)
    with (opened.root / process.LOCK).open("rb") as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # both have it
    os.kill(opener, signal.SIGCONT)
    await until(lambda: not pid_of(opened.root))


async def test_socket_of_a_gate_is_open_to_the_user_of_its_sandbox(opened):
    conversation_id = uuid.uuid4()
    await opened.open(conversation_id, POLICY)
    assert opened.folder(conversation_id).socket.stat().st_mode & 0o777 == 0o666
    assert (opened.root / process.CONTROL).stat().st_mode & 0o077 == 0


async def test_the_process_holds_no_secret_of_its_worker(opened, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", "canary-of-the-worker")
    await opened.open(uuid.uuid4(), POLICY)
    environment = Path("/proc", str(pid_of(opened.root)), "environ").read_bytes()
    assert b"canary" not in environment


async def test_a_removed_folder_closes_its_gate(opened):
    conversation_id = uuid.uuid4()
    await opened.open(conversation_id, POLICY)
    opened.folder(conversation_id).remove()
    await opened._ask(process.LOOK)
    assert opened.list_open() == []
