"""Calls to a Docker daemon, each in a thread of a bounded pool, with a deadline and plain error messages."""

import asyncio
import concurrent.futures
import functools
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from paca.engine.workspace import SandboxUnavailable, SandboxUnreachable

Result = TypeVar("Result")
NOT_FOUND, CONFLICT = 404, 409
DEFAULT_HOST = "unix:///var/run/docker.sock"
CALL_SECONDS = 20.0
MAX_CONCURRENT_CALLS = 8
PREFIX = "Commands cannot run on this server: "


class DockerRefused(SandboxUnavailable):
    """Docker answered with an error."""

    code = "docker_refused"

    def __init__(self, http_status: int, detail: str) -> None:
        super().__init__(detail)
        self.http_status = http_status


def _without_proxies(client: type[Any]) -> type[Any]:
    """The class of a client that ignores the proxies of the environment, which do not lead to the daemon."""
    ignored = property(lambda self: False, lambda self, value: None)
    return type("Client", (client,), {"trust_env": ignored})


class DockerEngine:
    """One Docker daemon. ``host``: its address in the form of DOCKER_HOST.

    ``certificates``: the folder with ca.pem, cert.pem and key.pem. Without it only a daemon on this
    machine is used.
    """

    def __init__(self, host: str = "", certificates: str = "") -> None:
        self.host = f"unix://{host}" if host.startswith("/") else host or DEFAULT_HOST
        self._certificates = Path(certificates) if certificates else None
        self._thread_local = threading.local()
        self._version = ""
        self._pool = concurrent.futures.ThreadPoolExecutor(
            MAX_CONCURRENT_CALLS, thread_name_prefix="docker"
        )

    async def call(self, work: Callable[[Any], Result], *, seconds: float = CALL_SECONDS) -> Result:
        """Run ``work`` with a client of the SDK.

        Raises ``DockerRefused``, ``SandboxUnreachable``, or ``SandboxUnavailable`` if the address is unusable.
        """
        future = self._pool.submit(self._run_in_thread, work, seconds)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise self.timeout_error(seconds) from None

    def call_sync(self, work: Callable[[Any], Result], *, seconds: float = CALL_SECONDS) -> Result:
        """Like ``call``, for synchronous code. Raises ``DockerRefused``, ``SandboxUnreachable`` or ``SandboxUnavailable``."""
        future = self._pool.submit(self._run_in_thread, work, seconds)
        try:
            return future.result(seconds)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise self.timeout_error(seconds) from None

    async def connect(self, make: Callable[[], asyncio.Protocol]) -> Any:
        """Open a separate connection for a stream and give its protocol.

        Raises ``SandboxUnreachable``, or ``SandboxUnavailable`` if the address is unusable.
        """
        loop = asyncio.get_running_loop()
        parts = urlsplit(self._checked_host())
        try:
            async with asyncio.timeout(CALL_SECONDS):
                if parts.scheme == "unix":
                    _, protocol = await loop.create_unix_connection(make, parts.path)
                else:
                    _, protocol = await loop.create_connection(
                        make, parts.hostname or "", parts.port or 2376, ssl=self._tls()
                    )
        except TimeoutError:
            raise self.timeout_error(CALL_SECONDS) from None
        except OSError as error:
            raise self._unreachable_error(error) from error
        return protocol

    # --- the SDK ------------------------------------------------------------------------------------

    def _run_in_thread(self, work: Callable[[Any], Result], seconds: float) -> Result:
        host = self._checked_host()
        if host.startswith("unix://"):
            self._check_socket(host.removeprefix("unix://"), seconds)
        import docker.errors
        import requests.exceptions

        try:
            client = self._client(seconds)
            client.timeout = seconds  # the thread must end soon after its caller stops waiting
            return work(client)
        except docker.errors.APIError as error:
            status = error.response.status_code if error.response is not None else 500
            raise DockerRefused(status, str(error.explanation or error)[:500]) from error
        except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
            # The SDK wraps the error of the request that it sends when a client is made.
            if any(isinstance(cause, requests.exceptions.Timeout) for cause in _causes(error)):
                raise self.timeout_error(seconds) from None
            raise self._unreachable_error(error) from error
        except OSError as error:
            raise self._unreachable_error(error) from error

    def _check_socket(self, path: str, seconds: float) -> None:
        """Check that a daemon listens, before the slow import of the SDK."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(seconds)
            try:
                connection.connect(path)
            except TimeoutError:
                raise self.timeout_error(seconds) from None
            except OSError as error:
                raise self._unreachable_error(error) from error

    def _client(self, seconds: float) -> Any:
        """The client of this thread, because clients cannot be shared. Making it sends a request to the daemon."""
        import docker
        from docker.tls import TLSConfig
        from docker.transport import unixconn

        unixconn.UnixHTTPConnection.connect = _connect_or_close
        if not hasattr(self._thread_local, "client"):
            host, tls = self._checked_host(), False
            if self._certificates is not None and host.startswith("tcp://"):
                ca, cert, key = self._certificate_files()
                tls = TLSConfig(client_cert=(cert, key), ca_cert=ca, verify=True)
            client = _without_proxies(docker.APIClient)(
                host, version=self._version or "auto", timeout=seconds, tls=tls
            )
            self._version = client.api_version
            self._thread_local.client = client
        return self._thread_local.client

    # --- the address --------------------------------------------------------------------------------

    def _checked_host(self) -> str:
        scheme, _, rest = self.host.partition("://")
        if scheme == "unix" and rest:
            return self.host
        if scheme != "tcp" or not rest:
            raise SandboxUnavailable(
                f"{PREFIX}DOCKER_HOST is {self.host!r}. Set it to unix:///path/of/docker.sock or, with "
                "DOCKER_CERT_PATH, to tcp://host:2376."
            )
        if self._certificates is None and not _is_this_machine(urlsplit(self.host).hostname or ""):
            raise SandboxUnavailable(
                f"{PREFIX}DOCKER_HOST is {self.host!r}, and without TLS anyone on the network path could "
                "run programs there. Set DOCKER_CERT_PATH to the folder of ca.pem, cert.pem and key.pem."
            )
        return self.host

    def _certificate_files(self) -> list[str]:
        assert self._certificates is not None
        files = [self._certificates / name for name in ("ca.pem", "cert.pem", "key.pem")]
        if missing := [str(path) for path in files if not path.is_file()]:
            raise SandboxUnavailable(f"{PREFIX}{missing[0]} is missing (DOCKER_CERT_PATH).")
        return [str(path) for path in files]

    def _tls(self) -> ssl.SSLContext | None:
        if self._certificates is None:
            return None
        ca, cert, key = self._certificate_files()
        context = ssl.create_default_context(cafile=ca)
        context.load_cert_chain(cert, key)
        return context

    # --- what went wrong ----------------------------------------------------------------------------

    def timeout_error(self, seconds: float) -> SandboxUnreachable:
        """The error for a call that was not answered in time."""
        return SandboxUnreachable(
            f"{PREFIX}Docker at {self.host} did not answer within {seconds:g} seconds. "
            "Look into its log (journalctl -u docker) and restart it: sudo systemctl restart docker"
        )

    def _unreachable_error(self, error: BaseException) -> SandboxUnreachable:
        if any(isinstance(cause, PermissionError) for cause in _causes(error)):
            return SandboxUnreachable(
                f"{PREFIX}this account may not use Docker at {self.host}. Allow it with "
                "sudo usermod -aG docker $USER, then log in again."
            )
        return SandboxUnreachable(
            f"{PREFIX}no Docker daemon answers at {self.host}. Start it: sudo systemctl start docker"
        )


def _connect_or_close(connection: Any) -> None:
    """Connect a ``UnixHTTPConnection`` of the SDK, whose own method leaves a refused socket open."""
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.settimeout(connection.timeout)
        opened.connect(connection.unix_socket)
    except BaseException:
        opened.close()
        raise
    connection.sock = opened


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and all errors that it wraps: the libraries hide the first one in arguments."""
    waiting = [error]
    while waiting:
        cause = waiting.pop()
        if isinstance(cause, BaseException):
            yield cause
            waiting += [cause.__cause__, *(one for one in cause.args if one is not cause)]


@functools.cache
def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
