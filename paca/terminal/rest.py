"""The REST API of a server, as the terminal client uses it."""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit
from uuid import uuid4

import httpx2

from paca.terminal.failures import ClientFailure, ExitCode, no_paca, token_refused, unreachable

TIMEOUT_SECONDS = 30.0
ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 0.1
AGAIN = {429, 502, 503, 504}


class ServerAddress:
    """The address of a server and a token for it, which is sent to this host only."""

    def __init__(self, url: str, token: str) -> None:
        """Raises ``ClientFailure`` for an address or a token that cannot be one."""
        parts = _parts_of(url)
        if parts is None:
            raise ClientFailure(
                ExitCode.WRONG_REQUEST,
                f"{url!r} is no address of a server.",
                "give one such as --server https://paca.example",
            )
        if not token.isascii() or not token.isprintable() or " " in token:
            raise ClientFailure(
                ExitCode.WRONG_REQUEST,
                "The token has characters that no token has.",
                "copy it again",
            )
        self.url = f"{parts.scheme}://{parts.netloc}"
        self.socket_url = f"{'wss' if parts.scheme == 'https' else 'ws'}://{parts.netloc}"
        self.headers = {"Authorization": f"Bearer {token}"}
        self.is_local = _is_local(parts.hostname or "")
        self.is_encrypted = parts.scheme == "https"


def _parts_of(url: str) -> SplitResult | None:
    """The parts of an address of a server; None if it is none."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        usable = parts.port != 0 and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:  # half an address of IPv6, or a port that is none
        return None
    return parts if usable and parts.scheme in ("http", "https") else None


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Rest:
    """Requests to the API. A request that changes something has a key, so it is safe to repeat it."""

    def __init__(
        self, address: ServerAddress, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        """``transport`` takes the place of the network."""
        self.address = address
        # No redirects: the token must not go to another host. The proxy of the environment is for others.
        self._client = httpx2.AsyncClient(
            base_url=address.url,
            headers=address.headers,
            timeout=TIMEOUT_SECONDS,
            follow_redirects=False,
            trust_env=not address.is_local,
            transport=transport,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def get(self, path: str, **query: Any) -> dict[str, Any]:
        """The JSON object at this path below ``/api/v1/``. Raises ``ClientFailure``."""
        return await self._ask("GET", path, query=query)

    async def post(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Cause work, once also if an answer is lost. Raises ``ClientFailure``."""
        return await self._ask("POST", path, body=body or {})

    async def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Change an object. Raises ``ClientFailure``."""
        return await self._ask("PATCH", path, body=body)

    async def pages(self, path: str, **query: Any) -> AsyncIterator[dict[str, Any]]:
        """Each object of a list. Raises ``ClientFailure``."""
        cursor: dict[str, str] = {}
        while True:
            page = await self.get(path, limit=200, **query, **cursor)
            if not isinstance(page.get("results"), list):
                raise no_paca(self.address.url)
            for each in page["results"]:
                yield each
            # Only its cursor: the server's idea of its own address may be another than ours.
            cursors = parse_qs(urlsplit(page.get("next") or "").query).get("cursor")
            if not cursors:
                return
            cursor = {"cursor": cursors[0]}

    async def _ask(
        self, method: str, path: str, *, query: dict[str, Any] | None = None, body: Any = None
    ) -> dict[str, Any]:
        headers = {"Idempotency-Key": str(uuid4())} if method == "POST" else {}
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answer = await self._client.request(
                    method, f"/api/v1/{path}", params=query, json=body, headers=headers
                )
            except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
                if attempt == ATTEMPTS or isinstance(error, httpx2.InvalidURL):
                    raise unreachable(self.address.url, _reason(error)) from None
            else:
                if answer.status_code not in AGAIN or attempt == ATTEMPTS:
                    return self._read(answer)
            await asyncio.sleep(FIRST_PAUSE_SECONDS * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    def _read(self, answer: httpx2.Response) -> dict[str, Any]:
        try:
            found = answer.json()
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise no_paca(self.address.url)
        if answer.is_success:
            return found
        if "code" not in found or "detail" not in found:
            raise no_paca(self.address.url)
        raise _failure(answer.status_code, found)


def _failure(status: int, error: dict[str, Any]) -> ClientFailure:
    if status == 401:
        return token_refused()
    fields = error.get("fields")
    cause = str(error["detail"]) + (f" {json.dumps(fields)}" if fields else "")
    if status == 403:
        return ClientFailure(
            ExitCode.REFUSED, cause, "use the token of a person whose role and scopes allow it"
        )
    code = ExitCode.UNREACHABLE if status >= 500 or status == 429 else ExitCode.WRONG_REQUEST
    return ClientFailure(code, cause)


def _reason(error: Exception) -> str:
    if isinstance(error, httpx2.TimeoutException):
        return "no answer in time"
    return str(error).strip().rstrip(".") or type(error).__name__
