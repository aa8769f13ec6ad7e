"""No request's body is larger than what the API reads: what goes on longer is refused, not collected."""

import json
import logging
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.conf import settings

from paca.common.api.errors import TooLarge, error_body

logger = logging.getLogger(__name__)

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Any, Any], Awaitable[None]]


class Bodies:
    """Wraps pages and API: Django writes a body of any length to the disk before it looks at it."""

    def __init__(self, application: Application, most: int | None = None) -> None:
        self._application = application
        self._most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE if most is None else most

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if _announced(scope) > self._most:
            await _refuse(scope, send)
            return
        came, refused = 0, False

        async def receive_so_much() -> Message:
            nonlocal came, refused
            message = await receive()
            came += len(message.get("body", b""))
            # guard: web-body-length
            if came <= self._most:
                return message
            if not refused:
                refused = True
                await _refuse(scope, send)
            return {"type": "http.disconnect"}

        await self._application(scope, receive_so_much, send)


def _announced(scope: Any) -> int:
    """What the request says its length is; 0 if it does not. The server has checked that it is a number."""
    return next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)


async def _refuse(scope: Any, send: Send) -> None:
    """As the API does, but from before Django, where requests have no id yet."""
    request_id = uuid.uuid4().hex
    logger.info("a body is too large", extra={"request_id": request_id, "path": scope["path"]})
    answer = error_body(TooLarge.code, TooLarge().detail) | {"request_id": request_id}
    body = json.dumps(answer).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", request_id.encode()),
        (b"connection", b"close"),  # or the rest of it would be read all the same
    ]
    await send({"type": "http.response.start", "status": TooLarge.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
