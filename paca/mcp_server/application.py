"""ASGI middleware that answers requests to ``/mcp/`` by MCP, and passes all others on."""

import asyncio
import importlib
import json
import uuid
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from paca.common.api.errors import error_body
from paca.common.origins import is_ours
from paca.mcp_server.gate import PATH
from paca.mcp_server.rest import Answer, Application, Rest

PATHS = {PATH, PATH.rstrip("/")}


class McpServer:
    """Checks origin and token, and hands the request to the MCP SDK, which is loaded with the first one.

    No request leaves anything in this process, so any number of web processes may serve one client.
    """

    def __init__(self, application: Application) -> None:
        """``application`` answers pages and API: all other addresses, and what tools ask."""
        self._application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] not in PATHS:
            await self._application(scope, receive, send)
            return
        rest = Rest(self._application, scope)
        refusal = _refuse_origin(scope) or await self._refuse_caller(scope, rest)
        if refusal is not None:
            await _answer(refusal, send)
            return
        # The import of the SDK takes more than a second, and must not hold the event loop up.
        protocol = await asyncio.to_thread(importlib.import_module, "paca.mcp_server.protocol")
        # The SDK gives the scope to the tool; it needs no path.
        await protocol.serve({**scope, "path": PATH, protocol.REST: rest}, receive, send)

    async def _refuse_caller(self, scope: Any, rest: Rest) -> Answer | None:
        """The refusal of a request without a valid token, or with too many before it; else None."""
        answer = await rest.ask(scope["method"], PATH)
        # guard: mcp-gate
        if answer.status != HTTPStatus.NO_CONTENT:
            return answer
        rest.follow(answer.headers["x-request-id"])
        return None


def _refuse_origin(scope: Any) -> Answer | None:
    """The refusal of a request from the page of another site, such as one that has rebound its name."""
    found = _header(scope, b"origin")
    # guard: mcp-origin
    if all(is_ours(origin, host=(_header(scope, b"host") or [""])[0]) for origin in found):
        return None
    request_id = uuid.uuid4().hex
    body = error_body(
        "origin_refused",
        "This page belongs to another site. MCP clients that are no pages send no Origin; for pages of yours,"
        " name their origin in CSRF_TRUSTED_ORIGINS.",
    )
    return Answer(
        HTTPStatus.FORBIDDEN,
        {"content-type": "application/json", "x-request-id": request_id},
        json.dumps({**body, "request_id": request_id}).encode(),
    )


def _header(scope: Any, name: bytes) -> list[str]:
    return [value.decode("latin-1").strip() for key, value in scope["headers"] if key == name]


async def _answer(answer: Answer, send: Any) -> None:
    """Send a refusal. The body of the request is not read, so the connection ends with the answer."""
    headers = _encoded({**answer.headers, "content-length": str(len(answer.body))})
    headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


def _encoded(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
