"""daphne's HTTP connections with limits in number, time and size.

The classes are combined with those of daphne and Twisted only in a process that serves with daphne:
Twisted takes memory and changes other libraries when it is imported.
"""

import json
import sys
import uuid
from typing import Any

from django.conf import settings

from paca.common.request_body import max_body_bytes
from paca.common.trusted_proxies import TrustedProxies
from paca.ops.connections.limits import configured_limits
from paca.ops.connections.table import SWEEP_SECONDS, Connection, ConnectionTable
from paca.ops.daphne.backpressure import unsent_bytes
from paca.web.middleware.body_size_limit import too_large_body

# What a client must read of a response each minute, as on uvicorn.
MIN_READ_BYTES = 48 * 1024

CombinedWithTwisted: Any = object


class BoundedRequest(CombinedWithTwisted):  # type: ignore[misc] # of any type
    """Tells the connection how far the request is, and refuses a body above the limit."""

    _body_bytes = 0

    def gotLength(self, length: int | None) -> None:
        self.channel.transport.connection.waits_for_body()
        super().gotLength(length)
        self._count(length or 0)

    def handleContentChunk(self, data: bytes) -> None:
        if self.channel is None or self.channel.transport.disconnecting:
            return
        self.channel.transport.connection.received_body(len(data))
        self._body_bytes += len(data)
        self._count(self._body_bytes)
        super().handleContentChunk(data)

    def requestReceived(self, *request: Any) -> None:
        if self.channel.transport.disconnecting:
            return
        self.channel.transport.connection.works()
        super().requestReceived(*request)

    def finish(self) -> None:
        bounded = self.channel and self.channel.transport
        super().finish()
        if bounded:
            bounded.wait_for_client()

    def _count(self, length: int) -> None:
        # Twisted's channel has read the request line; the request itself learns it with the whole body.
        max_bytes = max_body_bytes(self.channel._path.partition(b"?")[0].decode("latin-1"))
        # guard: daphne-body-length
        if length > max_bytes:
            answer = json.dumps(too_large_body(uuid.uuid4().hex, max_bytes)).encode()
            self.channel.transport.refuse(b"413 Request Entity Too Large", answer)


class BoundedConnection(CombinedWithTwisted):  # type: ignore[misc]
    """The layer between the network and daphne."""

    def __init__(self, factory: Any, wrapped: Any, connection: Connection) -> None:
        super().__init__(factory, wrapped)
        self.connection = connection
        self._unsent = 0  # bytes of the last response, when the client was last looked at

    def makeConnection(self, transport: Any) -> None:
        self.connection.opened(abort=transport.abortConnection, time_out=self._time_out)
        super().makeConnection(transport)

    def connectionLost(self, reason: Any) -> None:
        self.connection.ended()
        super().connectionLost(reason)

    def refuse(self, status: bytes, body: bytes = b"") -> None:
        """Answer without the application, and close."""
        length = str(len(body)).encode()
        head = b"\r\n".join(
            [
                b"HTTP/1.1 " + status,
                b"content-type: application/json",
                b"content-length: " + length,
                b"connection: close",
            ]
        )
        self.write(head + b"\r\n\r\n" + body)
        self.loseConnection()
        self.connection.waits_for_close()

    def wait_for_client(self) -> None:
        """The response is written: the client must read what is unsent of it, and may ask again then."""
        self._unsent = unsent_bytes(self)
        if self._unsent:
            self.connection.waits_for_reader()
        else:
            self.connection.waits_for_request()

    def _time_out(self) -> None:
        # guard: daphne-slow-reader
        if not self._unsent:
            self.refuse(b"408 Request Timeout")
        elif unsent_bytes(self) > max(self._unsent - MIN_READ_BYTES, 0):
            self.connection.abort()
        else:
            self.wait_for_client()


class BoundedFactory(CombinedWithTwisted):  # type: ignore[misc]
    """Admits connections by the table, and ends those whose client takes too long."""

    def __init__(self, server: Any) -> None:
        super().__init__(server)
        trusted = TrustedProxies(settings.FORWARDED_ALLOW_IPS)
        self.table = ConnectionTable(configured_limits(), trusted=trusted)
        # paca.asgi reads the headers of proxies, and believes only those that are configured.
        server.proxy_forwarded_address_header = None
        self._sweep()

    def buildProtocol(self, addr: Any) -> Any:
        connection = self.table.admit(str(getattr(addr, "host", "")))
        if connection is None:
            return None  # Twisted closes it
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = self.request_class
        return self.connection_class(self, protocol, connection)

    # ProtocolWrapper calls these on its factory.
    def registerProtocol(self, protocol: Any) -> None:
        pass

    def unregisterProtocol(self, protocol: Any) -> None:
        pass

    def _sweep(self) -> None:
        self.table.sweep()
        self.reactor.callLater(SWEEP_SECONDS, self._sweep)


def install() -> None:
    """Let daphne build connections with limits, if this process serves with daphne.

    daphne has no option for this, but it imports the application before it makes its factory.
    """
    daphne_server: Any = sys.modules.get("daphne.server")
    if daphne_server is not None:
        daphne_server.HTTPFactory = _bounded_factory()


def _bounded_factory() -> type:
    """The class of daphne's factory of connections, with limits."""
    from daphne.http_protocol import HTTPFactory, WebRequest
    from twisted.protocols.policies import ProtocolWrapper

    class Request(BoundedRequest, WebRequest):  # type: ignore[misc] # daphne has no types
        pass

    class Wrapper(BoundedConnection, ProtocolWrapper):  # type: ignore[misc]
        pass

    class Factory(BoundedFactory, HTTPFactory):  # type: ignore[misc]
        request_class, connection_class = Request, Wrapper

    return Factory
