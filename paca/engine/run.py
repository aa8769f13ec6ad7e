"""What one run of an agent is made of, and how it can end."""

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
    """The agent as the engine knows it: rows of the database never come here."""

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
    """One conversation being worked on. ``began`` is the turn's start on the monotonic clock."""

    profile: AgentProfile
    toolbox: Toolbox
    began: float = field(default_factory=clock.monotonic)
    seen_files: dict[str, str] = field(default_factory=dict)
    pause_asked_by: str = ""

    @property
    def seconds(self) -> float:
        """How long the turn has taken so far."""
        return clock.monotonic() - self.began


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """How a turn ended: a status with one of its reasons, and what a person should know."""

    status: str
    reason: str
    detail: str = ""
    next_step: str = ""


def outcome_of_model_error(error: ModelError, profile: AgentProfile) -> TurnOutcome:
    """What a model's last error means: wait and go on later, or something to repair."""
    if error.retryable:
        reason = "rate_limited" if isinstance(error, RateLimited) else "model_unavailable"
        return TurnOutcome("paused", reason, error.detail)
    if isinstance(error, RequestRefused | ContextExceeded):
        return TurnOutcome(
            "failed", "model_refused", error.detail, "Change the request, then try again."
        )
    return TurnOutcome("failed", "configuration", error.detail, _repair(error, profile))


def _repair(error: ModelError, profile: AgentProfile) -> str:
    if isinstance(error, NoCredit):
        return "Add credit to the account, then press Try again."
    if isinstance(error, KeyRefused):
        which = f", which ends in {profile.key_last4}," if profile.key_last4 else ""
        return f"Replace the key of {profile.name}{which} then press Try again."
    return f"Correct the model settings of {profile.name}, then press Try again."
