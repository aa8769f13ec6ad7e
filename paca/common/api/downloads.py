"""Answers that are files: always downloads, never something that a browser shows."""

import asyncio
from collections.abc import AsyncIterator
from typing import IO

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header

CHUNK_BYTES = 64 * 1024
IN_MEMORY_BYTES = 1024 * 1024
# Should a browser show the file all the same, it may run nothing and load nothing.
POLICY = "sandbox; default-src 'none'"


def download(file: IO[bytes], *, name: str, content_type: str, size_bytes: int) -> HttpResponseBase:
    """The answer with the file, which is closed when it has been sent."""
    headers = {
        "Content-Type": content_type,
        "Content-Disposition": content_disposition_header(True, name),
        "Content-Length": str(size_bytes),
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
    }
    if size_bytes <= IN_MEMORY_BYTES:
        with file:
            return HttpResponse(file.read(), headers=headers)
    return StreamingHttpResponse(_FileChunks(file), headers=headers)


class _FileChunks:
    """Reads a file piece by piece, as fast as the client takes it, and closes it at the end."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            while chunk := await asyncio.to_thread(self._file.read, CHUNK_BYTES):
                yield chunk
        finally:
            self.close()

    def close(self) -> None:
        self._file.close()
