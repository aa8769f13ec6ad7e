"""What a call of ``delegate`` asks for: pieces of work, each for one helper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from paca.engine.tools.base import ToolArguments, refuse_nul
from paca.engine.tools.formatting import pluralize

MAX_HELPERS = 8  # that an agent may be allowed in one call
DEFAULT_HELPERS = 4
CALLS_A_TURN = 3  # a turn may start so many times the helpers of one call
MAX_TASK = 8_000  # characters
MAX_REPORTS = 24_000  # characters of the reports of one call together
REASON = "helpers"  # of the status waiting


class Piece(ToolArguments):
    """One piece of work."""

    kind: Literal["general", "explore", "plan", "code", "research"]
    task: Annotated[
        str,
        StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_TASK),
        AfterValidator(refuse_nul),
    ] = Field(description="All that the helper must know.")


@dataclass(frozen=True, slots=True)
class HelpersRequested:
    """The pieces of work of one call, each for a helper of its kind. The turn waits until all of them have ended."""

    call_id: str
    pieces: tuple[Piece, ...]

    @property
    def subject(self) -> str:
        """What the turn waits for, in a few words."""
        return pluralize(len(self.pieces), "helper")


def longest_report(count: int) -> int:
    """How many characters the report of each of ``count`` helpers may have."""
    return MAX_REPORTS // max(1, count)
