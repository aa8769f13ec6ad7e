"""Whole journeys: a worker in its thread, a sandbox, and a model server over HTTP, all real."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from uuid import UUID

import pytest
from django.conf import settings
from django.db import connections

from paca.conversations import services
from paca.conversations.models import Conversation, Event, Worker
from paca.conversations.services import MessageReceipt
from paca.sandbox.manager import DockerAddress, SandboxManager
from paca.worker.thread import WorkerThread
from paca.worker.worker_settings import WorkerSettings
from tests.support import docker_backend, replay, runners
from tests.support.frames import frames_of
from tests.support.model_script import Scripted
from tests.support.model_server import ModelServer
from tests.support.replay import IDLE_STATUSES
from tests.support.world import MODEL, make_world

# The model server's dialect of flows that do not choose one: ``MODEL_DIALECT=openai pytest tests/flows``.
DIALECT = os.environ.get("MODEL_DIALECT", "anthropic")
BOTH_DIALECTS = pytest.mark.parametrize("flow", ["anthropic", "openai"], indirect=True)
# Shell words that wait for ``let_command_end``: a fault comes while the command runs, also on a slow machine.
ALLOWED = "go-on"
ASK_AGAIN_SECONDS = 0.05
UNTIL_ALLOWED = f"until [ -e {ALLOWED} ]; do sleep 0.05; done"


@dataclass(frozen=True)
class ObservedConversation:
    """A conversation as its viewers see it."""

    id: UUID

    @property
    def row(self) -> Conversation:
        return Conversation.objects.get(pk=self.id)

    @property
    def status(self) -> str:
        row = self.row
        return f"{row.status}/{row.reason}"

    @property
    def frames(self) -> list[dict[str, Any]]:
        return frames_of(self.id)

    @property
    def event_types(self) -> list[str]:
        return [frame["type"].removeprefix("agent.") for frame in self.frames]

    def event_data(self, kind: str) -> list[dict[str, Any]]:
        """The data of each event of this type, such as ``tool.returned``."""
        return [frame["data"] for frame in self.frames if frame["type"] == f"agent.{kind}"]

    @property
    def answers(self) -> list[str]:
        return [fact["text"] for fact in self.event_data("message.spoken")]

    @property
    def outputs(self) -> list[str]:
        return [fact["output"] for fact in self.event_data("tool.returned")]

    def has_event(self, kind: str) -> bool:
        return Event.objects.filter(conversation=self.id, type=f"agent.{kind}").exists()


class Flow:
    """A world with its worker, used as ``with Flow(tmp_path) as flow:``."""

    def __init__(
        self,
        folder: Path,
        *,
        dialect: str = DIALECT,
        worker: dict[str, Any] | None = None,
        sandbox: str = "",
        docker: DockerAddress | None = None,
        **agent: Any,
    ) -> None:
        self.model = ModelServer()
        self.dialect = dialect
        self.folder = folder
        self.sandbox = sandbox or settings.PACA_SANDBOX
        self._docker = docker
        self._agent = agent
        self._worker_settings = {"concurrency": 5, "lease_seconds": 3.0, "sandbox_idle_seconds": 60}
        self._worker_settings |= worker or {}
        self.worker: WorkerThread | None = None

    def __enter__(self) -> Self:
        self.model.__enter__()
        self.world = make_world(
            **{
                **self.model_settings(),
                "llm_api_key": "sk-test-1234",
                **self._agent,
            }
        )
        self.start_worker()
        return self

    def model_settings(self) -> dict[str, str]:
        """Model and base URL of an agent that uses the model server in the dialect of this flow."""
        if self.dialect == "openai":
            return {"model": "openai/gpt-test", "base_url": f"{self.model.base_url}/v1"}
        return {"model": MODEL, "base_url": self.model.base_url}

    def __exit__(self, *_: object) -> None:
        self.stop_worker()
        self.model.__exit__(None, None, None)

    def sandboxes(self, kind: str = "") -> SandboxManager:
        """A sandbox manager with the settings of this flow's worker."""
        return SandboxManager(
            kind=kind or self.sandbox,
            data_dir=self.folder,
            install_id=docker_backend.install_id(self.folder),
            docker=self._docker,
        )

    def start_worker(self) -> None:
        sandboxes = self.sandboxes()
        self.worker = WorkerThread(WorkerSettings(**self._worker_settings), sandboxes)
        self.worker.start()
        self.worker.wait_until_ready()

    def stop_worker(self) -> None:
        if self.worker is not None:
            self.worker.drain()
            assert not self.worker.is_alive()
            self.worker = None

    @property
    def sandbox_is_available(self) -> bool:
        """Whether the worker registry says that commands can run."""
        return Worker.objects.filter(sandbox=self.sandbox, sandbox_fault="").exists()

    # --- what people do -----------------------------------------------------------------------

    def begin(self, text: str, replies: Sequence[Scripted] = ()) -> ObservedConversation:
        """Start a chat and do not wait."""
        if replies:
            self.model.script(replies)
        sent = services.start_chat(self.world.agent, text=text, by=self.world.owner)
        return ObservedConversation(sent.conversation_id)

    def ask(
        self,
        text: str,
        replies: Sequence[Scripted] = (),
        *,
        after: ObservedConversation | None = None,
    ) -> ObservedConversation:
        """Send a message, in a new chat or ``after`` others, and wait until the conversation is idle."""
        if after is None:
            conversation = self.begin(text, replies)
        else:
            if replies:
                self.model.script(replies)
            self.send(after, text)
            conversation = after
        self.wait_until_idle(conversation)
        return conversation

    def send(self, conversation: ObservedConversation, text: str, **options: Any) -> MessageReceipt:
        return services.send(conversation.row, text=text, by=self.world.owner, **options)

    def stop(self, conversation: ObservedConversation) -> None:
        services.stop(conversation.row, by=self.world.owner)

    # --- files, as this machine sees them ---------------------------------------------------------

    def file_of(self, conversation: ObservedConversation, name: str) -> Path:
        """The path on this machine of a file in the workspace; in Docker only while the sandbox runs."""
        docker = self.sandbox == "docker"
        return runners.workspace_file(self.folder, conversation.id, name, docker=docker)

    def let_command_end(self, conversation: ObservedConversation) -> None:
        """Let a command that contains ``UNTIL_ALLOWED`` go on."""
        self.file_of(conversation, ALLOWED).touch()

    def wait_until_written(self, conversation: ObservedConversation, name: str) -> None:
        """Wait until a command has written this file. The start of its call is too early a sign."""

        def content() -> str:
            file = self.file_of(conversation, name)
            return file.read_text() if file.exists() else ""

        wait_until(
            content,
            describe=lambda: str(conversation.event_types),
        )

    # --- waiting ------------------------------------------------------------------------------

    def wait_until_idle(self, conversation: ObservedConversation, seconds: float = 60) -> str:
        """Wait until the conversation is finished, paused, failed or stopped; returns status and reason."""
        wait_until(
            lambda: Conversation.objects.filter(
                pk=conversation.id, status__in=IDLE_STATUSES
            ).exists(),
            seconds,
            lambda: f"{conversation.status}: {conversation.event_types}",
        )
        return conversation.status


def wait_until(
    true: Callable[[], Any], seconds: float = 60, describe: Callable[[], str] = lambda: ""
) -> Any:
    """Call ``true`` until its value is true, and return that value.

    On SQLite it is called when another connection has written, and now and then for facts of other kinds: to ask
    the tables again and again would take more of a core than the worker needs. Raises ``AssertionError`` with
    ``describe()`` after so many seconds.
    """
    end = time.monotonic() + seconds
    while (began := time.monotonic()) < end:
        written = _writes_seen()
        if found := true():
            return found
        # A server that is asked must also work.
        time.sleep(min(max(0.01, time.monotonic() - began), ASK_AGAIN_SECONDS))
        while written is not None and time.monotonic() < began + ASK_AGAIN_SECONDS:
            if _writes_seen() != written:
                break
            time.sleep(0.01)
    raise AssertionError(f"not within {seconds} s: {describe()}")


def _writes_seen() -> int | None:
    """A number that changes when another connection writes to the database; None if this test has not opened it."""
    opened = [each for each in connections.all(initialized_only=True) if each.connection]
    if not opened or opened[0].vendor != "sqlite":
        return None
    return opened[0].connection.execute("PRAGMA data_version").fetchone()[0]


def assert_replay_matches(conversation: ObservedConversation) -> None:
    """The stored events, applied one after another, must give what the tables and the API say."""
    replay.assert_replay_matches(conversation.id)
