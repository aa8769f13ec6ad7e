"""Downloads hold a few parts only: a reader that is slow or gone costs neither memory nor disk."""

from contextlib import asynccontextmanager

import pytest

from paca.common import clock
from paca.conversations import file_requests
from paca.engine.workspace import WorkspaceError
from paca.worker import file_streams
from paca.worker.file_streams import Archive, Download, Parts, ReaderGone
from tests.support.fake_clock import FakeClock

pytestmark = pytest.mark.anyio


class Rows:
    """A database in which parts are read one at a time, when the writer waits."""

    def __init__(self, *, gone_after: int = 1000) -> None:
        self.unread = self.most = self.added = 0
        self._gone_after = gone_after

    async def call(self, function, *arguments, **_):
        if function in (file_requests.answer, file_requests.finish):
            return True
        if function is file_requests.unread_parts:
            return self.unread if self.added < self._gone_after else None
        assert function is file_requests.add_part
        self.unread, self.added = self.unread + 1, self.added + 1
        self.most = max(self.most, self.unread)
        return True


class Request:
    pk = "1"
    arguments = {"path": "a"}


async def test_parts_wait_until_the_reader_has_taken_some(monkeypatch):
    rows = Rows()

    async def read(_):
        rows.unread -= 1

    monkeypatch.setattr(file_streams.asyncio, "sleep", read)
    parts = Parts(Request(), rows)
    for _ in range(50):
        await parts.add(b"x")
    assert rows.added == 50
    assert rows.most == file_requests.MAX_UNREAD_PARTS


async def test_reader_that_has_gone_ends_the_download():
    parts = Parts(Request(), Rows(gone_after=2))
    await parts.add(b"x")
    await parts.add(b"x")
    with pytest.raises(ReaderGone):
        await parts.add(b"x")


class Forged:
    """What a sandbox says that belongs to the agent: without an end the last piece comes again and again."""

    def __init__(self, fake_clock: FakeClock, *pieces):
        self._pieces, self._clock = list(pieces), fake_clock

    async def next(self):
        self._clock.advance(0.01)
        return self._pieces.pop(0) if len(self._pieces) > 1 else self._pieces[0]

    answer = next


@pytest.mark.parametrize(
    ("stream", "pieces"),
    [
        (Download, [{"size": 10}, b"x" * 9]),
        (Download, [{"size": 10}, bytes(1 << 20)]),
        (Download, [{"size": 10}, b""]),
        (Download, [{"size": -1}, {"end": True}]),
        (Download, [{"size": True}, b"x", {"end": True}]),
        (Download, [{"size": 10**30}, b"x"]),
        (Download, [{}, {"end": True}]),
        (Archive, [{"path": "a"}, b""]),
        (Archive, [{"path": "a"}, bytes(4 << 20)]),
        (Archive, [{"path": "a"}]),
        (Archive, [{"path": 1}, {"end": True}]),
    ],
)
async def test_stream_of_a_sandbox_that_lies_ends(monkeypatch, stream, pieces):
    fake_clock = FakeClock()

    @asynccontextmanager
    async def asking(*_, **__):
        yield Forged(fake_clock, *pieces)

    rows = Rows(gone_after=60)
    monkeypatch.setattr(file_streams.client, "asking", asking)
    monkeypatch.setattr(file_streams.file_requests, "MAX_UNREAD_PARTS", 10_000)
    monkeypatch.setattr(file_streams, "MAX_DOWNLOAD_BYTES", 8 << 20)
    monkeypatch.setattr(file_streams, "MAX_ARCHIVE_FILES", 50)
    with clock.use(fake_clock), pytest.raises(WorkspaceError):
        await stream(Request(), rows).run(None)
    assert rows.added < 50
