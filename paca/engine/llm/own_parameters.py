"""Those of an agent's parameters that Paca keeps to itself: time limits, the size of the window, and other models."""

from dataclasses import replace
from typing import Any

from paca.engine.llm.http_pool import TimeLimits

TIMES = ("first_token_seconds", "silence_seconds", "total_seconds")
CONTEXT_WINDOW = "context_window"
COMPACTION_MODEL = "compaction_model"
TITLE_MODEL = "title_model"
HELPER_MODEL = "helper_model"
NAMES = (*TIMES, CONTEXT_WINDOW, COMPACTION_MODEL, TITLE_MODEL, HELPER_MODEL)


def without(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are sent to the model."""
    return {name: value for name, value in parameters.items() if name not in NAMES}


def without_window(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters for another model than the one whose window they name."""
    return {name: value for name, value in parameters.items() if name != CONTEXT_WINDOW}


def time_limits(parameters: dict[str, Any], default: TimeLimits) -> TimeLimits:
    """The time limits with those that the agent sets."""
    first, gap, total = (parameters.get(name) for name in TIMES)
    found = replace(
        default,
        first_token=float(first or default.first_token),
        gap=float(gap or default.gap),
        total=float(total or default.total),
    )
    # An answer may take at least as long as its beginning.
    return replace(found, total=max(found.total, found.first_token))
