"""A small world for tests: a project with its owner and an agent, in two lines."""

from dataclasses import dataclass
from typing import Any

from paca.accounts.models import User
from paca.agents import services as agents
from paca.agents.models import Agent
from paca.projects.models import Member, Project, Role
from paca.projects.services import projects, workspaces

MODEL = "anthropic/claude-sonnet-4-5"


@dataclass(frozen=True)
class World:
    """A project, the person who owns it, and an agent."""

    user: User
    project: Project
    owner: Member
    agent: Agent

    def role(self, name: str) -> Role:
        return Role.objects.get(project=self.project, name__iexact=name)


def make(name: str = "Harbor", **agent: Any) -> World:
    """A new project; ``agent`` are the agent's settings."""
    user = User.objects.create_user(username=f"ada-{name.lower()}", password="a long password 7")
    workspace = workspaces.create(name, owner=user)
    project = projects.create(workspace, name, by=user)
    owner = Member.objects.get(project=project, user=user)
    role = Role.objects.get(project=project, name__iexact="agent")
    config = {"name": "Rosa", "handle": "rosa", "model": "demo/guide", **agent}
    made = agents.create(project, role=role, by=owner, **config)
    return World(user, project, owner, made)
