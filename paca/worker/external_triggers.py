"""What a worker does with what other programs ask for on the bus: rows, or a reason why not."""

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
    """Satisfies ``bus.base.TriggerHandler``, in the worker's own database threads."""

    def __init__(self, database: Database, capacity: Callable[[], int]) -> None:
        """``capacity`` is asked from another thread."""
        self.capacity = capacity
        self._database = database

    def handle(self, entry_id: str, fields: Mapping[str, str]) -> EntryResult:
        """One transaction. A database that is away or a full disk is no fault of the entry."""
        try:
            done = self._database.submit(external_triggers.carry_out, entry_id, fields)
        except RuntimeError:
            return EntryResult(EntryStatus.RETRY_LATER, "this worker has ended")
        error = done.exception()
        match error:
            case None:
                return EntryResult(EntryStatus.ACCEPTED)
            case OperationalError() | InterfaceError() | disk_space.DiskFull():
                logger.warning("a trigger waits for the database", extra={"entry": entry_id})
                return EntryResult(EntryStatus.RETRY_LATER, "the database is away, or without room")
            case external_triggers.TriggerTooEarly():
                return EntryResult(EntryStatus.FAILED, error.detail)
            case PacaError():
                return EntryResult(EntryStatus.REJECTED, error.detail)
        logger.error("a trigger could not be taken in", exc_info=error, extra={"entry": entry_id})
        return EntryResult(EntryStatus.FAILED, f"{type(error).__name__}, see the worker's log")
