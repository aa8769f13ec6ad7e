"""Parses the body of a request to the API: JSON of a bounded size and depth, or a file."""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, JSONParser

from paca.common.request_body import MAX_BODY_BYTES, BodyTooLarge, max_body_bytes, too_large

CHUNK_BYTES = 64 * 1024
IN_MEMORY_BYTES = 1024 * 1024


class BoundedJSONParser(JSONParser):
    """A JSON parser with limits. Django limits bodies that it reads itself, but REST framework reads
    the stream without Django.
    """

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The parsed body. Raises ``BodyTooLarge``, or ``ParseError`` if it is malformed or too deep."""
        body = stream.read(MAX_BODY_BYTES + 1)
        if len(body) > MAX_BODY_BYTES:
            raise BodyTooLarge
        try:
            return super().parse(BytesIO(body), media_type, parser_context)
        except RecursionError:
            raise ParseError("The JSON is nested too deeply.") from None


class FileBody(dict[str, Any]):
    """A body that is a file. ``file`` reads it; the entries tell its size and hash, as JSON can."""

    def __init__(self, file: IO[bytes], size_bytes: int, digest: str) -> None:
        super().__init__(size_bytes=size_bytes, sha256=digest)
        self.file = file

    def chunks(self) -> Iterator[bytes]:
        """The bytes of the file from its beginning."""
        self.file.seek(0)
        while chunk := self.file.read(CHUNK_BYTES):
            yield chunk


class FileBodyParser(BaseParser):
    """Takes a body of any type as a file, up to the limit of its path. A large one goes to the disk.

    The view gets the file as its ``file_body``, and closes it.
    """

    media_type = "*/*"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> FileBody:
        """The body. Raises ``BodyTooLarge`` if it is above the limit."""
        path = (parser_context or {})["request"].path
        max_bytes, size_bytes, digest = max_body_bytes(path), 0, sha256()
        file = SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115 - the view closes it
        (parser_context or {})["view"].file_body = file
        while chunk := stream.read(CHUNK_BYTES):
            size_bytes += len(chunk)
            if size_bytes > max_bytes:
                raise too_large(max_bytes)
            digest.update(chunk)
            file.write(chunk)
        return FileBody(file, size_bytes, digest.hexdigest())
