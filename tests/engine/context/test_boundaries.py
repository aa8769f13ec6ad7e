"""What may be left out or replaced: never the newest step, never a call without its results."""

from paca.engine.context import replacing, trimming
from paca.engine.llm.base import Message, Text, ToolResult, ToolUse

LONG = "x" * 20_000


def step(*call_ids: str) -> tuple[Message, Message]:
    """A reply with these calls, and their long results."""
    calls = tuple(ToolUse(each, "bash", {"command": "ls"}) for each in call_ids)
    results = tuple(ToolResult(each, LONG, False, "bash") for each in call_ids)
    return Message("assistant", calls), Message("user", results)


def test_all_results_of_the_newest_step_stay_also_if_fewer_are_to_be_kept():
    asked = Message("user", (Text("Go"),))
    assert trimming.results_to_leave_out((asked, *step("a", "b")), window=100, keep=1) == 0
    assert trimming.results_to_leave_out((asked, *step("c"), *step("a", "b")), window=100) == 1


def test_summary_that_would_part_a_call_from_its_result_replaces_less():
    closed = (Message("user", (Text("Go"),)), *step("a"), Message("assistant", (Text("Done."),)))
    assert replacing.count_of(closed, (1, 2, 3, 4), 2) == 1
    assert replacing.count_of(closed, (1, 2, 3, 4), 3) == 3
