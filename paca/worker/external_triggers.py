"""What a worker does with what other programs ask for on the bus: rows, or a reason why not."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from django.db import InterfaceError, OperationalError

from paca.bus.base import Fate, Verdict
from paca.common import disk_space
from paca.common.errors import PacaError
from paca.conversations import external_triggers
from paca.worker.database import Database

logger = logging.getLogger(__name__)


class Intake:
    """Satisfies ``bus.base.Intake``, in the worker's own database threads."""

    def __init__(self, database: Database, room: Callable[[], int]) -> None:
        """``room`` is asked from another thread."""
        self.room = room
        self._database = database

    def take_in(self, entry_id: str, fields: Mapping[str, str]) -> Verdict:
        """One transaction. A database that is away or a full disk is no fault of the entry."""
        try:
            done = self._database.submit(external_triggers.carry_out, entry_id, fields)
        except RuntimeError:
            return Verdict(Fate.LATER, "this worker has ended")
        error = done.exception()
        match error:
            case None:
                return Verdict(Fate.TAKEN)
            case OperationalError() | InterfaceError() | disk_space.DiskFull():
                logger.warning("a trigger waits for the database", extra={"entry": entry_id})
                return Verdict(Fate.LATER, "the database is away, or without room")
            case external_triggers.TriggerTooEarly():
                return Verdict(Fate.FAILED, error.detail)
            case PacaError():
                return Verdict(Fate.REFUSED, error.detail)
        logger.error("a trigger could not be taken in", exc_info=error, extra={"entry": entry_id})
        return Verdict(Fate.FAILED, f"{type(error).__name__}, see the worker's log")
