"""Django middleware that serves static files under the versioned prefix, compressed and cacheable."""

import gzip
from collections.abc import Callable
from functools import lru_cache

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import Redirect, StaticFile

COMPRESSIBLE = ("text/", "image/svg+xml", "application/json")
MIN_COMPRESSED_BYTES = 512


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc] # whitenoise has no types
    """WhiteNoise, without a ``collectstatic`` step and with responses for an asynchronous server.

    WhiteNoise's own responses are streams that only a synchronous server can send. Our files are small
    enough to be sent at once. They are compressed here, because nothing is collected beforehand.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        """Find all files now, and with DEBUG at each request."""
        super().__init__(get_response)
        self.static_prefix = staticfiles_storage.url("")
        self.use_finders = True
        if not self.autorefresh:
            self.add_files_from_finders()

    def immutable_file_test(self, path: str, url: str) -> bool:
        """Whether browsers may keep the file for ever: the digest in its URL changes with its content."""
        return not settings.DEBUG

    @staticmethod
    def serve(static_file: StaticFile | Redirect, request: HttpRequest) -> HttpResponse:
        source = static_file.get_response(request.method, request.META)
        content = b""
        if source.file is not None:
            with source.file:
                content = source.file.read()
        response = HttpResponse(content, status=int(source.status))
        del response["Content-Type"]
        for name, value in source.headers:
            response[name] = value
        if content and response.status_code == 200 and _is_compressible(response):
            response["Vary"] = "Accept-Encoding"
            if "gzip" in request.headers.get("Accept-Encoding", ""):
                response.content = _compress(content)
                response["Content-Encoding"] = "gzip"
                response["Content-Length"] = str(len(response.content))
        return response


def _is_compressible(response: HttpResponse) -> bool:
    content_type = response.get("Content-Type", "")
    return content_type.startswith(COMPRESSIBLE) and len(response.content) >= MIN_COMPRESSED_BYTES


@lru_cache(maxsize=256)
def _compress(content: bytes) -> bytes:
    """Compress a file, once in each process."""
    return gzip.compress(content, compresslevel=6, mtime=0)
