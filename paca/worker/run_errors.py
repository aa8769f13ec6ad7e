"""The outcomes of turns whose run failed, which people can read."""

from __future__ import annotations

import logging

from paca.common.errors import PacaError
from paca.conversations.models.statuses import IllegalStatusMove
from paca.engine.turn import TurnOutcome
from paca.engine.workspace import SandboxBroken

logger = logging.getLogger(__name__)

INTERNAL = TurnOutcome(
    "failed",
    "internal",
    "This server failed while it worked on the conversation. Everything up to here is kept.",
    "Press Continue. If it fails again, look into the server's log.",
)


def outcome_of(error: SandboxBroken | PacaError) -> TurnOutcome:
    """The outcome of a turn whose run failed with this error. It is logged."""
    if isinstance(error, IllegalStatusMove):  # a fault of this server: no person can correct it
        logger.error("run failed at an illegal status move", exc_info=error)
        return INTERNAL
    if isinstance(error, SandboxBroken):
        logger.warning("sandbox does not start")
        return TurnOutcome("failed", "sandbox_error", error.detail, "Repair it, then try again.")
    logger.warning("run failed")
    return TurnOutcome("failed", "configuration", error.detail, "Correct it, then try again.")
