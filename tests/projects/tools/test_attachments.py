"""The tool that copies an attachment into the workspace."""

from typing import Any

import pytest

from paca.projects.models import Attachment, Task
from paca.projects.services import attachments, tasks
from tests.projects.tools.conftest import AgentAtWork, run_without_loop
from tests.support.world import World, make_world

CONTENT = bytes(range(256)) * 2000


@pytest.fixture(autouse=True)
def task(world: World) -> Task:
    made = tasks.create(world.project, title="Read the log", by=world.owner)
    attach(made, "log.bin", CONTENT)
    return made


def attach(task: Task, name: str, data: bytes) -> Attachment:
    return attachments.add(
        task, name=name, content_type="text/plain", data=[data], by=task.reporter
    )


def content_of(agent: AgentAtWork, path: str) -> bytes:
    return run_without_loop(agent.workspace.read(path))


def test_agent_saves_an_attachment_in_its_workspace(agent: AgentAtWork) -> None:
    text = agent.does("save_attachment", task="HARB-1", attachment="log.bin")
    assert text == "Saved log.bin (500.0 KiB) as attachments/log.bin."
    assert content_of(agent, "attachments/log.bin") == CONTENT
    agent.does("save_attachment", task=1, attachment="log.bin", path="here.bin")
    assert content_of(agent, "here.bin") == CONTENT


def test_newest_of_two_attachments_of_a_name_is_saved_and_overwrites_nothing(
    agent: AgentAtWork, task: Task
) -> None:
    for _ in range(2):
        agent.does("save_attachment", task=1, attachment="log.bin")
    attach(task, "log.bin", b"new")
    refused = agent.is_refused("save_attachment", task=1, attachment="log.bin")
    assert refused == "There is another file at attachments/log.bin. Name another path."
    assert content_of(agent, "attachments/log.bin") == CONTENT
    agent.does("save_attachment", task=1, attachment="log.bin", path="new.bin")
    assert content_of(agent, "new.bin") == b"new"


def test_attachment_that_is_too_large_for_a_message_is_refused(
    agent: AgentAtWork,
) -> None:
    Attachment.objects.update(size_bytes=(16 << 20) + 1)
    refused = agent.is_refused("save_attachment", task=1, attachment="log.bin")
    assert "only files of up to 16.0 MiB" in refused


BAD: list[tuple[dict[str, Any], str]] = [
    ({"task": 1}, "attachment: is missing"),
    ({"task": 1, "attachment": "log"}, "HARB-1 has no attachment 'log'. It has: log.bin."),
    ({"task": 2, "attachment": "log.bin"}, "There is no task '2'"),
    ({"task": 1, "attachment": "log.bin", "path": ""}, "path: expected text that is not empty"),
    ({"task": 1, "attachment": "log.bin", "path": "a\0"}, "path: expected text without NUL"),
]


@pytest.mark.parametrize(("arguments", "told"), BAD)
def test_wrong_arguments_get_a_text_that_helps(
    agent: AgentAtWork, arguments: dict[str, Any], told: str
) -> None:
    assert told in agent.is_refused("save_attachment", **arguments)


def test_attachments_of_other_projects_are_not_found(agent: AgentAtWork) -> None:
    other = make_world("Elsewhere")
    foreign = tasks.create(other.project, title="Secret", by=other.owner)
    attach(foreign, "secret.txt", b"secret")
    for key in (foreign.key, foreign.number):
        refused = agent.is_refused("save_attachment", task=key, attachment="secret.txt")
        assert "There is no task" in refused or "It has: log.bin." in refused
