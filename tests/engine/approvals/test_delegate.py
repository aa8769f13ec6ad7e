"""The tool for helpers, and the fold that tells what its calls wait for."""

from paca import events
from paca.agents.toolbox import make_toolbox
from paca.engine.approvals.decisions import Decisions
from paca.engine.approvals.delegate import Delegate
from paca.engine.approvals.policy import judge
from paca.engine.helpers.kinds import HelperKind, reads_only
from paca.engine.helpers.state import HelperState
from paca.engine.limits import TurnProgress
from paca.engine.tools.base import ParsedCall

PIECES = [{"kind": "code", "task": "Write it"}, {"kind": "explore", "task": "Look"}]


def call(most: int = 4, pieces=PIECES) -> ParsedCall:
    return ParsedCall(Delegate(most), Delegate.Arguments(helpers=pieces))


def judged(parsed: ParsedCall, helpers: HelperState):
    return judge(
        "c1", parsed, policy="all", decisions=Decisions(), toolbox=make_toolbox(), helpers=helpers
    )


def started(*indexes: int, call_id: str = "c1") -> HelperState:
    state = HelperState()
    for index in indexes:
        state = state.advance(
            events.SubagentStarted(
                call_id=call_id, subagent_id=str(index), index=index, kind="code", task="t"
            )
        )
    return state


def ended(
    index: int, status: str = "finished", summary: str = "Report."
) -> events.SubagentFinished:
    return events.SubagentFinished(
        call_id="c1",
        subagent_id=str(index),
        index=index,
        kind="code",
        status=status,
        summary=summary,
    )


def test_call_asks_for_its_helpers_without_approval():
    request = judged(call(), HelperState()).request
    assert [piece.kind for piece in request.pieces] == ["code", "explore"]


def test_call_waits_until_each_helper_has_ended_and_reports_in_the_order_of_the_pieces():
    state = started(0, 1).advance(ended(1, summary="Second.")).advance(ended(1, summary="Again."))
    assert judged(call(), state).request is not None
    output = judged(call(), state.advance(ended(0, summary="First."))).settled.output
    assert not output.failed
    assert output.output.index("First.") < output.output.index("Second.")
    assert "Again." not in output.output


def test_call_fails_if_no_helper_is_done():
    state = started(0, 1).advance(ended(0, "stopped")).advance(ended(1, "failed"))
    output = judged(call(), state).settled.output
    assert output.failed
    assert "stopped before it was done" in output.output


def test_helpers_of_a_call_and_of_a_turn_are_capped():
    assert "at most 1 helper" in judged(call(1), HelperState()).settled.output.output
    state = HelperState(of_turn=5)
    assert "one turn has at most 6 helpers" in judged(call(2), state).settled.output.output
    assert judged(call(2), state.advance(events.TurnStarted(number=2, triggers=[]))).request


def test_all_kinds_but_two_read_only_and_so_does_an_unknown_one():
    assert [kind for kind in HelperKind if not reads_only(kind)] == ["general", "code"]
    assert reads_only("later")


def test_helper_has_no_tool_for_helpers_and_none_that_asks_people():
    assert make_toolbox(helpers=2).has("delegate")
    assert not make_toolbox(helpers=0).has("delegate")
    for name in ("delegate", "ask_person", "propose_plan", "update_plan"):
        assert not make_toolbox(is_helper=True).has(name)


def test_usage_of_helpers_counts_for_the_budget_of_the_conversation():
    used = {"tokens": 700, "cost_usd": 0.25, "unpriced_calls": 0}
    event = events.SubagentFinished(
        call_id="c1", subagent_id="0", index=0, kind="code", status="finished", usage=used
    )
    progress = TurnProgress().advance(event)
    assert (progress.tokens, progress.cost_usd) == (700, 0.25)
    assert (progress.of_turn.tokens, progress.of_turn.cost_usd) == (700, 0.25)
