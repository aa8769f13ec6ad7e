"""A person deletes the files of a conversation: the files go, the messages stay."""

import asyncio
from collections.abc import Iterator

import pytest

from paca.conversations import deletion
from paca.conversations.models import Conversation, Sandbox
from paca.conversations.services import messages
from tests.flows.test_sweeper import set_last_use, sweep
from tests.support import docker_backend
from tests.support.flow import (
    UNTIL_ALLOWED,
    Flow,
    ObservedConversation,
    assert_replay_matches,
    wait_until,
)
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def flow(request, transactional_db, tmp_path) -> Iterator[Flow]:
    if request.param == "docker":
        docker_backend.skip_without()
    with Flow(tmp_path, sandbox=request.param) as flow:
        yield flow
        flow.stop_worker()
        for conversation in Conversation.objects.values_list("pk", flat=True):
            asyncio.run(flow.sandboxes().remove(conversation))


def write_files(flow: Flow) -> ObservedConversation:
    conversation = flow.ask("Write", [calls(bash="echo x > note.txt; sleep 1234 &"), says("Done.")])
    set_last_use(flow, conversation, 0)
    return conversation


def delete_files(flow: Flow, conversation: ObservedConversation) -> None:
    deletion.delete_files(conversation.row, by=flow.world.owner)


LOOK = [calls(bash="ls -A; pgrep sleep; true"), says("Empty.")]


def test_sweep_deletes_the_files_and_records_it(flow, monkeypatch):
    # A sandbox that was just attached to is kept.
    monkeypatch.setattr("paca.sandbox.docker.backend.CLOCK_MARGIN_SECONDS", 0)
    conversation, other = write_files(flow), write_files(flow)
    flow.stop_worker()  # it would sweep too
    delete_files(flow, conversation)
    result = sweep(flow.sandboxes())
    flow.start_worker()
    assert (result.ended, result.workspaces) == (1, 1)
    assert conversation.event_data("sandbox.removed") == [{"kept": False}]
    assert not Sandbox.objects.filter(conversation=conversation.id).exists()
    flow.ask("Look", LOOK, after=conversation)
    assert conversation.outputs[1].startswith("(no output)")
    flow.ask("Look", LOOK, after=other)
    assert "note.txt" in other.outputs[1]
    assert conversation.answers == ["Done.", "Empty."]
    assert_replay_matches(conversation)


def test_message_before_the_sweep_finds_an_empty_workspace(flow):
    """Without a sweep in between, the turn deletes the old files before its first command."""
    conversation = write_files(flow)
    delete_files(flow, conversation)
    flow.ask("Look", LOOK, after=conversation)
    assert conversation.outputs[1].startswith("(no output)")
    assert {"kept": False} in conversation.event_data("sandbox.removed")
    assert len(conversation.event_data("sandbox.started")) == 2
    assert_replay_matches(conversation)


def test_deleting_files_is_refused_while_commands_run(flow):
    conversation = flow.begin(
        "Go", [calls(bash=f"echo x > note.txt; {UNTIL_ALLOWED}; cat note.txt"), says("x")]
    )
    wait_until(lambda: conversation.has_event("tool.started"))
    with pytest.raises(messages.ConversationRunning):
        delete_files(flow, conversation)
    backend = flow.sandbox
    wait_until(lambda: Sandbox.objects.filter(conversation=conversation.id).exists())
    assert asyncio.run(flow.sandboxes().remove_files(conversation.id, backend)) is False
    flow.let_command_end(conversation)
    flow.wait_until_idle(conversation)
    assert conversation.outputs[0].startswith("x")
