"""Runs `manage.py` as a process on a data folder of its own, and reads its output."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
OURS = ("PACA_", "SANDBOX_", "DOCKER_", "WORKER_", "AGENT_", "LLM_", "COMMAND_")
NAMED = {
    "SECRET_KEY",
    "ENCRYPTION_KEY",
    "DATABASE_URL",
    "REDIS_URL",
    "VALKEY_URL",
    "DEBUG",
    "ALLOWED_HOSTS",
    "DJANGO_SETTINGS_MODULE",
}
ADDRESS = r"Paca runs at http://\S+?:(\d+)"
START_SECONDS = 60  # a loaded CI machine; the start-up time itself has its own test


def clean_environment() -> dict[str, str]:
    """The environment of this process without settings of Paca, some of which the suite sets.

    Docker is switched off, so that a machine with Docker makes no difference. Start lines are those
    that a person sees at a terminal.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in NAMED and not name.startswith(OURS)
    }
    return kept | {
        "DOCKER_HOST": "unix:///nowhere/docker.sock",
        "LOG_FORMAT": "text",
        "PRIVATE_MODEL_SERVERS": "127.0.0.1:*",  # the scripted model servers
        "PRIVATE_MCP_SERVERS": "127.0.0.1:*",
        "PRIVATE_GIT_SERVERS": "127.0.0.1:*",
    }


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> dict:
        return json.loads(self.body)


@dataclass
class Running:
    """A process that runs `manage.py`: its output, and its port if it has one."""

    process: subprocess.Popen
    lines: list[str] = field(default_factory=list)
    port: int = 0
    seconds: float = 0

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def get(self, path: str, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path, headers=headers)
            got = connection.getresponse()
            return Answer(got.status, got.headers, got.read())
        finally:
            connection.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(40)


@dataclass
class Installation:
    data: Path
    settings: dict[str, str] = field(default_factory=dict)  # of each of its commands
    started: list[Running] = field(default_factory=list)

    def environment(self, **settings: str) -> dict[str, str]:
        return {
            **clean_environment(),
            "PACA_DATA_DIR": str(self.data),
            "PACA_PORT": "0",
            "API_REQUESTS_PER_MINUTE": "100000",  # tests poll the API
            "TITLE_MODEL": "off",  # scripts of model servers have no reply for a title
            **self.settings,
            **settings,
        }

    def run(
        self, *command: str, before: tuple[str, ...] = (), **settings: str
    ) -> subprocess.CompletedProcess:
        """Run a command to its end; ``before`` is put in front of it, as sudo would be."""
        return subprocess.run(
            [*before, sys.executable, str(ROOT / "manage.py"), *command],
            env=self.environment(**settings),
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=START_SECONDS,
            check=False,
        )

    def up(
        self,
        *arguments: str,
        before: tuple[str, ...] = (),
        reachable: bool = True,
        **settings: str,
    ) -> Running:
        """Start `manage.py up` and wait until it prints its address and, if ``reachable``, answers."""
        began = time.monotonic()
        deadline = began + START_SECONDS
        running = self.up_until(ADDRESS, "up", *arguments, before=before, **settings)
        assert running.port, f"ended instead of starting:\n{running.output}"
        while reachable and _not_yet(running):
            assert time.monotonic() < deadline, running.output
            time.sleep(0.02)
        running.seconds = time.monotonic() - began
        return running

    def up_until(
        self, said: str, *command: str, before: tuple[str, ...] = (), **settings: str
    ) -> Running:
        """Start a command and wait until a line matches the pattern ``said``, or until it has ended."""
        process = subprocess.Popen(
            [*before, sys.executable, str(ROOT / "manage.py"), *(command or ("up",))],
            env=self.environment(**settings),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        running = Running(process)
        self.started.append(running)
        heard = threading.Event()
        threading.Thread(target=_read, args=(running, said, heard), daemon=True).start()
        assert heard.wait(START_SECONDS), f"did not get that far:\n{running.output}"
        return running

    def end(self) -> None:
        for running in self.started:
            if running.process.poll() is None:
                running.stop()
            running.process.stdout.close()


def _read(running: Running, said: str, heard: threading.Event) -> None:
    for line in running.process.stdout:
        running.lines.append(line.rstrip("\n"))
        if found := re.search(ADDRESS, line):
            running.port = int(found[1])
        if re.search(said, line):
            heard.set()
    heard.set()


def _not_yet(running: Running) -> bool:
    try:
        return running.get("/healthz").status != 200
    except OSError:
        return True
