"""A TLS proxy before a server without TLS, with a new self-signed certificate."""

import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


class TlsProxy:
    """``with TlsProxy(folder, port) as proxy:``; clients have to trust ``proxy.certificate``."""

    def __init__(self, folder: Path, behind: int) -> None:
        self.certificate = folder / "certificate.pem"
        self._key = folder / "key.pem"
        self._behind = behind
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        make_certificate(self.certificate, self._key)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self.certificate, self._key)
        self._listener = self._keep(socket.create_server(("127.0.0.1", 0)))
        self.port = self._listener.getsockname()[1]
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._sockets:
            with contextlib.suppress(OSError):  # not connected any more
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        for each in self._sockets:
            each.close()

    def _keep(self, opened: socket.socket) -> socket.socket:
        self._sockets.append(opened)
        return opened

    def _start(self, target: Callable[..., None], *arguments: socket.socket) -> None:
        self._threads.append(threading.Thread(target=target, args=arguments))
        self._threads[-1].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # the listener was shut down
            while True:
                self._start(self._serve, self._keep(self._listener.accept()[0]))

    def _serve(self, accepted: socket.socket) -> None:
        """Decrypt for the server behind and encrypt its answers, in one thread: OpenSSL wants no two."""
        with contextlib.suppress(
            OSError
        ):  # the client rejects the certificate, or one side has closed
            client = self._context.wrap_socket(accepted, server_side=True)
            self._keep(client)
            server = self._keep(socket.create_connection(("127.0.0.1", self._behind)))
            other = {client: server, server: client}
            while True:
                readable = [client] if client.pending() else select.select(list(other), [], [])[0]
                for each in readable:
                    data = each.recv(65_536)
                    if not data:
                        other[each].shutdown(socket.SHUT_RDWR)
                        return
                    other[each].sendall(data)


def make_certificate(certificate: Path, key_file: Path) -> None:
    """Write a new self-signed certificate of 127.0.0.1, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    hosts = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(hosts, critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
