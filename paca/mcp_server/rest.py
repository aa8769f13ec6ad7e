"""Requests of MCP tools to the REST API of this process, with the token of the MCP client."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

Application = Callable[[Any, Any, Any], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
API = "/api/v1"
# Of the headers of an MCP request, those that say who asks and by which address.
PASSED_ON = {b"authorization", b"host", b"user-agent"}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request: its status, its headers with small names, and its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Refused(Exception):
    """The REST API has refused a request; ``error`` is the object with which it says so."""

    def __init__(self, answer: Answer) -> None:
        """``answer`` is the whole answer; one that is no JSON is an error without words."""
        try:
            error = json.loads(answer.body)
        except ValueError:
            error = {"code": "error", "detail": f"The server answered {answer.status}."}
        self.error: dict[str, Any] = error
        if wait := answer.headers.get("retry-after"):
            self.error["retry_after_seconds"] = int(wait)
        super().__init__(str(error.get("detail", "")))


class Rest:
    """The REST API as one MCP request asks it.

    No permission is checked here and no row is read: authentication, scopes, roles, limits, validation and
    idempotency are those of the addresses that it asks.
    """

    def __init__(self, application: Application, scope: Mapping[str, Any]) -> None:
        """``application`` answers HTTP, and ``scope`` is that of the MCP request."""
        self._application = application
        self._scope = scope
        self._passed_on: Headers = [
            (name, value) for name, value in scope["headers"] if name in PASSED_ON
        ]

    @property
    def caller(self) -> str:
        """The token of the caller, to tell callers apart."""
        found = [value for name, value in self._passed_on if name == b"authorization"]
        return found[0].split()[-1].decode("latin-1") if found else ""

    def follow(self, request_id: str) -> None:
        """Give each request from now on this id, so that the log shows them as one."""
        self._passed_on.append((b"x-request-id", request_id.encode("latin-1")))

    async def get(self, *path: object, **query: object) -> Any:
        """The JSON at a path. Raises ``Refused``."""
        return await self._json("GET", path, query=query)

    async def post(
        self, *path: object, body: Mapping[str, Any] | None = None, idempotency_key: str = ""
    ) -> Any:
        """The JSON of the answer. A key that was sent before gives the first answer. Raises ``Refused``."""
        headers = {"idempotency-key": idempotency_key} if idempotency_key else {}
        return await self._json("POST", path, body=body or {}, headers=headers)

    async def patch(self, *path: object, body: Mapping[str, Any], if_match: str = "") -> Any:
        """The changed object. ``if_match`` is its ``updated_at`` as it was read. Raises ``Refused``."""
        headers = {"if-match": if_match} if if_match else {}
        return await self._json("PATCH", path, body=body, headers=headers)

    async def _json(
        self,
        method: str,
        path: tuple[object, ...],
        *,
        query: Mapping[str, object] | None = None,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        # Each part is quoted, so that no argument of a tool leads to another address.
        parts = "".join(f"/{quote(str(part), safe='')}" for part in path)
        given = {name: value for name, value in (query or {}).items() if value not in (None, "")}
        answer = await self.ask(
            method,
            f"{API}{parts}/",
            query=urlencode(given, doseq=True),
            body=None if body is None else json.dumps(body).encode(),
            headers=headers,
        )
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise Refused(answer)
        return json.loads(answer.body)

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: str = "",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """The answer to one request, whatever its status."""
        own: Headers = [(b"accept", b"application/json")]
        own += [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        if body is not None:
            own += [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode()),
            ]
        scope = {
            **self._scope,
            "method": method,
            "path": path,
            "raw_path": quote(path).encode(),
            "query_string": query.encode(),
            "headers": [*self._passed_on, *own],
        }
        return await _exchange(self._application, scope, body or b"")


async def _exchange(application: Application, scope: Any, body: bytes) -> Answer:
    """One request and the whole answer to it."""
    pending = [{"type": "http.request", "body": body, "more_body": False}]
    started: dict[str, Any] = {}
    pieces: list[bytes] = []

    async def receive() -> Any:
        if pending:
            return pending.pop()
        # Django listens for the end of the client until it has answered, and then cancels this.
        return await asyncio.get_running_loop().create_future()

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            started.update(message)
        else:
            pieces.append(message.get("body", b""))

    await application(scope, receive, send)
    headers = {
        name.decode("latin-1").lower(): value.decode("latin-1")
        for name, value in started["headers"]
    }
    return Answer(started["status"], headers, b"".join(pieces))
