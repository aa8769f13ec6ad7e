"""The frames that a worker sends to a runner."""

import asyncio
import socket

import pytest

from paca.sandbox.runner.frames import FrameParser, encode
from paca.sandbox.runner_client import Attachment

pytestmark = pytest.mark.anyio


async def test_attachment_sends_the_keys_that_runners_of_older_versions_read():
    """A runner outlives an upgrade of Paca, so these keys never change."""
    worker_end, runner_end = socket.socketpair()
    worker_end.setblocking(False)
    runner_end.setblocking(False)
    loop = asyncio.get_running_loop()
    attaching = asyncio.create_task(
        Attachment.from_socket(worker_end, epoch=3, seconds=5, unattended_seconds=7.5)
    )
    parser, frames = FrameParser(), []
    while not frames:
        frames += parser.feed(await loop.sock_recv(runner_end, 4096))
    ((nonce, message),) = frames
    assert message == {"op": "attach", "id": 1, "epoch": 3, "orphan_seconds": 7.5}
    answer = encode(nonce, {"re": 1, "ok": {"boot_id": "first"}})
    await loop.sock_sendall(runner_end, answer)
    attachment = await attaching
    assert attachment.boot_id == "first"
    attachment.close()
    runner_end.close()
