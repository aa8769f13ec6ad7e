"""Stores the triggers that other programs put on the bus, and tells the bus what became of each."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from django.db import InterfaceError, OperationalError

from paca.bus.base import EntryResult, EntryStatus
from paca.common import disk_space
from paca.common.errors import PacaError
from paca.conversations import external_triggers
from paca.worker.database import Database

logger = logging.getLogger(__name__)


class ExternalTriggerHandler:
    """Satisfies ``bus.base.TriggerHandler``. Writes in the database threads of the worker."""

    def __init__(self, database: Database, capacity: Callable[[], int]) -> None:
        """``capacity`` gives the number of conversations to take now; another thread calls it."""
        self.capacity = capacity
        self._database = database

    def handle(self, entry_id: str, fields: Mapping[str, str]) -> EntryResult:
        """Store one entry in one transaction.

        The entry stays on the stream if the database cannot be reached or the disk is full.
        """
        try:
            done = self._database.submit(external_triggers.handle_entry, entry_id, fields)
        except RuntimeError:
            return EntryResult(EntryStatus.RETRY_LATER, "this worker has ended")
        error = done.exception()
        match error:
            case None:
                return EntryResult(EntryStatus.ACCEPTED)
            case OperationalError() | InterfaceError() | disk_space.DiskFull():
                logger.warning("trigger waits for the database", extra={"entry": entry_id})
                return EntryResult(
                    EntryStatus.RETRY_LATER, "the database cannot be reached, or its disk is full"
                )
            case external_triggers.TriggerTooEarly():
                return EntryResult(EntryStatus.FAILED, error.detail)
            case PacaError():
                return EntryResult(EntryStatus.REJECTED, error.detail)
        logger.error("trigger could not be stored", exc_info=error, extra={"entry": entry_id})
        return EntryResult(EntryStatus.FAILED, f"{type(error).__name__}, see the worker's log")
