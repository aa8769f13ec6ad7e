"""An agent of the demo project at a model server, hired and retired by the process of seeds."""

from paca.agents import services as agents
from paca.agents.models import Agent
from paca.projects.models import Member, Role


def hire(name: str, base_url: str = "") -> str:
    """Make the agent, with a scripted demo without a server; gives the address of its page."""
    guide = Agent.objects.get(handle="guide")
    me = Member.objects.get(project=guide.project, user__username="admin")
    role = Role.objects.get(project=guide.project, name__iexact="agent")
    where = {
        "model": "anthropic/claude-sonnet-4-5",
        "base_url": base_url,
        "llm_api_key": "a-key-of-tests",
    }
    given = where if base_url else {"model": "demo/guide"}
    agent = agents.create(guide.project, name=name, handle=name.lower(), role=role, by=me, **given)
    return f"/projects/{guide.project_id}/agents/{agent.pk}/"


def retire(name: str) -> None:
    agents.retire(Agent.objects.live().get(name=name), by=None)
