"""The state of one run of an agent, and the outcomes that end a turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from paca.common import clock
from paca.engine.limits import TurnLimits
from paca.engine.llm.base import (
    ContextExceeded,
    KeyRefused,
    ModelError,
    NoCredit,
    RateLimited,
    RequestRefused,
)
from paca.engine.tools.registry import Toolbox


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """The settings of the agent that the engine needs. The engine never sees database rows."""

    name: str
    model: str
    system: str
    limits: TurnLimits
    key_last4: str = ""
    base_url: str = ""
    demo: bool = False
    text_tool_calls: bool = False
    max_tokens: int = 8192
    parameters: dict[str, Any] = field(default_factory=dict)
    retries: int = 3
    command_timeout_seconds: float = 60
    sandbox_memory_mib: int = 0
    sandbox_workspace_mib: int = 0


@dataclass(slots=True)
class Run:
    """One turn of a conversation that a worker runs.

    ``started_at`` is the start of the turn on the monotonic clock. ``pause_asked_by`` is the name
    of the person who asked for a pause, else empty.
    """

    profile: AgentProfile
    toolbox: Toolbox
    started_at: float = field(default_factory=clock.monotonic)
    seen_files: dict[str, str] = field(default_factory=dict)
    pause_asked_by: str = ""

    @property
    def seconds(self) -> float:
        """The seconds since the turn started."""
        return clock.monotonic() - self.started_at


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """The status and reason that end a turn, with the texts that people read about it."""

    status: str
    reason: str
    detail: str = ""
    next_step: str = ""


def outcome_of_model_error(error: ModelError, profile: AgentProfile) -> TurnOutcome:
    """The outcome after the last ``ModelError``: paused if time may help, else failed."""
    if error.retryable:
        reason = "rate_limited" if isinstance(error, RateLimited) else "model_unavailable"
        return TurnOutcome("paused", reason, error.detail)
    if isinstance(error, RequestRefused | ContextExceeded):
        return TurnOutcome(
            "failed", "model_refused", error.detail, "Change the request, then try again."
        )
    return TurnOutcome("failed", "configuration", error.detail, _repair(error, profile))


def _repair(error: ModelError, profile: AgentProfile) -> str:
    """The step by which a person repairs the agent's settings."""
    if isinstance(error, NoCredit):
        return "Add credit to the account, then press Try again."
    if isinstance(error, KeyRefused):
        which = f", which ends in {profile.key_last4}," if profile.key_last4 else ""
        return f"Replace the key of {profile.name}{which} then press Try again."
    return f"Correct the model settings of {profile.name}, then press Try again."
