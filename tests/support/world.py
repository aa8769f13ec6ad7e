"""A project with its owner and an agent, for tests."""

from dataclasses import dataclass
from typing import Any

from paca.accounts.models import User
from paca.agents import services as agents
from paca.agents.models import Agent
from paca.projects.models import Member, Project, Role
from paca.projects.services import projects, workspaces
from tests.support.recorded_rows import made_once

MODEL = "anthropic/claude-sonnet-4-5"


@dataclass(frozen=True)
class World:
    """A project, its owner (``user`` is the person, ``owner`` their membership), and an agent."""

    user: User
    project: Project
    owner: Member
    agent: Agent

    def role(self, name: str) -> Role:
        """The role of the project with this name, in any case."""
        return Role.objects.get(project=self.project, name__iexact=name)


def make_world(name: str = "Harbor", **settings: Any) -> World:
    """A new project of this name in a new workspace; ``settings`` are those of its agent."""
    address = settings.get("base_url", "")
    key = ("world", name, repr({**settings, "base_url": bool(address)}))
    return made_once(key, lambda: _make_world(name, settings), varying=address)


def _make_world(name: str, settings: dict[str, Any]) -> World:
    user = User.objects.create_user(username=f"ada-{name.lower()}", password="a long password 7")
    workspace = workspaces.create(name, owner=user)
    project = projects.create(workspace, name, by=user)
    owner = Member.objects.get(project=project, user=user)
    role = Role.objects.get(project=project, name__iexact="agent")
    settings = {"name": "Rosa", "handle": "rosa", "model": "demo/guide", **settings}
    agent = agents.create(project, role=role, by=owner, **settings)
    return World(user, project, owner, agent)
