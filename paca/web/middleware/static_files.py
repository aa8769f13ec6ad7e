"""Serves static files: whole, compressed once, and kept for ever by whoever has fetched them."""

import gzip
from functools import lru_cache

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import Redirect, StaticFile

COMPRESSIBLE = ("text/", "image/svg+xml", "application/json")
WORTH_IT_BYTES = 512


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc] # whitenoise has no types
    """whitenoise's, with answers that suit an asynchronous server.

    Its own are streams that only a synchronous server can send; ours are short enough to send at
    once. Compression happens here because nothing is collected beforehand.
    """

    @staticmethod
    def serve(static_file: StaticFile | Redirect, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        content = b""
        if found.file is not None:
            with found.file:
                content = found.file.read()
        response = HttpResponse(content, status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            response[name] = value
        if content and response.status_code == 200 and _may_be_zipped(response):
            response["Vary"] = "Accept-Encoding"
            if "gzip" in request.headers.get("Accept-Encoding", ""):
                response.content = _zipped(content)
                response["Content-Encoding"] = "gzip"
                response["Content-Length"] = str(len(response.content))
        return response


def _may_be_zipped(response: HttpResponse) -> bool:
    kind = response.get("Content-Type", "")
    return kind.startswith(COMPRESSIBLE) and len(response.content) >= WORTH_IT_BYTES


@lru_cache(maxsize=256)
def _zipped(content: bytes) -> bytes:
    """Compressed once a process; the browser keeps it for ever."""
    return gzip.compress(content, compresslevel=6, mtime=0)
