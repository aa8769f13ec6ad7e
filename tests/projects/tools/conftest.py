"""An agent that uses its tools on a project, in the test's own thread and without a worker."""

import uuid
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from paca.agents.models import Agent
from paca.agents.toolbox import make_toolbox
from paca.engine.tools.base import ToolContext, ToolOutput
from paca.engine.tools.registry import BadArguments
from paca.projects.models import Member
from paca.projects.services import members
from paca.projects.tools import access
from paca.projects.tools.base import Act, Caller
from tests.support.fake_sandbox_workspace import FakeSandboxWorkspace
from tests.support.world import World, make_world


class DirectAccess:
    """Implements ``ProjectAccess`` in the calling thread. ``lease_error`` is raised in place of a commit."""

    def __init__(self, agent: Agent) -> None:
        self.agent = access.CallingAgent(agent.pk, uuid.uuid4())
        self.lease_error: Exception | None = None

    async def read(self, permission: str, act: Callable[[Caller], Any]) -> Any:
        return access.read(self.agent, permission, act)

    async def write(self, call_id: str, permission: str, act: Act) -> str:
        return access.write(self.agent, call_id, permission, act, require_lease=self._require_lease)

    async def find_result(self, call_id: str) -> str | None:
        return access.find_result(self.agent, call_id)

    def _require_lease(self) -> None:
        if self.lease_error is not None:
            raise self.lease_error


class AgentAtWork:
    """The agent of a world with its toolbox."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.access = DirectAccess(world.agent)
        self.toolbox = make_toolbox(self.access)
        self.seen: dict[str, str] = {}
        self.workspace = FakeSandboxWorkspace()

    @property
    def member(self) -> Member:
        return Member.objects.with_names().get(agent=self.world.agent)

    def calls(self, tool: str, *, call_id: str = "", **arguments: Any) -> ToolOutput:
        """The output of a call; bad arguments give the text that the model gets."""
        try:
            parsed = self.toolbox.parse(tool, arguments)
        except BadArguments as error:
            return ToolOutput(error.detail, failed=True, cause="invalid")
        context = ToolContext(call_id or uuid.uuid4().hex, self._open, seen_files=self.seen)
        return run_without_loop(parsed.tool.act(parsed.arguments, context))

    def does(self, tool: str, **arguments: Any) -> str:
        """The text of a call that must succeed."""
        output = self.calls(tool, **arguments)
        assert not output.failed, output.output
        return output.output

    def is_refused(self, tool: str, **arguments: Any) -> str:
        """The text of a call that must fail."""
        output = self.calls(tool, **arguments)
        assert output.failed, output.output
        return output.output

    async def _open(self) -> FakeSandboxWorkspace:
        return self.workspace

    def gets_role(self, name: str) -> None:
        members.change_role(self.member, role=self.world.role(name), by=self.world.owner)


def run_without_loop(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine that never waits. Django refuses queries inside an event loop."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


@pytest.fixture
def world(db: None) -> World:
    return make_world()


@pytest.fixture
def agent(world: World) -> AgentAtWork:
    return AgentAtWork(world)
