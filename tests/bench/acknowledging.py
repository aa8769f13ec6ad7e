"""Wall time from a message on a socket to its acknowledgement, while the agent works."""

from __future__ import annotations

import json
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench import environment
from tests.bench.figures import Figure, percentile
from tests.installation.manage_process import Installation, Running
from tests.realtime.pages import Page, bearer_headers, conversation_page

MESSAGES = 100
BETWEEN_SECONDS = 0.1
SHARE = 0.95


def message_to_acknowledgement(folder: Path) -> Figure:
    """Compared with a ping, which takes the same path and stores nothing."""
    installation = Installation(folder)
    try:
        site = Site.of(installation, DATABASE_URL=environment.another_database("ack"))
        acks, pongs = site.messages_and_pings(site.new_conversation())
    finally:
        installation.end()
    return Figure(
        "ack",
        percentile(acks, SHARE),
        percentile(pongs, SHARE),
        "ms",
        f"p95 of {MESSAGES} messages / pings on one socket while @guide answers them: "
        f"`manage.py up` (web server and worker) on {environment.database()}",
        at_most=150,
    )


@dataclass
class Site:
    """A running Paca and a token of its admin."""

    running: Running
    token: str

    @classmethod
    def of(cls, installation: Installation, **settings: str) -> Site:
        running = installation.up(**settings)
        made = installation.run("create_token", "admin", **settings)
        assert made.returncode == 0, made.stderr
        return cls(running, made.stdout.split()[-1])

    @property
    def ws_url(self) -> str:
        return f"ws://127.0.0.1:{self.running.port}"

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.running.port}/api/v1/{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={**bearer_headers(self.token), "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def new_conversation(self) -> str:
        project = self.ask("projects/")["results"][0]["id"]
        agent = self.ask(f"projects/{project}/agents/")["results"][0]["id"]
        chats = f"projects/{project}/agents/{agent}/chat-sessions/"
        return self.ask(chats, {"text": "Hello"})["conversation"]

    def messages_and_pings(self, conversation: str) -> tuple[list[float], list[float]]:
        """Milliseconds of messages and of pings, sent alternately; the first of each is a warm-up."""
        acks, pongs = [], []
        with conversation_page(self, conversation, bearer_headers(self.token)) as page:
            page.until("ready")
            for number in range(1 + MESSAGES):
                acks.append(_ms(page, "message", "ack", client_id=f"m{number}", text="And this?"))
                time.sleep(BETWEEN_SECONDS)
                pongs.append(_ms(page, "ping", "pong", client_id=f"p{number}"))
        return acks[1:], pongs[1:]


def _ms(page: Page, command: str, answer: str, **fields: str) -> float:
    began = time.perf_counter()
    assert page.ask(command, **fields)["type"] == answer
    return (time.perf_counter() - began) * 1000
