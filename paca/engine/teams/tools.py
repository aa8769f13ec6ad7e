"""The tools of a lead, and those of its teammates."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from paca.engine.teams import requests
from paca.engine.tools.base import (
    AnyTool,
    ArgumentsT,
    Effect,
    Tool,
    ToolArguments,
    ToolContext,
    ToolOutput,
)
from paca.engine.tools.formatting import to_one_line


class TeamAccess(Protocol):
    """The way of one conversation to its team."""

    async def do(
        self, call_id: str, arguments: ToolArguments, *, tool: str, writes_tasks: bool = False
    ) -> ToolOutput:
        """Carry a call out in one transaction, once for each call."""
        ...

    async def find_result(self, call_id: str) -> str | None:
        """The text of a call that has taken effect; None if it has not."""
        ...


class TeamTool(Tool[ArgumentsT]):
    """A tool that acts on the team. What it does comes out of the rights and budgets of the conversation."""

    effect = Effect.KEYED
    uses_workspace: ClassVar[bool] = False
    only_thinks: ClassVar[bool] = True
    writes_tasks: ClassVar[bool] = False

    def __init__(self, access: TeamAccess | None = None) -> None:
        """A tool without ``access`` can be described and not used."""
        self._access = access

    @property
    def connected(self) -> TeamAccess:
        """The access to the team."""
        assert self._access is not None, f"{self.name} is not connected to a team"
        return self._access

    def subject(self, arguments: ArgumentsT) -> str:
        facts: dict[str, Any] = arguments.model_dump()
        said = facts.get("text") or facts.get("role") or facts.get("reason") or facts.get("plan")
        named = facts.get("name") or facts.get("to") or facts.get("task")
        words = [str(each) for each in (named, said or "") if each]
        return to_one_line(": ".join(words))[:300]

    async def act(self, arguments: ArgumentsT, context: ToolContext) -> ToolOutput:
        return await self.connected.do(
            context.call_id, arguments, tool=self.name, writes_tasks=self.writes_tasks
        )

    async def find_result(self, call_id: str) -> ToolOutput | None:
        text = await self.connected.find_result(call_id)
        return None if text is None else ToolOutput(text)


class SpawnTeammate(TeamTool[requests.Spawn]):
    """Start a teammate, which works beside you in the same workspace and lives on until it is idle for a minute.

    It knows nothing of this conversation. Its answers come to you by themselves: end your turn to wait for them.
    """

    name = "spawn_teammate"
    Arguments = requests.Spawn


class ListTeam(TeamTool[requests.Nothing]):
    """List the team and the tasks of its plan."""

    name = "list_team"
    Arguments = requests.Nothing


class SendMessage(TeamTool[requests.Message]):
    """Send a message to a member of your team, or to all. It is read at the next step, and wakes who is idle."""

    name = "send_message"
    Arguments = requests.Message


class ReadInbox(TeamTool[requests.Nothing]):
    """Read the last messages of the team to you again. New ones come by themselves."""

    name = "read_inbox"
    Arguments = requests.Nothing


class AddTeamTasks(TeamTool[requests.AddTasks]):
    """Put tasks of the project into the plan of the team: idle teammates claim those that nothing blocks, each once."""

    name = "add_team_tasks"
    only_thinks = False
    Arguments = requests.AddTasks


class ShutDownTeammate(TeamTool[requests.Shutdown]):
    """Ask a teammate to end. It agrees or says why not; without an answer it is stopped."""

    name = "shut_down_teammate"
    Arguments = requests.Shutdown


class ReviewPlan(TeamTool[requests.PlanReview]):
    """Approve or reject the plan of a teammate."""

    name = "review_plan"
    Arguments = requests.PlanReview


class ClaimTask(TeamTool[requests.ClaimTask]):
    """Claim a task of the team's plan, or an unassigned one of the project, before you work on it."""

    name = "claim_task"
    only_thinks = False
    writes_tasks = True
    Arguments = requests.ClaimTask


class SubmitPlan(TeamTool[requests.Plan]):
    """Ask the lead to approve your plan. Then end your turn: the decision wakes you."""

    name = "submit_plan"
    Arguments = requests.Plan


class AnswerShutdown(TeamTool[requests.ShutdownAnswer]):
    """Answer the lead's request to end."""

    name = "answer_shutdown"
    Arguments = requests.ShutdownAnswer


OF_LEAD = (
    SpawnTeammate,
    ListTeam,
    SendMessage,
    ReadInbox,
    AddTeamTasks,
    ShutDownTeammate,
    ReviewPlan,
)
OF_TEAMMATE = (ListTeam, SendMessage, ReadInbox, ClaimTask, SubmitPlan, AnswerShutdown)
NAMES = frozenset(tool.name for tool in (*OF_LEAD, *OF_TEAMMATE))


def team_tools(access: TeamAccess | None = None) -> tuple[AnyTool, ...]:
    """New instances of all tools of teams; without ``access`` they can be described only."""
    kinds: dict[str, type[Any]] = {tool.name: tool for tool in (*OF_LEAD, *OF_TEAMMATE)}
    return tuple(tool(access) for tool in kinds.values())


def names_for(role: str) -> frozenset[str]:
    """The names of the tools that a ``lead`` or a ``teammate`` has; none for everybody else."""
    # guard: team-tools-are-for-teams
    tools = {"lead": OF_LEAD, "teammate": OF_TEAMMATE}.get(role, ())
    return frozenset(tool.name for tool in tools)
