"""The gate of one conversation: reads each request, decides, connects to the checked address, and books it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from paca.common.network_policy import EgressPolicy
from paca.engine.llm.address_check import Address
from paca.sandbox.egress import addresses, client_hello, reasons, repositories, request_head
from paca.sandbox.egress.booking import Booking
from paca.sandbox.egress.decision import Allowed, Denied, decide, listed_servers
from paca.sandbox.egress.reasons import Reason
from paca.sandbox.egress.relay import Cut, Relay, Stream
from paca.sandbox.egress.repositories import Repositories
from paca.sandbox.egress.request_head import MalformedRequest, Request

logger = logging.getLogger(__name__)
MAX_CONNECTIONS = 64
MAX_RESOLVING = 4  # of one conversation: each takes a thread, which a slow server of names holds
HEAD_SECONDS = 15.0
CONNECT_SECONDS = 20.0
STREAM_BYTES = 256 << 10  # twice that waits for one end at most
LINGER_SECONDS, LINGER_READS = 1.0, 16
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
Connect = Callable[[Address, int], Awaitable[Stream]]
UNAVAILABLE = (Reason.TOO_MANY, Reason.UNREACHABLE, Reason.UNRESOLVED)


async def connect(address: Address, port: int) -> Stream:
    """A connection to an address. Raises ``OSError`` or ``TimeoutError``."""
    async with asyncio.timeout(CONNECT_SECONDS):
        return Stream(*await asyncio.open_connection(str(address), port, limit=STREAM_BYTES))


class Gate:
    """Serves the connections of one sandbox. ``policy`` gives the one that holds now."""

    def __init__(
        self,
        policy: Callable[[], EgressPolicy],
        booking: Booking,
        *,
        resolve: addresses.Resolve = addresses.look_up,
        connect: Connect = connect,
        is_own: Callable[[Address], bool] = addresses.is_own_address,
        broker: Repositories | None = None,
    ) -> None:
        self._policy = policy
        self._booking = booking
        self._resolve = resolve
        self._connect = connect
        self._is_own = is_own
        self._repositories = broker
        self._count = 0
        self._resolving = asyncio.Semaphore(MAX_RESOLVING)
        self._open: dict[asyncio.Task[None], str] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection of the sandbox, which carries one request."""
        client = Stream(reader, writer)
        self._count += 1
        try:
            if self._count > 2 * MAX_CONNECTIONS:
                return
            if self._count > MAX_CONNECTIONS:
                await self._refuse(client, Denied(Reason.TOO_MANY))
            else:
                await self._serve_request(client)
        except (OSError, TimeoutError):  # the client is gone, or the disk for the booking is full
            pass
        finally:
            self._count -= 1
            client.close()

    @property
    def is_idle(self) -> bool:
        """Whether no connection is open."""
        return not self._count

    def enforce(self) -> None:
        """Cut the connections that the policy of now does not allow any more."""
        if not self._open:
            return
        policy = self._policy()
        for task, host in list(self._open.items()):
            # guard: egress-a-narrower-policy-cuts-connections
            if not policy.allows_host(host):
                task.cancel()

    async def _serve_request(self, client: Stream) -> None:
        found = await _read_request(client.reader)
        policy = self._policy()
        if denied := self._over_budget(policy):
            await self._refuse(client, denied)
            return
        if isinstance(found, Denied):
            await self._refuse(client, found)
            return
        if self._repositories is not None and repositories.is_for_them(found):
            await self._carry_to_repositories(client, found, policy)
            return
        decision = decide(found, policy)
        if isinstance(decision, Denied):
            await self._refuse(client, decision)
            return
        server = await self._connect_checked(decision, policy)
        if isinstance(server, Denied):
            await self._refuse(client, server)
            return
        carrying = asyncio.create_task(self._carry(client, server, decision, policy))
        self._open[carrying] = decision.host
        try:
            await asyncio.wait({carrying})
        finally:
            del self._open[carrying]
            carrying.cancel()
            server.close()
        if not carrying.cancelled() and (error := carrying.exception()) is not None:
            logger.debug("connection ended", extra={"reason": repr(error)})

    async def _carry_to_repositories(
        self, client: Stream, found: Request, policy: EgressPolicy
    ) -> None:
        """Hand the connection to the broker of repositories, which knows what this conversation may do there."""
        assert self._repositories is not None
        self._booking.begin(repositories.HOST, repositories.PORT)
        try:
            broker = await self._repositories.connect()
        except (OSError, TimeoutError):
            await self._refuse(
                client, Denied(Reason.UNREACHABLE, repositories.HOST, repositories.PORT)
            )
            return
        head = self._repositories.head_for(found)
        wanted = Allowed(repositories.HOST, repositories.PORT, head)
        try:
            await self._carry(client, broker, wanted, policy, both_ways=True)
        finally:
            broker.close()

    def _over_budget(self, policy: EgressPolicy) -> Denied | None:
        # guard: egress-budget-of-requests
        if self._booking.requests >= policy.max_requests:
            return Denied(Reason.BUDGET)
        # guard: egress-budget-of-bytes-before-a-request
        if self._booking.bytes >= policy.max_bytes:
            return Denied(Reason.BUDGET)
        return None

    async def _connect_checked(self, wanted: Allowed, policy: EgressPolicy) -> Stream | Denied:
        """A connection to an address of the host that was checked, or why there is none. It is booked before."""
        host, port = wanted.host, wanted.port
        try:
            found = await self._resolve_in_turn(host, port)
        except (OSError, TimeoutError, UnicodeError):
            found = []
        if not found:
            return Denied(Reason.UNRESOLVED, host, port)
        listed = listed_servers(host, policy)
        checked = addresses.allowed_addresses(host, port, found, listed, is_own=self._is_own)
        if not checked:
            return Denied(Reason.PRIVATE, host, port)
        self._booking.begin(host, port)
        for address in checked:
            with suppress(OSError, TimeoutError):
                return await self._connect(address, port)
        return Denied(Reason.UNREACHABLE, host, port)

    async def _resolve_in_turn(self, host: str, port: int) -> list[Address]:
        """The addresses of a host. Raises ``OSError`` or ``TimeoutError``.

        A thread that resolves a name cannot be stopped, so its place is taken until it ends.
        """
        async with asyncio.timeout(addresses.RESOLVE_SECONDS):
            await self._resolving.acquire()
            task = asyncio.ensure_future(self._resolve(host, port))
            task.add_done_callback(self._resolved)
            return await asyncio.shield(task)

    def _resolved(self, task: asyncio.Future[list[Address]]) -> None:
        self._resolving.release()
        if not task.cancelled():
            task.exception()  # the request may be gone

    async def _carry(
        self,
        client: Stream,
        server: Stream,
        wanted: Allowed,
        policy: EgressPolicy,
        *,
        both_ways: bool = False,
    ) -> None:
        relay = Relay(client, server, lambda count: self._take(count, policy))
        reason = Reason.NONE
        try:
            if wanted.is_tunnel:
                client.writer.write(ESTABLISHED)
                await relay.send(await _read_hello(client, wanted.host))
            else:
                await relay.send(wanted.head)
            await relay.run(both_ways=both_ways or wanted.is_tunnel)
        except Cut as cut:
            reason = cut.reason
        except asyncio.CancelledError:
            allowed = self._policy().allows_host(wanted.host)
            reason = Reason.RESTARTED if allowed else Reason.NOT_LISTED
            raise
        finally:
            self._booking.end(
                wanted.host, wanted.port, reason, sent=relay.sent, received=relay.received
            )

    def _take(self, count: int, policy: EgressPolicy) -> bool:
        self._booking.bytes += count
        return self._booking.bytes <= policy.max_bytes

    async def _refuse(self, client: Stream, denied: Denied) -> None:
        """Answer with the reason in words, and book it unless it is booked already."""
        exhausted = denied.reason in (Reason.BUDGET, Reason.TOO_MANY)
        if denied.reason is Reason.UNREACHABLE:
            self._booking.end(denied.host, denied.port, denied.reason, sent=0, received=0)
        # A sandbox could fill the disk with refusals of this kind.
        elif not exhausted:
            self._booking.begin(denied.host, denied.port, denied.reason)
        client.writer.write(refusal(denied))
        await client.writer.drain()
        await _linger(client)


def refusal(denied: Denied) -> bytes:
    """The answer to a refused request. Many programs show the status line only, so it says the reason too."""
    text = reasons.sentence(denied.reason, denied.host, denied.port)
    status = 503 if denied.reason in UNAVAILABLE else 403
    body = f"The network gate of Paca refused this request. {text}\n".encode("ascii")
    head = (
        f"HTTP/1.1 {status} {text}\r\nContent-Type: text/plain; charset=us-ascii\r\n"
        f"Content-Length: {len(body)}\r\nX-Paca-Refused: {denied.reason}\r\nConnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body


async def _linger(client: Stream) -> None:
    """Take what the client still sends, for a moment: a socket that is closed before loses the answer."""
    with suppress(OSError, TimeoutError):
        client.writer.write_eof()
        async with asyncio.timeout(LINGER_SECONDS):
            for _ in range(LINGER_READS):
                if not await client.reader.read(STREAM_BYTES):
                    return


async def _read_request(reader: asyncio.StreamReader) -> Request | Denied:
    try:
        async with asyncio.timeout(HEAD_SECONDS):
            return request_head.parse(await reader.readuntil(request_head.HEAD_END))
    except TimeoutError:
        return Denied(Reason.SLOW)
    except (asyncio.LimitOverrunError, MalformedRequest):
        return Denied(Reason.MALFORMED)
    except asyncio.IncompleteReadError:
        raise ConnectionResetError from None


async def _read_hello(client: Stream, host: str) -> bytes:
    """The first bytes in a tunnel, once they are a begin of TLS for the host. Raises ``Cut`` or ``OSError``."""
    data = b""
    try:
        async with asyncio.timeout(HEAD_SECONDS):
            while (name := client_hello.server_name(data)) is None:
                more = await client.reader.read(STREAM_BYTES)
                if not more or len(data) + len(more) > 2 * client_hello.MAX_HELLO_BYTES:
                    raise Cut(Reason.NOT_TLS)
                data += more
    except client_hello.NotTls:
        raise Cut(Reason.NOT_TLS) from None
    except TimeoutError:
        raise Cut(Reason.SLOW) from None
    # guard: egress-name-in-tls-as-in-the-tunnel
    if name != host:
        client.writer.write(client_hello.ALERT)
        await client.writer.drain()
        raise Cut(Reason.SNI_DIFFERS)
    return data
