"""Answers of the program in a sandbox are bounded and checked, whatever the agent makes of the sandbox."""

import zlib
from collections import deque

import pytest

from paca.engine.workspace import CommandOutcome, NoSuchFile, WorkspaceError
from paca.sandbox.files.client import (
    MAX_ANSWER_BYTES,
    MAX_FRAME_BYTES,
    FilesBroken,
    Reply,
    unpack,
)
from paca.sandbox.files.inside.protocol import HEADER

pytestmark = pytest.mark.anyio


class Pipe:
    """A process that has written these pieces and ended."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = deque(pieces)

    async def receive(self) -> bytes:
        return self._pieces.popleft() if self._pieces else b""

    async def outcome(self) -> CommandOutcome:
        return CommandOutcome(1, "Traceback", 0.1)


def frame(kind: bytes, payload: bytes) -> bytes:
    return HEADER.pack(kind, len(payload)) + payload


async def test_frames_may_come_in_any_pieces():
    sent = frame(b"J", b'{"a":1}') + frame(b"D", b"bytes") + frame(b"J", b'{"end":true}')
    reply = Reply(Pipe(*(sent[at : at + 3] for at in range(0, len(sent), 3))))
    assert [await reply.next() for _ in range(3)] == [{"a": 1}, b"bytes", {"end": True}]


async def test_error_of_the_program_is_raised_with_its_words():
    reply = Reply(Pipe(frame(b"E", b'{"code":"no_such_file","detail":"Gone."}')))
    with pytest.raises(NoSuchFile, match="Gone"):
        await reply.next()
    reply = Reply(Pipe(frame(b"E", b'{"code":"odd","detail":"' + b"x" * 9000 + b'"}')))
    with pytest.raises(WorkspaceError) as raised:
        await reply.next()
    assert len(raised.value.detail) == 500


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"J",
        frame(b"J", b"[1]"),
        frame(b"J", b"no json"),
        frame(b"J", b"[" * 100_000),
        frame(b"X", b"{}"),
        frame(b"J", b"{}")[:-1],
        frame(b"D", b"where an answer should be"),
    ],
)
async def test_answer_that_does_not_fit_is_refused(sent):
    with pytest.raises(FilesBroken):
        await Reply(Pipe(sent)).answer()


async def test_packed_answer_is_read_within_its_limit():
    good = zlib.compress(b'{"a":1}')
    assert await Reply(Pipe(frame(b"Z", good))).packed() == good
    assert await Reply(Pipe(frame(b"Z", good))).next() == {"a": 1}
    bomb = zlib.compress(b'{"a":"' + b"x" * MAX_ANSWER_BYTES + b'"}')
    for bad in (bomb, b"no zlib", good[:-3], b""):
        with pytest.raises(FilesBroken):
            unpack(bad)


async def test_packed_answer_of_very_many_values_is_refused_before_it_fills_the_memory():
    texts = b'{"a":"' + b"[" * 3_000_000 + b'"}'
    assert unpack(zlib.compress(texts))["a"][:2] == "[["
    one_object = b"{" + b",".join(b'"%d":1' % number for number in range(300_000)) + b"}"
    for bad in (b'{"a":[' + b"[]," * 500_000 + b"[]]}", b'{"a":"' + b'\\"' * 1_000_000, one_object):
        with pytest.raises(FilesBroken):
            unpack(zlib.compress(bad))


async def test_error_that_no_database_stores_becomes_storable():
    reply = Reply(Pipe(frame(b"E", b'{"code":"odd","detail":"a\\u0000b\\ud800"}')))
    with pytest.raises(WorkspaceError) as raised:
        await reply.next()
    assert raised.value.detail == "a\u2400b?"


async def test_frame_beyond_the_limit_is_not_read():
    too_long = MAX_FRAME_BYTES + 1
    head = HEADER.pack(b"J", too_long)
    with pytest.raises(FilesBroken):
        await Reply(Pipe(head, b'{"a":"' + b"x" * (too_long - 8) + b'"}')).next()
