"""Watches the background commands of a conversation while a turn of it runs, beside the engine."""

from __future__ import annotations

import asyncio
import logging

from django.db import Error as DatabaseError

from paca.common.errors import PacaError
from paca.conversations import store
from paca.worker import background_looks
from paca.worker.background_looks import LiveProgress
from paca.worker.database import Database
from paca.worker.run_log import RunLog
from paca.worker.sandboxes.run_sandbox import RunSandbox

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0


class BackgroundMonitor:
    """Stores the ends of background commands, so that the next model call reads them, and shows their output.

    It writes under the lease of the run, with transactions of its own: what the engine has added and not committed
    stays for the transaction that it belongs to. If the process dies before an end is stored, the runner still has
    the outcome, and the next worker reads it there.
    """

    def __init__(self, log: RunLog, sandbox: RunSandbox, database: Database) -> None:
        self._log = log
        self._sandbox = sandbox
        self._database = database
        self._ended: set[str] = set()
        self._progress = LiveProgress()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to watch."""
        self._task = asyncio.create_task(self._watch())

    async def close(self) -> None:
        """Stop watching."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _watch(self) -> None:
        while True:
            try:
                await self.look()
            except store.Fenced:
                return  # the next write of the engine shows it
            except DatabaseError:  # perhaps for a moment only, and the engine may not notice it
                logger.warning("background commands not seen: the database does not answer")
            except PacaError as error:  # the sandbox cannot be reached now
                logger.info("background commands not seen", extra={"reason": error.detail})
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Look once. Raises what the sandbox and the store raise."""
        running = self._log.progress.background.running
        commands = [each for each in running if each.call_id not in self._ended]
        if not commands:
            return
        conversation_id = self._log.lease.conversation_id
        stops = await self._database.call(background_looks.read_stops, conversation_id)
        workspace = await self._sandbox.attach_if_running()
        if workspace is None:
            return  # if it has ended, the store has ended its commands with it
        found = (await background_looks.look(workspace, commands, stops)).masked(self._log.mask)
        if found.ended:
            await self._database.call(
                store.append, conversation_id, *found.ended, lease=self._log.lease
            )
            self._ended |= {each.call_id for each in found.ended}
        if news := self._progress.news(found.running):
            await self._database.call(background_looks.show, conversation_id, news)
