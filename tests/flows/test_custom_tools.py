"""An agent calls the tool of the example package, which pip has installed, through a real worker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from paca.agents import services as agents
from paca.agents.toolbox import tool_names
from paca.ops import doctor
from tests.support import custom_tools
from tests.support.api import Api
from tests.support.flow import Flow, assert_replay_matches
from tests.support.model_script import calls, says
from tests.support.world import make_world

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.service]
WEEK = {"first": "2026-03-02", "last": "2026-03-08"}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("custom") / "packages"
    custom_tools.install(folder)
    return folder


@pytest.fixture
def with_example(installed: Path) -> Iterator[None]:
    with custom_tools.on_the_path(installed):
        yield


def test_agent_calls_the_tool_of_an_installed_package_and_the_next_one_has_it_switched_off(
    with_example: None, flow: Flow
) -> None:
    backwards = {"first": "2026-03-08", "last": "2026-03-02"}
    both = calls(("working_days", WEEK), ("working_days", backwards))
    first = flow.ask("How many working days?", [both, says("Five.")])
    assert first.answers == ["Five."]
    returned = first.event_data("tool.returned")  # reads run side by side
    counted, refused = sorted(returned, key=lambda each: each["failed"])
    assert (counted["output"], counted["failed"]) == ("5 working days of 7 days", False)
    assert refused["failed"]
    assert refused["output"].startswith("last must be first or a later day")
    assert [each["effect"] for each in first.event_data("tool.called")] == ["read_only"] * 2
    assert not first.has_event("sandbox.started")
    assert_replay_matches(first)

    world = flow.world
    others = [name for name in tool_names() if name != "working_days"]
    agents.configure(world.agent, by=world.owner, tools=others)
    second = flow.ask("And now?", [calls(("working_days", WEEK)), says("I cannot.")])
    (returned,) = second.event_data("tool.returned")
    assert returned["cause"] == "unknown_tool"
    assert "switched off" in returned["output"]


def test_api_and_doctor_name_the_tool_and_an_agent_keeps_it_while_its_package_is_gone(
    installed: Path, transactional_db: None
) -> None:
    world = make_world()
    api = Api(world.user)
    agent = f"/projects/{world.project.pk}/agents/{world.agent.pk}/"
    with custom_tools.on_the_path(installed):
        tools = {each["name"]: each for each in api.get("/tools/").json()["results"]}
        assert tools["working_days"]["package"] == "paca-working-days 1.0"
        assert tools["bash"]["package"] == ""
        chosen = {"tools": ["working_days"]}
        assert api.patch(agent, chosen).json()["tools"] == ["working_days"]
        (part,) = [each for each in doctor.check_installation() if each.part == "Tools"]
        assert (part.state, "working_days (paca-working-days 1.0)" in part.meaning) == ("ok", True)
    changed = api.patch(agent, {"name": "Rosa Marina", "tools": ["working_days", "bash"]})
    assert changed.status_code == 200, changed.json()
    assert sorted(changed.json()["tools"]) == ["bash", "working_days"]
    assert (
        api.get(f"{agent}preview/?trigger_type=chat_message").json()["tools"][0]["name"] == "bash"
    )
    assert api.patch(agent, {"tools": ["fly"]}).status_code == 400
