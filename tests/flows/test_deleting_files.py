"""A person has the files of a conversation removed: they go, what was said stays."""

import asyncio
from collections.abc import Iterator

import pytest

from paca.conversations import deletion
from paca.conversations.models import Conversation, Sandbox
from tests.flows.test_sweeper import swept, unused_for
from tests.support import docker_backend
from tests.support.flow import Flow, ObservedConversation, assert_replay_matches, wait_until
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


@pytest.fixture(params=["bubblewrap", pytest.param("docker", marks=pytest.mark.docker)])
def world(request, transactional_db, tmp_path) -> Iterator[Flow]:
    if request.param == "docker":
        docker_backend.skip_without()
    with Flow(tmp_path, sandbox=request.param) as flow:
        yield flow
        flow.stop_worker()
        for conversation in Conversation.objects.values_list("pk", flat=True):
            asyncio.run(flow.sandboxes().delete(conversation))


def written(flow: Flow) -> ObservedConversation:
    conversation = flow.ask("Write", [calls(bash="echo x > note.txt; sleep 1234 &"), says("Done.")])
    unused_for(flow, conversation, 0)
    return conversation


def free(flow: Flow, conversation: ObservedConversation) -> None:
    deletion.delete_files(conversation.row, by=flow.world.owner)


LOOK = [calls(bash="ls -A; pgrep sleep; true"), says("Empty.")]


def test_sweep_deletes_the_files_and_records_it(world, monkeypatch):
    monkeypatch.setattr(
        "paca.sandbox.docker.backend.CLOCK_MARGIN_SECONDS", 0
    )  # it was just attached to
    conversation, other = written(world), written(world)
    world.stop_worker()  # it sweeps as well
    free(world, conversation)
    reaped = swept(world.sandboxes())
    world.start_worker()
    assert (reaped.ended, reaped.workspaces) == (1, 1)
    assert conversation.event_data("sandbox.removed") == [{"kept": False}]
    assert not Sandbox.objects.filter(conversation=conversation.id).exists()
    world.ask("Look", LOOK, after=conversation)
    assert conversation.outputs[1].startswith("(no output)")
    world.ask("Look", LOOK, after=other)
    assert "note.txt" in other.outputs[1]
    assert conversation.answers == ["Done.", "Empty."]
    assert_replay_matches(conversation)


def test_message_before_the_sweep_finds_an_empty_workspace(world):
    """No sweep is in between: the turn removes what was there before it begins anew."""
    conversation = written(world)
    free(world, conversation)
    world.ask("Look", LOOK, after=conversation)
    assert conversation.outputs[1].startswith("(no output)")
    assert {"kept": False} in conversation.event_data("sandbox.removed")
    assert len(conversation.event_data("sandbox.started")) == 2
    assert_replay_matches(conversation)


def test_deleting_files_is_refused_while_commands_run(world):
    conversation = world.begin(
        "Go", [calls(bash="echo x > note.txt; sleep 3; cat note.txt"), says("x")]
    )
    wait_until(lambda: conversation.has_event("tool.started"))
    with pytest.raises(deletion.ConversationRunning):
        free(world, conversation)
    backend = world.sandbox
    wait_until(lambda: Sandbox.objects.filter(conversation=conversation.id).exists())
    assert asyncio.run(world.sandboxes().remove_files(conversation.id, backend)) is False
    world.wait_until_idle(conversation)
    assert conversation.outputs[0].startswith("x")
