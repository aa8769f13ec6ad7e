"""Agents of the demo project in several places of its catalogue, made and retired by ``manage.py shell``."""

from paca.agents import services as agents
from paca.agents.models import Agent
from paca.projects.models import Member, Role
from paca.projects.services import tasks

CREW = (
    ("Rosa", {"agent_type": "developer", "tags": ["billing", "python"], "priority": 2}),
    ("Theo", {"agent_type": "manual-tester", "tags": ["billing", "release", "web", "phone"]}),
    ("Ines", {"category": "writing", "agent_type": "", "tags": ["release"]}),
    ("Milo", {"agent_type": "ba", "status": "paused"}),
    ("Juno with a name that is rather long", {"category": "data", "status": "inactive"}),
)


def hire() -> None:
    """Make the crew."""
    guide = Agent.objects.get(handle="guide")
    me = Member.objects.get(project=guide.project, user__username="admin")
    role = Role.objects.get(project=guide.project, name__iexact="agent")
    for name, settings in CREW:
        handle = name.split()[0].lower()
        given = {"name": name, "handle": handle, "model": "demo/guide", **settings}
        agents.create(guide.project, role=role, by=me, **given)


def retire() -> None:
    """Retire the crew, so that other journeys find the project as it was."""
    for agent in Agent.objects.live().exclude(handle="guide"):
        agents.retire(agent, by=None)


def hold() -> None:
    """Assign a new task to Rosa, who begins none by herself."""
    rosa = Agent.objects.live().get(handle="rosa")
    me = Member.objects.get(project=rosa.project, user__username="admin")
    agents.configure(rosa, by=me, auto_start=False)
    task = tasks.create(rosa.project, title="Tidy the shelves", by=me)
    tasks.assign(task, to=Member.objects.get(agent=rosa), by=me)
