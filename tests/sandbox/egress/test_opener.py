"""The opener hands the gate what it may have, in order, and each process notices the end of the other."""

import asyncio
import socket
import threading
import uuid

import pytest

from paca.sandbox.egress import opener, unix_sockets
from paca.sandbox.egress.folders import GateFolder
from paca.sandbox.egress.opener import Opener
from paca.sandbox.egress.repositories import broker_socket

pytestmark = pytest.mark.anyio


class OpenerWorld:
    """An opener in a thread, and the gate's end of its channel. It answers once ``begin`` was called."""

    def __init__(self, root) -> None:
        self.root = root
        self.asking, self.answering = opener.make_channel()
        self.ended = asyncio.Event()
        self.opener = Opener(self.asking, self.ended.set)
        self._thread = threading.Thread(target=opener.serve, args=(root, self.answering))

    def folder(self) -> GateFolder:
        made = GateFolder(self.root, uuid.uuid4())
        made.inside.mkdir(parents=True)
        return made

    def begin(self) -> None:
        self._thread.start()

    def close(self) -> None:
        if self.asking.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self.asking)
            self.asking.close()
        if self._thread.is_alive():
            self._thread.join()
        self.answering.close()


@pytest.fixture
async def world(tmp_path, anyio_backend):
    made = OpenerWorld(tmp_path / "gates")
    yield made
    made.close()


async def test_opener_hands_over_sockets_that_listen(world):
    world.begin()
    folder = world.folder()
    with await world.opener.listen(folder.conversation_id) as listener:
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        with unix_sockets.address_of(folder.socket) as address, pytest.raises(OSError, match="Inv"):
            listener.connect(address)
        with unix_sockets.connect(folder.socket) as client, listener.accept()[0] as accepted:
            client.send(b"x")
            assert accepted.recv(1) == b"x"


async def test_opener_hands_over_a_connection_to_the_broker_once_there_is_one(world):
    world.begin()
    with pytest.raises(OSError, match="No such file"):
        await world.opener.connect_to_broker()
    path = broker_socket(world.root)
    path.parent.mkdir(parents=True)
    with unix_sockets.listen(path) as broker, await world.opener.connect_to_broker() as made:
        made.send(b"x")
        with broker.accept()[0] as accepted:
            assert accepted.recv(1) == b"x"


async def test_opener_refuses_a_missing_folder_and_what_it_does_not_know(world):
    world.begin()
    with pytest.raises(OSError, match="No such file"):
        await world.opener.listen(uuid.uuid4())
    for message in (b"x", b"../../../../", bytes(15), b"broker/", bytes(300)):
        with pytest.raises(OSError, match="16-char"):
            await world.opener._ask(message)


async def test_answer_that_nobody_waits_for_goes_to_nobody_else(world):
    first, second = world.folder(), world.folder()
    cancelled = asyncio.ensure_future(world.opener.listen(first.conversation_id))
    await asyncio.sleep(0)  # it has asked
    cancelled.cancel()
    waiting = asyncio.ensure_future(world.opener.listen(second.conversation_id))
    await asyncio.sleep(0)
    world.begin()
    with await waiting as listener, unix_sockets.connect(second.socket):
        listener.accept()[0].close()
    with pytest.raises(ConnectionRefusedError):
        unix_sockets.connect(first.socket)


async def test_end_of_the_opener_is_told_to_all_who_wait(world):
    waiting = asyncio.ensure_future(world.opener.connect_to_broker())
    await asyncio.sleep(0)
    world.answering.close()
    with pytest.raises(ConnectionResetError):
        await waiting
    await world.ended.wait()
    with pytest.raises(BrokenPipeError):
        await world.opener.connect_to_broker()


async def test_opener_ends_with_the_gate(world):
    world.begin()
    asyncio.get_running_loop().remove_reader(world.asking)
    world.asking.close()
    world._thread.join()
