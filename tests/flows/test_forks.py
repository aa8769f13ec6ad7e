"""A fork goes on: what the model is told of the copy, and of the files that are not in it."""

from typing import Any

import pytest

from paca.conversations import services
from paca.engine.context.platform_texts import FORKED
from tests.support.flow import BOTH_DIALECTS, ObservedConversation, assert_replay_matches
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@BOTH_DIALECTS
def test_fork_answers_with_the_copied_history_and_an_empty_sandbox(flow):
    origin = flow.ask(
        "Make notes", [calls(write_file={"path": "n.txt", "content": "x"}), says("Done")]
    )
    (finished,) = [row for row in origin.frames if row["type"] == "agent.turn.finished"]
    flow.model.script([calls(bash="ls"), says("None.")])
    made = services.fork(
        origin.row, seq=finished["seq"], by=flow.world.owner, text="Which files are there?"
    )
    fork = ObservedConversation(made.pk)
    assert flow.wait_until_idle(fork) == "finished/answered"
    assert "n.txt" not in fork.outputs[-1]
    before, after = flow.model.requests[1], flow.model.requests[2]
    copied = _without_marks(after.messages)[: len(before.messages)]
    assert copied == _without_marks(before.messages)
    assert FORKED in str(after.messages[-1])
    assert "Which files are there?" in str(after.messages[-1])
    assert flow.model.violations == []
    assert_replay_matches(fork)
    assert_replay_matches(origin)
    flow.ask("Is it there?", [calls(bash="cat n.txt"), says("Yes.")], after=origin)
    assert origin.outputs[-1].startswith("x")


def _without_marks(found: Any) -> Any:
    """The messages without their cache marks, which move with the end of the history."""
    if isinstance(found, list):
        return [_without_marks(each) for each in found]
    if isinstance(found, dict):
        return {
            name: _without_marks(each) for name, each in found.items() if name != "cache_control"
        }
    return found
