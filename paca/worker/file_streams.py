"""Moves the bytes of uploads, downloads and archives between the rows of a request and its sandbox."""

from __future__ import annotations

import asyncio
import io
import zipfile
from collections.abc import AsyncIterator
from typing import Any

from paca.common import clock
from paca.common.text import to_storable
from paca.conversations import file_requests
from paca.conversations.models import FileRequest
from paca.engine.workspace import WorkspaceError
from paca.sandbox.base import Sandbox
from paca.sandbox.files import client
from paca.sandbox.files.inside.contents import MAX_ARCHIVE_FILES, MAX_DOWNLOAD_BYTES
from paca.sandbox.files.names import UniqueNames
from paca.worker.database import Database

PART_BYTES = 1 << 20
LOOK_SECONDS = 0.02
READER_SECONDS = 60.0
SILENT_SECONDS = 20.0  # less than a reader waits for the next part
MAX_PATH_CHARACTERS = 4096
OLDEST_YEAR = (1980, 1, 1, 0, 0, 0)
FULL = "The workspace has no room for this file. Delete files in it, or have the agent delete some."
CUT = "The file became shorter while it was read. Try again."
SLOW = "The sandbox sends too slowly. Try again when it has less to do."
TOO_LARGE = "The sandbox has sent more than it may. Try again."
NOTE = "_left out.txt"


class ReaderGone(Exception):
    """Nobody reads this download any more."""


class Parts:
    """The parts of one download. No more than a few wait for the reader, so that memory and disk stay small."""

    def __init__(self, request: FileRequest, database: Database) -> None:
        self._request, self._database = request, database
        self._number = 0

    async def add(self, data: bytes) -> None:
        """Store the next part, once there is room. Raises ``ReaderGone``."""
        async with asyncio.timeout(READER_SECONDS):
            while True:
                waiting = await self._database.call(file_requests.unread_parts, self._request)
                if waiting is None:
                    raise ReaderGone
                # guard: downloads-wait-for-their-reader
                if waiting < file_requests.MAX_UNREAD_PARTS:
                    break
                await asyncio.sleep(LOOK_SECONDS)
        added = await self._database.call(file_requests.add_part, self._request, self._number, data)
        if not added:
            raise ReaderGone
        self._number += 1

    async def finish(self) -> None:
        """Say that every part is stored."""
        await self._database.call(file_requests.finish, self._request)


class Download:
    """Sends one file."""

    def __init__(self, request: FileRequest, database: Database) -> None:
        self._request, self._database = request, database

    async def run(self, sandbox: Sandbox) -> None:
        """Send it. Raises ``WorkspaceError``."""
        parts = Parts(self._request, self._database)
        async with client.asking(sandbox, "download", **self._request.arguments) as reply:
            head = await reply.answer()
            size = _size(head.get("size"))
            facts = {"size": size, "media": to_storable(str(head.get("media", ""))[:40])}
            await self._database.call(file_requests.answer, self._request, facts, more=True)
            try:
                if await self._send(reply, parts, size) != size:
                    raise WorkspaceError(CUT)
            except (ReaderGone, TimeoutError):
                return
        await parts.finish()

    async def _send(self, reply: client.Reply, parts: Parts, size: int) -> int:
        waiting, sent, added_at = bytearray(), 0, clock.monotonic()
        while isinstance(found := await reply.next(), bytes):
            waiting += found
            sent += len(found)
            # guard: downloads-are-no-longer-than-they-say
            if sent > size:
                raise WorkspaceError(TOO_LARGE)
            if len(waiting) >= PART_BYTES:
                await parts.add(bytes(waiting))
                waiting.clear()
                added_at = clock.monotonic()
            # guard: downloads-that-bring-nothing-end
            elif clock.monotonic() - added_at > SILENT_SECONDS:
                raise WorkspaceError(SLOW)
        if waiting:
            await parts.add(bytes(waiting))
        return sent


class Archive:
    """Sends all files below a folder as a zip, which is written while it is read and never whole anywhere."""

    def __init__(self, request: FileRequest, database: Database) -> None:
        self._request, self._database = request, database
        self._sink = _Sink()
        self._names = UniqueNames()
        self._entry: Any = None
        self._files = self._bytes = 0

    async def run(self, sandbox: Sandbox) -> None:
        """Send it. Raises ``WorkspaceError``."""
        parts = Parts(self._request, self._database)
        async with client.asking(sandbox, "archive", **self._request.arguments) as reply:
            found = await reply.next()  # an error of the folder comes before the first part
            await self._database.call(file_requests.answer, self._request, {}, more=True)
            try:
                with zipfile.ZipFile(
                    self._sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1
                ) as zipped:
                    self._add_note(zipped, await self._fill(zipped, reply, found, parts))
                await self._send(parts, 1)
            except (ReaderGone, TimeoutError):
                return
        await parts.finish()

    async def _fill(
        self,
        zipped: zipfile.ZipFile,
        reply: client.Reply,
        found: dict[str, Any] | bytes,
        parts: Parts,
    ) -> dict[str, Any]:
        """Write and send all files; gives the answer that ends them. Raises ``WorkspaceError``."""
        sent_at = clock.monotonic()
        try:
            while isinstance(found, bytes) or "end" not in found:
                await asyncio.to_thread(self._write, zipped, found)
                late = clock.monotonic() - sent_at > SILENT_SECONDS
                if await self._send(parts, 1 if late else PART_BYTES):
                    sent_at = clock.monotonic()
                # guard: archives-that-bring-nothing-end
                elif late:
                    raise WorkspaceError(SLOW)
                found = await reply.next()
        finally:  # else closing the zip raises an error in place of the true one
            self._close_entry()
        return found

    def _write(self, zipped: zipfile.ZipFile, found: dict[str, Any] | bytes) -> None:
        if isinstance(found, bytes):
            self._bytes += len(found)
            # guard: bytes-of-an-archive-are-bounded
            if self._entry is None or self._bytes > 2 * MAX_DOWNLOAD_BYTES:
                raise WorkspaceError(client.BROKEN)
            self._entry.write(found)
            return
        self._close_entry()
        self._files += 1
        path = found.get("path")
        # guard: entries-of-an-archive-are-bounded
        if self._files > MAX_ARCHIVE_FILES or not isinstance(path, str):
            raise WorkspaceError(TOO_LARGE)
        info = zipfile.ZipInfo(self._names.take(path[:MAX_PATH_CHARACTERS]), OLDEST_YEAR)
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = (0o755 if found.get("executable") else 0o644) << 16
        self._entry = zipped.open(info, "w", force_zip64=True)

    def _close_entry(self) -> None:
        if self._entry is not None:
            self._entry.close()
            self._entry = None

    def _add_note(self, zipped: zipfile.ZipFile, end: dict[str, Any]) -> None:
        """Tell in the archive what is not in it."""
        lines = [
            *(f"{each}: no regular file, or too large" for each in _texts(end.get("left_out"))),
            *(f"{each}: a folder that programs fill" for each in _texts(end.get("collapsed"))),
            *(["There were more files than fit."] if end.get("cut") else []),
        ]
        if lines:
            zipped.writestr(self._names.take(NOTE), to_storable("\n".join(lines) + "\n"))

    async def _send(self, parts: Parts, at_least: int) -> bool:
        """Send what was written, if it is so much; tells whether it was."""
        if self._sink.size < at_least:
            return False
        data = self._sink.take()
        for start in range(0, len(data), PART_BYTES):
            await parts.add(data[start : start + PART_BYTES])
        return True


def _size(value: Any) -> int:
    """The size that the sandbox tells. Raises ``WorkspaceError`` if no download has it."""
    # guard: sizes-of-downloads-are-checked
    if type(value) is not int or not 0 <= value <= MAX_DOWNLOAD_BYTES:
        raise WorkspaceError(client.BROKEN)
    return value


def _texts(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


class _Sink(io.RawIOBase):
    """Where the zip is written: what was not sent yet. It cannot be sought, so the zip says sizes after each entry."""

    def __init__(self) -> None:
        self._data = bytearray()

    @property
    def size(self) -> int:
        return len(self._data)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._data += data
        return len(data)

    def take(self) -> bytes:
        """What was written since the last time."""
        taken = bytes(self._data)
        self._data.clear()
        return taken


class Upload:
    """Stores one uploaded file."""

    def __init__(self, request: FileRequest, database: Database) -> None:
        self._request, self._database = request, database

    async def run(self, sandbox: Sandbox) -> dict[str, Any]:
        """Store it; gives its path. Raises ``WorkspaceFull`` and other errors of the workspace."""
        arguments = self._request.arguments
        usage = await sandbox.usage()
        if usage.size + int(arguments["size"]) > usage.limit:
            raise client.WorkspaceFull(FULL)
        async with client.asking(sandbox, "upload", body=self._body(), **arguments) as reply:
            return await reply.answer()

    async def _body(self) -> AsyncIterator[bytes]:
        number = 0
        while data := await self._database.call(file_requests.part, self._request.pk, number):
            yield data
            number += 1
