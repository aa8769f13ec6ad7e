"""Sends one request to a model service: within time limits, without redirects, with errors in its words."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paca.engine.llm import provider_errors
from paca.engine.llm.http_pool import TimeLimits, pool
from paca.engine.llm.model_errors import ModelError, ModelMisconfigured
from paca.engine.llm.response_body import AttemptBudget, connection_errors

if TYPE_CHECKING:
    import httpx2

MAX_REFUSAL_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request with its credentials in the headers."""

    url: str
    headers: dict[str, str] = field(repr=False)
    content: bytes = b""
    method: str = "POST"


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends the requests of one adapter. ``mask`` removes the agent's credentials from an error.

    ``no_service`` is the text for a path that the server does not have.
    """

    limits: TimeLimits
    http: httpx2.AsyncClient | None
    no_service: str
    mask: Callable[[ModelError], ModelError]

    async def send(self, request: HttpRequest, budget: AttemptBudget) -> httpx2.Response:
        """The response when the headers of a successful one are there. Its body is not read yet.

        Raises ``ModelError`` for every other status, a redirect and a failed connection; its kind
        ``ModelMisconfigured`` for an address or a key that cannot be sent.
        """
        import httpx2

        http = self.http or pool()
        address = request.url.partition("?")[0]
        try:
            sent = build(request, http, connect_seconds=self.limits.connect)
            async with asyncio.timeout(budget.seconds_left()):
                response = await http.send(sent, stream=True)
                if response.is_success:
                    return response
                body = await read_at_most(response, MAX_REFUSAL_BYTES)
        except TimeoutError:
            raise budget.timeout_error(address) from None
        except httpx2.InvalidURL as error:
            raise ModelMisconfigured(f"The base URL is not valid: {error}") from None
        except UnicodeEncodeError:
            raise ModelMisconfigured("The key has characters that cannot be sent.") from None
        except connection_errors() as error:
            failure = provider_errors.from_transport(error, address)
            raise budget.with_patience(self.mask(failure)) from None
        refusal = provider_errors.from_status(
            # Amazon's services write Message with a capital.
            response.status_code,
            body.replace(b'"Message"', b'"message"'),
            response.headers,
            no_service=self.no_service,
        )
        raise budget.refusal(self.mask(refusal), response.status_code)


def build(
    request: HttpRequest, http: httpx2.AsyncClient, *, connect_seconds: float
) -> httpx2.Request:
    """The request for ``http.send``, with the headers of ``http`` that it does not set itself.

    The library's own way merges headers, addresses and parameters, which takes longer than to send the
    request. It would also send the cookies that a server has set for another agent.

    Raises ``httpx2.InvalidURL``, and ``UnicodeEncodeError`` for a header that cannot be sent.
    """
    import httpx2

    url = _parse(request.url)
    given = [
        (name.encode("ascii"), value.encode("ascii")) for name, value in request.headers.items()
    ]
    if request.content or request.method != "GET":
        given.append((b"Content-Length", str(len(request.content)).encode()))
    merged = ((b"Host", url.netloc), *http.headers.raw, *given)
    headers = {name.lower(): (name, value) for name, value in merged}
    timeout = httpx2.Timeout(None, connect=connect_seconds).as_dict()
    return httpx2.Request(
        request.method,
        url,
        headers=list(headers.values()),
        stream=httpx2.ByteStream(request.content),
        extensions={"timeout": timeout},
    )


@functools.lru_cache(maxsize=64)
def _parse(url: str) -> httpx2.URL:
    import httpx2

    return httpx2.URL(url)


async def read_at_most(response: httpx2.Response, limit: int) -> bytes:
    """The first bytes of the body; the response is closed afterwards."""
    body = bytearray()
    with suppress(*connection_errors()):
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > limit:
                break
    await response.aclose()
    return bytes(body)
