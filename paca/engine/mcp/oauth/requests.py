"""Requests to sign-in services: bounded in time and size, without redirects, with errors in words."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from paca.common.errors import PacaError
from paca.common.text import to_storable
from paca.engine.llm import address_check

if TYPE_CHECKING:
    import httpx2

REQUEST_SECONDS = 10.0
MAX_ANSWER_BYTES = 256 * 1024
MAX_SHOWN_CHARACTERS = 300
MAX_URL_CHARACTERS = 4000
IS_PRIVATE = "{host} is in a private network. The settings of the project and of the server must both allow that."


class SignInFailed(PacaError):
    """The sign-in to the MCP server failed."""

    code = "mcp_sign_in_failed"
    status = 409


class GrantRefused(SignInFailed):
    """The sign-in service no longer accepts this sign-in; a person has to sign in again."""

    code = "mcp_grant_refused"


@dataclass(frozen=True, slots=True)
class Answer:
    """The status of an answer, its headers, and its JSON object; empty if it has none."""

    status: int
    headers: dict[str, str]
    facts: dict[str, Any] = field(repr=False)

    @property
    def is_ok(self) -> bool:
        """Whether the request succeeded."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Web:
    """The guarded client of one server, and whether addresses in private networks are allowed for it."""

    http: httpx2.AsyncClient = field(repr=False)
    private_allowed: bool = False

    async def get(self, url: str) -> Answer:
        """The answer to a GET. Raises ``SignInFailed`` as ``_send`` does."""
        return await self._send("GET", url, {"Accept": "application/json"}, b"")

    async def post_json(
        self, url: str, value: Any, headers: dict[str, str] | None = None
    ) -> Answer:
        """The answer to a POST of JSON. Raises ``SignInFailed`` as ``_send`` does."""
        named = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            **(headers or {}),
        }
        return await self._send("POST", url, named, json.dumps(value).encode())

    async def post_form(self, url: str, fields: dict[str, str], headers: dict[str, str]) -> Answer:
        """The answer to a POST of a form. Raises ``SignInFailed`` as ``_send`` does."""
        form = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        return await self._send("POST", url, {**form, **headers}, urlencode(fields).encode())

    async def _send(self, method: str, url: str, headers: dict[str, str], content: bytes) -> Answer:
        """Send a request. Raises ``SignInFailed`` if there is no answer in time, it is too long, or redirects."""
        import httpx2

        check_address(url, private_allowed=self.private_allowed)
        name = name_of(url)
        try:
            async with (
                asyncio.timeout(REQUEST_SECONDS),
                self.http.stream(
                    method, url, headers=headers, content=content, follow_redirects=False
                ) as answer,
            ):
                # guard: oauth-follows-no-redirect
                if answer.is_redirect:
                    raise SignInFailed(f"{name} answered with a redirect, which is not followed.")
                body = await _read(answer, name)
        except TimeoutError:
            raise SignInFailed(f"{name} did not answer within {REQUEST_SECONDS:g} s.") from None
        except address_check.AddressRefused:
            raise SignInFailed(IS_PRIVATE.format(host=urlsplit(url).hostname)) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
            cause = to_storable(str(error) or type(error).__name__)[:MAX_SHOWN_CHARACTERS]
            raise SignInFailed(f"{name} could not be reached: {cause}") from None
        named = {key.lower(): value for key, value in answer.headers.items()}
        return Answer(answer.status_code, named, _object(body))


async def _read(answer: httpx2.Response, name: str) -> bytes:
    body = bytearray()
    async for piece in answer.aiter_bytes():
        body += piece
        # guard: oauth-answer-length
        if len(body) > MAX_ANSWER_BYTES:
            raise SignInFailed(f"{name} answered with more than {MAX_ANSWER_BYTES >> 10} KiB.")
    return bytes(body)


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def check_address(url: str, *, private_allowed: bool) -> None:
    """Raises ``SignInFailed`` unless it is an HTTPS address; plain HTTP and private hosts need ``private_allowed``.

    The client checks the addresses that a name resolves to. This also guards the address that the person's
    browser opens, which the client never sees.
    """
    shown = to_storable(url)[:MAX_SHOWN_CHARACTERS]
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", 0
    plain = url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    if not host or port == 0 or not plain or len(url) > MAX_URL_CHARACTERS:
        raise SignInFailed(f"{shown} is no address of a sign-in service.")
    if parts.username or parts.password or parts.fragment:
        raise SignInFailed(
            f"{name_of(url)}: the address has a name, a password or a part behind #."
        )
    allowed = ("https", "http") if private_allowed else ("https",)
    # guard: oauth-schemes
    if parts.scheme not in allowed:
        raise SignInFailed(f"{shown} is not an https address.")
    address = address_check.literal(host)
    private = address_check.is_internal_name(host)
    # guard: oauth-private-hosts
    if not private_allowed and (private or (address and address_check.is_private(address))):
        raise SignInFailed(IS_PRIVATE.format(host=host))


def is_plain(text: str) -> bool:
    """Whether it has only the signs that the protocol lets names and scopes have."""
    return text.isascii() and text.isprintable() and len(text) <= MAX_URL_CHARACTERS


def path_of(url: str) -> str:
    """The path of an address. Raises ``SignInFailed`` if it is none."""
    try:
        return urlsplit(url).path
    except ValueError:
        raise SignInFailed(f"{name_of(url)} is no address of a sign-in service.") from None


def name_of(url: str) -> str:
    """Scheme, host and path of an address, for people: without what may be secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return to_storable(url.partition("?")[0])[:MAX_SHOWN_CHARACTERS]
    host = parts.netloc.rpartition("@")[2]
    return to_storable(f"{parts.scheme}://{host}{parts.path}")[:MAX_SHOWN_CHARACTERS]


def said_in(answer: Answer) -> str:
    """The service's own words on a failure, cut; empty if it says nothing."""
    words = [answer.facts.get(name) for name in ("error", "error_description")]
    said = ": ".join(each for each in words if isinstance(each, str) and each)
    return to_storable(" ".join(said.split()))[:MAX_SHOWN_CHARACTERS]
