"""A fork goes on: with a copy of its origin's files, which person and model are told of, or without and why."""

import re
from typing import Any

import pytest

from paca.conversations import deletion, services
from paca.engine.context.platform_texts import FILES_OF_FORK, FORKED
from paca.sandbox import file_copy
from tests.support.flow import (
    BOTH_DIALECTS,
    UNTIL_ALLOWED,
    Flow,
    ObservedConversation,
    assert_replay_matches,
    wait_until,
)
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
LS = [calls(bash="ls -A"), says("These.")]


def fork(flow: Flow, origin: ObservedConversation, text: str = "", seq: int | None = None):
    """A fork of a conversation at its end, or at ``seq``."""
    made = services.fork(
        origin.row, seq=origin.row.last_seq if seq is None else seq, by=flow.world.owner, text=text
    )
    return ObservedConversation(made.pk)


def output(conversation: ObservedConversation) -> str:
    """What the last command has written, without its exit code."""
    return conversation.outputs[-1].rpartition("[exit")[0]


def last_request(flow: Flow) -> str:
    return str(flow.model.requests[-1].messages)


@BOTH_DIALECTS
def test_fork_answers_with_the_copied_history_and_the_files_of_its_origin(flow):
    origin = flow.ask(
        "Make notes", [calls(write_file={"path": "n.txt", "content": "x"}), says("Done")]
    )
    flow.model.script(LS)
    made = fork(flow, origin, "Which files are there?")
    assert flow.wait_until_idle(made) == "finished/answered"
    assert output(made) == "n.txt\n"
    before, after = flow.model.requests[1], flow.model.requests[2]
    copied = _without_marks(after.messages)[: len(before.messages)]
    assert copied == _without_marks(before.messages)
    assert FORKED.format(FILES_OF_FORK["later"]) in str(after.messages[-1])
    assert "Which files are there?" in str(after.messages[-1])
    (told,) = made.event_data("sandbox.files_copied")
    assert (told["conversation_id"], told["error"]) == (str(origin.id), "")
    assert (told["files"], told["bytes"] > 0, told["commands_since"]) == (1, True, 0)
    assert "No command ran there after the point of the fork." in last_request(flow)
    assert re.fullmatch(
        r"Copied 1 file or folder as they were at \d\d:\d\d UTC\. No command ran there after the point of the fork\.",
        told["told"],
    )
    assert flow.model.violations == []
    assert_replay_matches(made)
    # Each goes on with files of its own.
    flow.ask("Change it", [calls(bash="echo y > n.txt"), says("Done.")], after=made)
    flow.ask("Is it there?", [calls(bash="cat n.txt"), says("Yes.")], after=origin)
    assert origin.outputs[-1].startswith("x")
    assert len(made.event_data("sandbox.files_copied")) == 1
    assert_replay_matches(origin)


def test_fork_is_told_how_many_commands_of_its_origin_ran_after_its_point(flow):
    origin = flow.ask("One", [calls(bash="echo 1 > a"), says("Done.")])
    seq = origin.row.last_seq
    made = fork(flow, origin, seq=seq)
    more = [calls(bash="echo 2 > a"), calls(read_file={"path": "a"}), says("Done.")]
    flow.ask("Two", more, after=origin)
    flow.ask("What is in it?", [calls(bash="cat a"), says("2.")], after=made)
    assert output(made) == "2\n"
    (told,) = made.event_data("sandbox.files_copied")
    assert told["commands_since"] == 1  # what only reads does not count
    assert "1 command or edit ran there after the point of the fork" in last_request(flow)
    # A fork of the fork counts from its own point in either log.
    again = fork(flow, made, seq=seq)
    flow.ask("And here?", [calls(bash="cat a"), says("2.")], after=again)
    (told,) = again.event_data("sandbox.files_copied")
    assert (told["conversation_id"], told["commands_since"]) == (str(made.id), 2)


def test_fork_of_a_fork_without_copied_files_gets_those_of_the_first_conversation(flow):
    origin = flow.ask("One", [calls(bash="echo 1 > a"), says("Done.")])
    second = fork(flow, fork(flow, origin))
    flow.ask("What is there?", LS, after=second)
    assert output(second) == "a\n"
    (told,) = second.event_data("sandbox.files_copied")
    assert told["conversation_id"] == str(origin.id)


def test_fork_before_the_first_file_begins_empty(flow):
    origin = flow.ask("Write", [calls(bash="echo 1 > a"), says("Done.")])
    (asked,) = [each for each in origin.frames if each["type"] == "agent.message.received"]
    flow.model.script(LS)
    made = fork(flow, origin, "Look", seq=asked["seq"] - 1)
    assert flow.wait_until_idle(made) == "finished/answered"
    assert "a\n" not in output(made)
    assert made.event_data("conversation.forked")[0]["files"] == "none"
    assert not made.has_event("sandbox.files_copied")


def test_fork_copies_the_files_of_a_running_command_and_counts_it(flow):
    running = f"echo 1 > a; {UNTIL_ALLOWED}"
    origin = flow.begin("Wait", [calls(bash=running), says("Done.")])
    wait_until(lambda: origin.has_event("tool.started"))
    made = fork(flow, origin)
    flow.ask("What is there?", [calls(bash="cat a"), says("1.")], after=made)
    (told,) = made.event_data("sandbox.files_copied")
    assert told["commands_since"] == 1
    services.stop(origin.row, by=flow.world.owner)
    assert flow.wait_until_idle(origin) == "stopped/by_person"
    assert_replay_matches(made)


def test_fork_whose_origin_is_deleted_goes_on_without_files_and_says_so(flow):
    origin = flow.ask("Write", [calls(bash="echo 1 > a"), says("Done.")])
    made = fork(flow, origin)
    deletion.delete(origin.row, by=flow.world.owner)
    flow.ask("What is there?", LS, after=made)
    assert "a\n" not in output(made)
    (told,) = made.event_data("sandbox.files_copied")
    assert told["error"] == "the other conversation was deleted before its files were copied"
    assert told["error"] in last_request(flow)
    assert_replay_matches(made)


def test_fork_keeps_its_files_when_its_origin_is_deleted(flow):
    origin = flow.ask("Write", [calls(bash="echo 1 > a"), says("Done.")])
    made = fork(flow, origin)
    flow.ask("What is there?", LS, after=made)
    deletion.delete(origin.row, by=flow.world.owner)
    flow.ask("Still?", LS, after=made)
    assert output(made) == "a\n"


def test_fork_whose_files_are_deleted_meanwhile_says_so(flow):
    origin = flow.ask("Write", [calls(bash="echo 1 > a"), says("Done.")])
    made = fork(flow, origin)
    deletion.delete_files(origin.row, by=flow.world.owner)
    flow.ask("What is there?", LS, after=made)
    (told,) = made.event_data("sandbox.files_copied")
    assert (
        told["error"] == "the files of the other conversation were deleted before they were copied"
    )
    assert fork(flow, origin).event_data("conversation.forked")[0]["files"] == "deleted"


def test_fork_goes_on_without_files_when_the_copy_fails(flow, monkeypatch):
    monkeypatch.setattr(file_copy, "MIN_FREE_MIB", 1 << 40)
    origin = flow.ask("Write", [calls(bash="echo 1 > a"), says("Done.")])
    made = fork(flow, origin)
    flow.ask("What is there?", LS, after=made)
    (told,) = made.event_data("sandbox.files_copied")
    assert "disk is nearly full" in told["error"]
    assert "fork the other conversation again" in told["error"]
    assert told["error"] in last_request(flow)
    assert "a\n" not in output(made)


def _without_marks(found: Any) -> Any:
    """The messages without their cache marks, which move with the end of the history."""
    if isinstance(found, list):
        return [_without_marks(each) for each in found]
    if isinstance(found, dict):
        return {
            name: _without_marks(each) for name, each in found.items() if name != "cache_control"
        }
    return found
