"""Lets a turn wait for a person or for its helpers, without a worker."""

from __future__ import annotations

import logging
from contextlib import suppress

from paca.engine import helper_allowance
from paca.engine.approvals.person_tools import PersonRequested, reason_of
from paca.engine.helpers.requests import HelpersRequested
from paca.engine.turn import ActiveTurn, TurnOutcome
from paca.engine.workspace import WorkspaceError
from paca.worker import helper_wait, person_wait
from paca.worker.database import Database
from paca.worker.run_log import RunLog
from paca.worker.sandboxes.run_sandbox import RunSandbox

logger = logging.getLogger(__name__)

# What a pause makes of a turn that was about to wait for its helpers.
PAUSED = TurnOutcome("paused", "by_person", next_step="Write a message or press Continue.")


async def begin(
    request: PersonRequested | HelpersRequested,
    active: ActiveTurn,
    log: RunLog,
    sandbox: RunSandbox,
    *,
    database: Database,
) -> str | None:
    """Store the wait, and give up the lease.

    Gives None; or the name of the person who paused the turn, if that came before its helpers were waited for.
    Raises ``Fenced``, ``IllegalStatusMove`` or a database error.
    """
    paused_by = None
    if isinstance(request, HelpersRequested):
        if log.history.copies_files:
            with suppress(WorkspaceError):  # the helpers find the files of the fork, or none
                await sandbox.workspace()
        await log.commit()  # the reply that starts them has used a part of the budget
        left = helper_allowance.left_for_helpers(active.profile.limits, log.progress)
        paused_by = await database.call(
            helper_wait.begin, log.lease, log.take_pending(), request, allowance=left
        )
    else:
        await database.call(person_wait.begin, log.lease, log.take_pending(), request)
    fields = {"waits_for": reason_of(request), "paused": paused_by is not None}
    logger.info("turn waits", extra={"call": request.call_id, **fields})
    return paused_by
