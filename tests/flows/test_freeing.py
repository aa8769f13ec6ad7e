"""A person has the files of a conversation removed: they go, what was said stays."""

import asyncio
from collections.abc import Iterator

import pytest

from paca.conversations import deletion
from paca.conversations.models import Conversation, Sandbox
from tests.flows.test_housekeeping import swept, unused_for
from tests.support import docker_backend
from tests.support.flow import Flow, Told, assert_replay_matches, until
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
            asyncio.run(flow.sandboxes().forget(conversation))


def written(flow: Flow) -> Told:
    told = flow.ask("Write", [calls(bash="echo x > note.txt; sleep 1234 &"), says("Done.")])
    unused_for(flow, told, 0)
    return told


def free(flow: Flow, told: Told) -> None:
    deletion.delete_files(told.row, by=flow.world.owner)


LOOK = [calls(bash="ls -A; pgrep sleep; true"), says("Empty.")]


def test_a_sweep_removes_the_files_and_says_so(world, monkeypatch):
    monkeypatch.setattr("paca.sandbox.docker.backend.RACE_SECONDS", 0)  # it was just attached to
    told, other = written(world), written(world)
    world.stop_worker()  # it sweeps as well
    free(world, told)
    reaped = swept(world.sandboxes())
    world.start_worker()
    assert (reaped.ended, reaped.workspaces) == (1, 1)
    assert told.all("sandbox.removed") == [{"kept": False}]
    assert not Sandbox.objects.filter(conversation=told.id).exists()
    world.ask("Look", LOOK, after=told)
    assert told.outputs[1].startswith("(no output)")
    world.ask("Look", LOOK, after=other)
    assert "note.txt" in other.outputs[1]
    assert told.answers == ["Done.", "Empty."]
    assert_replay_matches(told)


def test_a_message_that_comes_first_finds_an_empty_workspace_all_the_same(world):
    """No sweep is in between: the turn removes what was there before it begins anew."""
    told = written(world)
    free(world, told)
    world.ask("Look", LOOK, after=told)
    assert told.outputs[1].startswith("(no output)")
    assert {"kept": False} in told.all("sandbox.removed")
    assert len(told.all("sandbox.started")) == 2
    assert_replay_matches(told)


def test_files_at_which_commands_work_are_not_removed(world):
    told = world.begin("Go", [calls(bash="echo x > note.txt; sleep 3; cat note.txt"), says("x")])
    until(lambda: told.has("tool.started"))
    with pytest.raises(deletion.ConversationRunning):
        free(world, told)
    backend = world.sandbox
    until(lambda: Sandbox.objects.filter(conversation=told.id).exists())
    assert asyncio.run(world.sandboxes().free(told.id, backend)) is False
    world.rest(told)
    assert told.outputs[0].startswith("x")
