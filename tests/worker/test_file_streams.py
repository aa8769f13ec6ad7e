"""Downloads hold a few parts only: a reader that is slow or gone costs neither memory nor disk."""

import pytest

from paca.conversations import file_requests
from paca.worker import file_streams
from paca.worker.file_streams import Parts, ReaderGone

pytestmark = pytest.mark.anyio


class Rows:
    """A database in which parts are read one at a time, when the writer waits."""

    def __init__(self, *, gone_after: int = 1000) -> None:
        self.unread = self.most = self.added = 0
        self._gone_after = gone_after

    async def call(self, function, *arguments):
        if function is file_requests.unread_parts:
            return self.unread if self.added < self._gone_after else None
        assert function is file_requests.add_part
        self.unread, self.added = self.unread + 1, self.added + 1
        self.most = max(self.most, self.unread)
        return True


class Request:
    pk = "1"


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
