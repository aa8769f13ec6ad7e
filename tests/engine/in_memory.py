"""The parts of the engine's surroundings in memory: the event log in a list, and a fake sandbox."""

from __future__ import annotations

import asyncio

from paca import events
from paca.common.secret_removal import SecretMask
from paca.engine.context.history import History, advance
from paca.engine.limits import TurnProgress
from paca.engine.turn import LogEntry, ModelCallStarted
from paca.engine.workspace import WorkspaceError
from paca.events import Event
from tests.support.fake_sandbox_workspace import FakeSandboxWorkspace


class ListLog:
    """An ``EventLog`` in a list. ``entries`` also holds the starts of model calls."""

    def __init__(self) -> None:
        self.entries: list[LogEntry] = []
        self.events: list[Event] = []
        self.live: list[Event] = []
        self.mask = SecretMask()
        self.history = History()
        self.progress = TurnProgress()
        self.inbox: list[events.MessageReceived] = []
        self._added: list[LogEntry] = []

    def add(self, *entries: LogEntry) -> None:
        self._added.extend(entries)

    async def commit(self, *entries: LogEntry) -> History:
        self.add(*entries)
        if self._added:
            if any(isinstance(entry, ModelCallStarted) for entry in self._added):
                self.inbox.clear()  # the running turn answers what this model call reads
            self.append(*self.take_added())
            self.catch_up()
        history = self.history
        await asyncio.sleep(0)  # others run here, as during a transaction
        return history

    def show_live(self, event: Event) -> None:
        self.live.append(event)

    def take_added(self) -> list[LogEntry]:
        added, self._added = self._added, []
        return added

    def append(self, *entries: LogEntry) -> None:
        """Store the entries, as any writer does."""
        for entry in entries:
            self.entries.append(entry)
            if isinstance(entry, Event):
                self.events.append(entry)
            if isinstance(entry, events.MessageReceived):
                self.inbox.append(entry)

    def catch_up(self) -> None:
        """Learn the events that others have stored since the last commit."""
        for seq, event in enumerate(self.events[self.history.seq :], self.history.seq + 1):
            self.history = advance(self.history, event, seq)
            self.progress = self.progress.advance(event, seq)


class FakeSandbox:
    """A ``ConversationSandbox``. ``fault`` is the error of its start."""

    def __init__(self, workspace: FakeSandboxWorkspace) -> None:
        self.current = workspace
        self.is_attached = False
        self.fault: WorkspaceError | None = None
        self.exit_sentences: dict[str, str] = {}

    def may_be_running(self, boot_id: str) -> bool:
        return boot_id == self.current.boot_id

    async def exit_sentence(self, boot_id: str) -> str:
        return self.exit_sentences.get(boot_id, "")

    async def workspace(self) -> FakeSandboxWorkspace:
        await asyncio.sleep(0)
        if self.fault is not None:
            raise self.fault
        self.is_attached = True
        return self.current

    def restart(self, *, boot_id: str, cause: str) -> None:
        """The runner ends. It starts again with the same files and knows no commands."""
        self.exit_sentences[self.current.boot_id] = cause
        files: dict[str, bytes | str] = {**self.current.files}
        self.current = FakeSandboxWorkspace(files, boot_id=boot_id)
