"""The Docker daemon: every call has a thread of a bounded pool, a deadline, and errors in plain words."""

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
DEFAULT_HOST = "unix:///var/run/docker.sock"
CALL_SECONDS = 20.0
MOST_CALLS_AT_ONCE = 8
PREFIX = "Commands cannot run on this server: "


class DockerRefused(SandboxUnavailable):
    """Docker answered, and said no."""

    code = "docker_refused"

    def __init__(self, http_status: int, detail: str) -> None:
        super().__init__(detail)
        self.http_status = http_status


class DockerEngine:
    """One daemon, at ``host`` as DOCKER_HOST spells it. ``certificates``: a folder with ca.pem, cert.pem
    and key.pem, without which no daemon on another machine is spoken to."""

    def __init__(self, host: str = "", certificates: str = "") -> None:
        self.host = f"unix://{host}" if host.startswith("/") else host or DEFAULT_HOST
        self._certificates = Path(certificates) if certificates else None
        self._thread_local = threading.local()
        self._version = ""
        self._pool = concurrent.futures.ThreadPoolExecutor(
            MOST_CALLS_AT_ONCE, thread_name_prefix="docker"
        )

    async def call(self, work: Callable[[Any], Result], *, seconds: float = CALL_SECONDS) -> Result:
        """Do something with the SDK's client. Raises ``DockerRefused`` or ``SandboxUnreachable``."""
        future = self._pool.submit(self._run_in_thread, work, seconds)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise self.timeout_error(seconds) from None

    def call_sync(self, work: Callable[[Any], Result], *, seconds: float = CALL_SECONDS) -> Result:
        """The same for who has a thread to wait in."""
        future = self._pool.submit(self._run_in_thread, work, seconds)
        try:
            return future.result(seconds)
        except concurrent.futures.TimeoutError:
            future.cancel()
            raise self.timeout_error(seconds) from None

    async def connect(self, make: Callable[[], asyncio.Protocol]) -> Any:
        """A connection of one's own, for a stream; gives the protocol."""
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
            client.timeout = seconds  # a thread must not outlast the wait for it by much
            return work(client)
        except docker.errors.APIError as error:
            status = error.response.status_code if error.response is not None else 500
            raise DockerRefused(status, str(error.explanation or error)[:500]) from error
        except requests.exceptions.Timeout:
            raise self.timeout_error(seconds) from None
        except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
            raise self._unreachable_error(error) from error
        except OSError as error:
            raise self._unreachable_error(error) from error

    def _check_socket(self, path: str, seconds: float) -> None:
        """See that somebody listens: the SDK is not loaded for less, and leaves a socket that was
        refused to the garbage collector."""
        with socket.socket(socket.AF_UNIX) as tried:
            tried.settimeout(seconds)
            try:
                tried.connect(path)
            except TimeoutError:
                raise self.timeout_error(seconds) from None
            except OSError as error:
                raise self._unreachable_error(error) from error

    def _client(self, seconds: float) -> Any:
        """A client of this thread's own: they are not made to be shared. Making it asks the daemon, too."""
        import docker
        from docker.tls import TLSConfig

        if not hasattr(self._thread_local, "client"):
            host, tls = self._checked_host(), False
            if self._certificates is not None and host.startswith("tcp://"):
                ca, cert, key = self._certificate_files()
                tls = TLSConfig(client_cert=(cert, key), ca_cert=ca, verify=True)
            client = docker.APIClient(
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
                f"{PREFIX}DOCKER_HOST is {self.host!r}, and without TLS anybody on the way could run "
                "programs there. Set DOCKER_CERT_PATH to the folder of ca.pem, cert.pem and key.pem."
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
        """The error of a wait that brought nothing."""
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


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error and all that it wraps: the libraries on the way hide the first in arguments."""
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
