"""Traces the model calls of a run: recorded as they are made, and stored beside them."""

from __future__ import annotations

import asyncio
import logging
from uuid import UUID

from paca.common.best_effort import failures, tolerated
from paca.conversations import known_secrets
from paca.conversations.traces import contents, store
from paca.conversations.traces.store import EndedCall, KnownBody
from paca.engine.llm import call_recording
from paca.engine.llm.call_recording import CallRecording
from paca.engine.llm.retrying import Attempt
from paca.events import UsageRecorded
from paca.worker.database import Database

logger = logging.getLogger(__name__)

# Traces that wait for a slow database. Beyond these a trace is dropped, and the run goes on.
MAX_WAITING = 8
CLOSE_SECONDS = 5.0


class RunTraces:
    """Implements ``engine.call_traces.CallTraces`` for one run.

    The trace of a call is stored in a task of its own: it neither delays the run nor fails it. A worker that
    dies loses the trace of the open call, and of one that ended a moment before.
    """

    def __init__(self, conversation_id: UUID, agent_id: UUID, database: Database) -> None:
        self._conversation_id, self._agent_id = conversation_id, agent_id
        self._database = database
        self._open: dict[str, CallRecording] = {}
        self._known = KnownBody()
        self._lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self.turn = 0

    def begin(self, call_id: str) -> None:
        """Record what this attempt sends and gets in the running task."""
        with tolerated("trace"):
            self._open[call_id] = call_recording.begin()

    def end(self, usage: UsageRecorded, attempt: Attempt) -> None:
        """Store the trace of the attempt in the background."""
        with tolerated("trace"):
            recording = self._open.pop(usage.call_id, None)
            call_recording.end()
            if recording is None:
                return
            # guard: slow-database-drops-traces
            if len(self._tasks) >= MAX_WAITING:
                failures["trace"] += 1
                logger.warning("trace dropped: the database is slow", extra={"call": usage.call_id})
                return
            ended = EndedCall(usage, self.turn, attempt, recording)
            task = asyncio.create_task(self._store(ended))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Wait a moment for what is being stored, and drop the rest."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()

    async def _store(self, call: EndedCall) -> None:
        async with (
            self._lock
        ):  # in their order: each is stored as what is new against the one before
            with tolerated("trace", call=call.usage.call_id):
                self._known = await self._database.call(
                    _store, self._conversation_id, self._agent_id, call, self._known
                )


def _store(conversation_id: UUID, agent_id: UUID, call: EndedCall, known: KnownBody) -> KnownBody:
    """Runs in a database thread: a long request takes milliseconds to mask and to compress."""
    made = contents.make(call.recording, call.attempt, known_secrets.of_agent(agent_id))
    return store.store(conversation_id, call, made, known)
