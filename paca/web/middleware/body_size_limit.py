"""ASGI middleware that refuses a request body above the size limit while it arrives."""

import json
import logging
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from paca.common.api.errors import error_body
from paca.common.request_body import MIB, BodyTooLarge, max_body_bytes, too_large

logger = logging.getLogger(__name__)
# Of a body that is refused, so much is read above the limit: more than proxies usually pass on.
MAX_DISCARDED_BYTES = 16 * MIB

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]


class BodySizeLimit:
    """Answers 413 to a larger body. Django alone would write a body of any length to the disk first."""

    def __init__(
        self, application: Application, max_bytes_of: Callable[[str], int] = max_body_bytes
    ) -> None:
        """``max_bytes_of`` gives the limit of a path in bytes."""
        self._application = application
        self._max_bytes_of = max_bytes_of

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        max_bytes = self._max_bytes_of(scope["path"])
        length = _content_length(scope)
        if length > max_bytes:
            # A client that waits for permission reads the answer before it sends the body.
            may_read = length <= max_bytes + MAX_DISCARDED_BYTES and not _has_header(
                scope, b"expect"
            )
            # guard: web-refused-body-is-read
            is_read = may_read and await _discard_body(receive, max_bytes)
            await _refuse(scope, send, max_bytes, close=not is_read)
            return
        received, refused = 0, False

        async def limited_receive() -> Message:
            nonlocal received, refused
            message = await receive()
            received += len(message.get("body", b""))
            # guard: web-body-length
            if received <= max_bytes:
                return message
            if not refused:
                refused = True
                is_read = not message.get("more_body") or await _discard_body(receive, max_bytes)
                await _refuse(scope, send, max_bytes, close=not is_read)
            return {"type": "http.disconnect"}

        await self._application(scope, limited_receive, send)


def _content_length(scope: Any) -> int:
    """The Content-Length header in bytes, or 0. The web server has checked that it is a number."""
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)


def too_large_body(request_id: str, max_bytes: int) -> dict[str, Any]:
    """The answer to a request body above the limit, as JSON."""
    return error_body(BodyTooLarge.code, too_large(max_bytes).detail) | {"request_id": request_id}


def _has_header(scope: Any, header: bytes) -> bool:
    return any(name == header for name, _ in scope["headers"])


async def _discard_body(receive: Receive, max_bytes: int) -> bool:
    """Read the rest of a body without keeping it; False if there is too much of it.

    A connection that is closed with unread bytes is reset, and the answer is lost with it. nginx, which
    sends the whole body first, then answers 502 in its place.
    """
    left = max_bytes + MAX_DISCARDED_BYTES
    while left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        if message["type"] == "http.disconnect" or not message.get("more_body"):
            return True
    return False


async def _refuse(scope: Any, send: Send, max_bytes: int, *, close: bool) -> None:
    """Answer like the API. Django has not seen the request, so this gives it an id.

    ``close``: the server would otherwise read the rest of the body.
    """
    request_id = uuid.uuid4().hex
    logger.info("request body too large", extra={"request_id": request_id, "path": scope["path"]})
    body = json.dumps(too_large_body(request_id, max_bytes)).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", request_id.encode()),
        *([(b"connection", b"close")] if close else []),
    ]
    await send({"type": "http.response.start", "status": BodyTooLarge.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
