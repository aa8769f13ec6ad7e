"""The lists of allowed commands that hold for an agent."""

from paca.agents.models import Agent
from paca.engine.approvals.allowed_commands import CommandList
from paca.projects.models import Project


def lists_of(agent: Agent, project: Project) -> tuple[CommandList, ...]:
    """The lists that commands of the agent have to match, each of them."""
    lists = (("project", project.allowed_commands), ("agent", agent.allowed_commands))
    return tuple(CommandList(owner, tuple(each)) for owner, each in lists if each is not None)
