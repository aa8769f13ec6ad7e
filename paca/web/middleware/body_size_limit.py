"""ASGI middleware that refuses a request body above the size limit while it arrives."""

import json
import logging
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from paca.common.api.errors import error_body
from paca.common.request_body import BodyTooLarge, max_body_bytes, too_large

logger = logging.getLogger(__name__)

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
        if _content_length(scope) > max_bytes:
            await _refuse(scope, send, max_bytes)
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
                await _refuse(scope, send, max_bytes)
            return {"type": "http.disconnect"}

        await self._application(scope, limited_receive, send)


def _content_length(scope: Any) -> int:
    """The Content-Length header in bytes, or 0. The web server has checked that it is a number."""
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)


def too_large_body(request_id: str, max_bytes: int) -> dict[str, Any]:
    """The answer to a request body above the limit, as JSON."""
    return error_body(BodyTooLarge.code, too_large(max_bytes).detail) | {"request_id": request_id}


async def _refuse(scope: Any, send: Send, max_bytes: int) -> None:
    """Answer like the API. Django has not seen the request, so this gives it an id."""
    request_id = uuid.uuid4().hex
    logger.info("request body too large", extra={"request_id": request_id, "path": scope["path"]})
    body = json.dumps(too_large_body(request_id, max_bytes)).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", request_id.encode()),
        (b"connection", b"close"),  # or the server would read the rest of the body
    ]
    await send({"type": "http.response.start", "status": BodyTooLarge.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
