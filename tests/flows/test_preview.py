"""The preview of an agent's context is what a run sends, byte for byte."""

import json
from typing import Any

import pytest

from paca.agents import services as agents
from paca.agents.services import skills
from paca.projects.services import tasks
from tests.support.api import Api
from tests.support.flow import Flow, wait_until
from tests.support.model_script import calls, says

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]


def preview(flow: Flow) -> dict[str, Any]:
    world = flow.world
    path = f"/projects/{world.project.pk}/agents/{world.agent.pk}/preview/"
    return dict(Api(world.user).get(f"{path}?trigger_type=chat_message").json())


def system_of(body: dict[str, Any]) -> str:
    """The system prompt in the body of a request, in either dialect."""
    if "system" not in body:
        return str(body["messages"][0]["content"])
    system = body["system"]
    return system if isinstance(system, str) else "".join(block["text"] for block in system)


def tools_of(body: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Name, description and schema of each tool in the body of a request, in either dialect."""
    found = [tool.get("function", tool) for tool in body.get("tools", [])]
    return [
        (
            tool["name"],
            tool["description"],
            json.dumps(tool.get("input_schema") or tool["parameters"]),
        )
        for tool in found
    ]


@pytest.mark.parametrize("flow", ["anthropic", "openai"], indirect=True)
@pytest.mark.parametrize("text_tool_calls", [False, True])
def test_preview_equals_the_request_of_a_run(flow: Flow, text_tool_calls: bool) -> None:
    agent, by = flow.world.agent, flow.world.owner
    agents.configure(
        agent,
        by=by,
        system_prompt="Work in {workspace}. Write “ünïcode”.",
        text_tool_calls=text_tool_calls,
    )
    skills.create_from_template(agent, "developer", by=by)
    style = {"name": "style", "description": "House style.", "content": "Be brief."}
    skills.create(agent, by=by, always_on=True, **style)

    shown = preview(flow)
    flow.ask("Hello", [says("Hi.")])
    [request] = flow.model.requests

    names = ["system", "identity", "skills", "skill_index", "rules", "trigger"]
    assert [part["name"] for part in shown["parts"]] == names + ["tools"] * text_tool_calls
    assert "\n\n".join(part["text"] for part in shown["parts"]) == system_of(request.body)
    assert [
        (tool["name"], tool["description"], json.dumps(tool["arguments"]))
        for tool in shown["tools"]
    ] == tools_of(request.body)
    assert bool(shown["tools"]) is not text_tool_calls
    every = [*shown["parts"], *shown["tools"]]
    assert shown["tokens"] == sum(each["tokens"] for each in every)


def test_model_with_a_small_window_gets_the_tools_that_work_needs_most(flow: Flow) -> None:
    agent, by = flow.world.agent, flow.world.owner
    agents.configure(agent, by=by, parameters={"context_window": 4_096})
    shown = preview(flow)
    flow.ask("Hello", [says("Hi.")])
    named = {name for name, _, _ in tools_of(flow.model.requests[-1].body)}
    assert {"bash", "edit_file", "update_task"} < named
    assert named == {tool["name"] for tool in shown["tools"]}
    assert shown["tokens"] < 0.7 * 4_096
    agents.configure(agent, by=by, tools=["bash", "search_project"])
    assert {tool["name"] for tool in preview(flow)["tools"]} == {"bash", "search_project"}


def test_switched_off_tools_are_neither_sent_nor_run(flow: Flow) -> None:
    agent, by = flow.world.agent, flow.world.owner
    agents.configure(agent, by=by, tools=["read_project", "list_tasks"])
    skills.create_from_template(agent, "developer", by=by)
    shown = preview(flow)
    assert [tool["name"] for tool in shown["tools"]] == ["list_tasks", "read_project"]
    assert "skill_index" not in {part["name"] for part in shown["parts"]}
    run = flow.ask("Hello", [calls(bash="touch here"), says("I cannot.")])
    request = flow.model.requests[0]
    assert [name for name, _, _ in tools_of(request.body)] == ["list_tasks", "read_project"]
    assert "\n\n".join(part["text"] for part in shown["parts"]) == system_of(request.body)
    (returned,) = run.event_data("tool.returned")
    assert (returned["failed"], returned["cause"]) == (True, "unknown_tool")
    assert "bash did not run: it is switched off in your settings." in returned["output"]
    assert "The tools are: list_tasks, read_project." in returned["output"]
    assert not run.has_event("tool.started")


def test_preview_on_a_task_equals_the_request_of_an_assignment(flow: Flow) -> None:
    world = flow.world
    skills.create_from_template(world.agent, "developer", by=world.owner)
    task = tasks.create(
        world.project, title="Fix the hull", by=world.owner, description="It leaks."
    )
    path = f"/projects/{world.project.pk}/agents/{world.agent.pk}/preview/"
    query = f"?trigger_type=task_assigned&task={task.number}"
    parts = Api(world.user).get(path + query).json()["parts"]

    flow.model.script([says("Repaired.")])
    tasks.assign(task, to=world.agent.member, by=world.owner)
    wait_until(lambda: flow.model.requests)
    sent = str(flow.model.requests[0].body)
    assert [part["name"] for part in parts[-3:]] == ["trigger", "message", "opened_skill"]
    assert "Fix the hull" in parts[-2]["text"]
    assert "your skill developer is opened here" in parts[-1]["text"]
    for part in parts:
        assert str([part["text"]])[2:-2] in sent, part["name"]
