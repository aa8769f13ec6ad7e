"""The only HTTP client for the APIs of git servers: checked addresses, no redirects, bounded in time and size."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings

from paca.common.text import to_storable
from paca.engine.llm.address_check import AddressRefused
from paca.repositories.hosts.addresses import GitServerAddresses, may_be_plain
from paca.repositories.hosts.errors import (
    GitServerFailed,
    GitServerLimited,
    GitServerRefused,
    GitServerUnreachable,
    RepositoryMissing,
)

if TYPE_CHECKING:
    import httpx2

REQUEST_SECONDS = 15.0
MAX_ANSWER_BYTES = 4 << 20
MAX_SHOWN_CHARACTERS = 300
USER_AGENT = "paca"


@dataclass(frozen=True, slots=True)
class Answer:
    """The status of an answer, its media type, and its JSON value; None if it has none."""

    status: int
    value: Any = field(repr=False)
    media_type: str = ""

    @property
    def is_git(self) -> bool:
        """Whether it is the list of branches that a git server sends."""
        return self.media_type == "application/x-git-upload-pack-advertisement"

    @property
    def facts(self) -> dict[str, Any]:
        """The JSON object; empty if it is none."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def items(self) -> list[dict[str, Any]]:
        """The objects of the JSON list; empty if it is none."""
        found = self.value if isinstance(self.value, list) else []
        return [each for each in found if isinstance(each, dict)]

    @property
    def said(self) -> str:
        """The server's own words on a failure, cut; empty if it says nothing."""
        words = [self.facts.get("message")]
        errors = self.facts.get("errors")
        for each in errors if isinstance(errors, list) else []:
            words.append(each.get("message") if isinstance(each, dict) else each)
        said = ": ".join(each for each in words if isinstance(each, str) and each)
        return to_storable(" ".join(said.split()))[:MAX_SHOWN_CHARACTERS]


def inner(facts: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The JSON object of this name; empty if it is none: servers answer as they like."""
    found = facts.get(name)
    return found if isinstance(found, dict) else {}


@dataclass(frozen=True, slots=True)
class ApiClient:
    """Requests below one address with the same headers. It may not be used in an event loop: calls block.

    ``seconds`` is the time limit of one request.
    """

    base: str
    headers: Mapping[str, str] = field(repr=False)
    seconds: float = REQUEST_SECONDS

    def get(self, path: str, *, allow: tuple[int, ...] = (), **query: Any) -> Answer:
        """The answer to a GET of a path below the address. Raises as ``send`` does."""
        return self.send("GET", f"{path}?{urlencode(query)}" if query else path, allow=allow)

    def post(self, path: str, value: Any, *, allow: tuple[int, ...] = ()) -> Answer:
        """The answer to a POST of JSON. Raises as ``send`` does."""
        return self.send("POST", path, value, allow=allow)

    def send(
        self, method: str, path: str, value: Any = None, *, allow: tuple[int, ...] = ()
    ) -> Answer:
        """The answer to a request; one with a status of ``allow`` is an answer too.

        Raises ``GitServerUnreachable``, ``GitServerRefused``, ``RepositoryMissing``, ``GitServerLimited`` and
        ``GitServerFailed``.
        """
        url = self.base + path
        answer = asyncio.run(self._send(method, url, value))
        if 200 <= answer.status < 300 or answer.status in allow:
            return answer
        raise _error(url, answer)

    async def _send(self, method: str, url: str, value: Any) -> Answer:
        import httpx2

        from paca.engine.llm.transport import ModelTransport

        host = urlsplit(url).netloc
        # guard: git-credentials-over-tls
        if not may_be_plain(url):
            raise GitServerUnreachable(f"{host} is linked by http://; write https://.")
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "User-Agent": USER_AGENT,
            **self.headers,
        }
        content = b""
        if value is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(value).encode()
        limits = httpx2.Limits(max_connections=1)
        try:
            transport = ModelTransport(GitServerAddresses(), limits, _certificates())
            async with (
                asyncio.timeout(self.seconds),
                httpx2.AsyncClient(
                    transport=transport, timeout=None, follow_redirects=False, trust_env=False
                ) as client,
                client.stream(method, url, headers=headers, content=content) as response,
            ):
                media = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
                return Answer(response.status_code, _parsed(await _read(response, host)), media)
        except TimeoutError:
            raise GitServerUnreachable(
                f"{host} did not answer within {self.seconds:g} s."
            ) from None
        except AddressRefused as error:
            raise GitServerUnreachable(f"{error}.") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError) as error:
            cause = to_storable(str(error) or type(error).__name__)[:MAX_SHOWN_CHARACTERS]
            raise GitServerUnreachable(f"{host} could not be reached: {cause}") from None


def _certificates() -> ssl.SSLContext | None:
    """Those of the system and of GIT_CA_FILE; None without that setting. Raises ``OSError`` if it cannot be read."""
    if not settings.GIT_CA_FILE:
        return None
    import httpx2

    context = httpx2.create_ssl_context()
    # guard: certificates-of-the-operator-count
    context.load_verify_locations(settings.GIT_CA_FILE)
    return context


async def _read(response: httpx2.Response, host: str) -> bytes:
    body = bytearray()
    async for piece in response.aiter_raw():
        body += piece
        # guard: git-answers-are-bounded
        if len(body) > MAX_ANSWER_BYTES:
            raise GitServerFailed(f"{host} answered with more than {MAX_ANSWER_BYTES >> 20} MiB.")
    return bytes(body)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _error(url: str, answer: Answer) -> GitServerFailed:
    host, said = urlsplit(url).netloc, f": {answer.said}" if answer.said else "."
    limited = answer.status == 403 and "rate limit" in answer.said.lower()
    match answer.status:
        case 401:
            return GitServerRefused(f"{host} does not accept the credentials{said}")
        case 403 if not limited:
            return GitServerRefused(f"{host} does not allow this to the credentials{said}")
        case 404:
            return RepositoryMissing(
                f"{host} has no such repository, or does not show it to the credentials{said}"
            )
        case 403 | 429:
            return GitServerLimited(f"{host} answers no more requests for now{said}")
        case 301 | 302 | 303 | 307 | 308:
            return GitServerFailed(
                f"{host} redirects to another address, which is not followed. If the repository was moved, link its"
                " new address."
            )
    return GitServerFailed(f"{host} answers HTTP {answer.status}{said}")
