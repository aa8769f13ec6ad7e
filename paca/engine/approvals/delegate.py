"""The tool by which an agent gives pieces of work to helpers, and waits for them."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from paca.engine.approvals.decisions import Decision
from paca.engine.approvals.person_tools import ConversationTool, Settlement
from paca.engine.approvals.plans import PlanState
from paca.engine.helpers.requests import (
    CALLS_A_TURN,
    DEFAULT_HELPERS,
    MAX_HELPERS,
    HelpersRequested,
    Piece,
)
from paca.engine.helpers.state import CallHelpers, HelperResult, HelperState
from paca.engine.tools.base import ToolArguments, ToolOutput
from paca.engine.tools.formatting import pluralize, to_one_line

DELEGATE = "delegate"
_ENDS = {
    "finished": "done",
    "stopped": "stopped before it was done",
    "failed": "failed",
    "paused": "stopped at a limit before it was done",
}


class Delegate(ConversationTool["Delegate.Arguments"]):
    """Give independent pieces of work to helpers, which work in parallel in the same workspace; wait for their reports.

    explore, plan and research only read. Helpers know nothing of this conversation. Not for what one call does.
    """

    name = DELEGATE

    class Arguments(ToolArguments):
        helpers: list[Piece] = Field(min_length=1, max_length=MAX_HELPERS)

    def __init__(self, most: int = DEFAULT_HELPERS) -> None:
        """``most``: how many helpers one call may have."""
        self.most = most

    def subject(self, arguments: Arguments) -> str:
        return "; ".join(f"{each.kind}: {to_one_line(each.task)}" for each in arguments.helpers)[
            :300
        ]

    def settle(
        self, call_id: str, arguments: Arguments, decision: Decision | None, plan: PlanState
    ) -> Settlement:
        return self.settle_among(call_id, arguments, HelperState())

    def settle_among(self, call_id: str, arguments: Arguments, helpers: HelperState) -> Settlement:
        """What becomes of the call: its helpers are started or waited for, or their reports are its result."""
        pieces = arguments.helpers
        known = helpers.of(call_id)
        if known is None and (refusal := self._refusal(len(pieces), helpers)):
            return Settlement(ToolOutput(refusal, failed=True, cause="refused"))
        if known is None or not known.is_done:
            return Settlement(request=HelpersRequested(call_id, tuple(pieces)))
        return Settlement(_reports(pieces, known))

    def _refusal(self, count: int, helpers: HelperState) -> str:
        # guard: helpers-of-a-call-are-capped
        if count > self.most:
            most = pluralize(self.most, "helper")
            return f"Nothing was started: one call has at most {most}. Put pieces together."
        # guard: helpers-of-a-turn-are-capped
        if helpers.of_turn + count > self.most * CALLS_A_TURN:
            most = pluralize(self.most * CALLS_A_TURN, "helper")
            return f"Nothing was started: one turn has at most {most}. Do the rest yourself."
        return ""


def _reports(pieces: Sequence[Piece], known: CallHelpers) -> ToolOutput:
    """The reports in the order of the pieces, each under its task."""
    by_index = {result.index: result for result in known.results}
    parts = [_report(index, piece, by_index.get(index)) for index, piece in enumerate(pieces)]
    done = any(result.status == "finished" for result in known.results)
    return ToolOutput("\n\n".join(parts), failed=not done, cause="" if done else "failed")


def _report(index: int, piece: Piece, result: HelperResult | None) -> str:
    head = f"## Helper {index + 1} ({piece.kind}): {to_one_line(piece.task)[:120]}"
    if result is None:
        return f"{head}\nNot started."
    end = _ENDS.get(result.status, result.status)
    why = f" ({result.reason})" if result.status != "finished" and result.reason else ""
    return f"{head}\n[{end}{why}]\n{result.summary or 'It said nothing.'}"
