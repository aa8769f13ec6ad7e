"""The frames that a worker sends to a runner."""

import asyncio
import socket

import pytest

from paca.engine.workspace import ProcessInfo, SandboxGone
from paca.sandbox.runner.frames import FrameParser, encode
from paca.sandbox.runner_answers import parse_outcome
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
    assert message == {
        "op": "attach",
        "id": 1,
        "epoch": 3,
        "orphan_seconds": 7.5,
        "protocol": 3,
    }
    answer = encode(nonce, {"re": 1, "ok": {"boot_id": "first"}})
    await loop.sock_sendall(runner_end, answer)
    attachment = await attaching
    assert attachment.boot_id == "first"
    attachment.close()
    runner_end.close()


async def test_helper_does_not_attach_to_a_runner_that_knows_no_sessions():
    """Such a runner would take it for the conversation, and supersede the worker of another helper."""
    worker_end, runner_end = socket.socketpair()
    worker_end.setblocking(False)
    runner_end.setblocking(False)
    attaching = asyncio.create_task(
        Attachment.from_socket(worker_end, epoch=1, seconds=60, session="helper")
    )
    parser, frames = FrameParser(), []
    while not frames:
        frames += parser.feed(await asyncio.get_running_loop().sock_recv(runner_end, 4096))
    assert [message["op"] for _, message in frames] == ["join"]
    runner_end.close()
    with pytest.raises(SandboxGone):
        await attaching


def test_outcomes_of_runners_of_older_versions_are_read():
    fields = {
        "exit_code": 0,
        "output": "x",
        "seconds": 0.1,
        "truncated": False,
        "file": "",
        "cause": "",
    }
    assert parse_outcome(fields).living == ()
    newer = parse_outcome({**fields, "living": [[7, "sleep 9"]], "killed": []})
    assert newer.living == (ProcessInfo(7, "sleep 9"),)
    with pytest.raises(SandboxGone):
        parse_outcome({**fields, "living": [7]})
    with pytest.raises(SandboxGone):
        parse_outcome("nonsense")
