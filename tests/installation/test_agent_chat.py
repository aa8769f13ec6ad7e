"""``manage.py agent_chat`` in a real terminal (a pty) and in a pipe, against a running installation."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

import pytest

from tests.installation.api_client import LOOK, ApiClient
from tests.installation.manage_process import ROOT, Installation, Running

pytestmark = pytest.mark.service
SECONDS = 90
COMMAND = [sys.executable, str(ROOT / "manage.py"), "agent_chat"]


class Terminal:
    """The client in a pty: what it has printed, and keys for it."""

    def __init__(self, *flags: str, environment: dict[str, str]) -> None:
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [*COMMAND, *flags],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            cwd=ROOT,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0),  # Ctrl+C is a signal then
        )
        os.close(slave)
        self.shown, self._read_to = "", 0

    def until(self, pattern: str) -> str:
        """Read until the pattern is shown after what was found before; gives the text up to it."""
        deadline = time.monotonic() + SECONDS
        while not (found := re.compile(pattern).search(self.shown, self._read_to)):
            assert self._read(deadline), f"no {pattern!r} in:\n{self.shown[self._read_to :]}"
        before, self._read_to = self.shown[self._read_to : found.end()], found.end()
        return before

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self.master], [], [], max(0, deadline - time.monotonic()))
        try:
            data = os.read(self.master, 65536) if ready else b""
        except OSError:  # the client has ended
            data = b""
        self.shown += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def end(self) -> int:
        """Read to the end; gives the exit code."""
        while self._read(time.monotonic() + SECONDS):
            pass
        return self.process.wait(SECONDS)


@pytest.fixture
def client(running_installation: tuple[Installation, Running]) -> ApiClient:
    return ApiClient(*running_installation)


@pytest.fixture
def environment(
    running_installation: tuple[Installation, Running], client: ApiClient
) -> dict[str, str]:
    installation, running = running_installation
    found = installation.environment()
    found |= {"PACA_TOKEN": client.token, "PACA_SERVER": f"http://127.0.0.1:{running.port}"}
    return found | {"TERM": "xterm", "NO_COLOR": "1"}


@pytest.fixture
def terminal(environment: dict[str, str]) -> Iterator:
    started = []

    def start(*flags: str) -> Terminal:
        started.append(Terminal(*flags, environment=environment))
        return started[-1]

    yield start
    for each in started:
        with contextlib.suppress(ProcessLookupError):
            each.process.send_signal(signal.SIGKILL)
        each.process.wait(SECONDS)
        os.close(each.master)


def test_person_chats_decides_interrupts_and_leaves_in_a_terminal(terminal, client: ApiClient):
    client.set_approval("all")
    shell = terminal("--agent", "@guide")
    shell.until("> ")
    shell.type(f"{LOOK}\n")
    shell.until(r"bash waits for you: [^\n]+\n")
    shell.until("run it\\?.*> ")
    shell.type("y\n")
    shell.until("approved by admin")
    assert "✓" in shell.until("waits for you")
    shell.until("run it\\?.*> ")
    shell.type("\x03")
    shell.until("feedback .*> ")
    shell.type("Say hello instead.\n")
    shell.until("interrupted")
    assert "I am the demo guide" in shell.until("\n> $")
    shell.type("/usage\n")
    shell.until("tokens in")
    own = [each for each in client.conversations() if each["title"].startswith("Look around")]
    (conversation,) = own
    log = client.log(conversation["id"])
    received = [e["data"]["text"] for e in log if e["type"] == "agent.message.received"]
    assert received == [LOOK, "Say hello instead."]
    assert client.outputs(conversation["id"])
    shell.type("\x03")
    shell.until("again leaves")
    shell.type("\x03")
    assert shell.end() == 130
    assert "\x1b" not in shell.shown
    assert client.token not in shell.shown


def test_message_from_a_pipe_is_answered_and_the_server_is_another_process(
    environment: dict[str, str], client: ApiClient
):
    client.set_approval("auto")
    ended = subprocess.run(
        [*COMMAND, "--agent", "guide"],
        input="Hello",
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("I am the demo guide")
    assert ended.stderr == ""
