"""What pages show, read with a constant number of queries however many rows there are."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet

from paca.accounts.models import User
from paca.agents.models import Agent
from paca.conversations.models import Conversation
from paca.projects.models import Member, Project
from paca.web import labels

UNDER_WAY = ("running", "waiting", "queued")
MOST_WORKING = 8


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent, how it stands, and what it works on."""

    agent: Agent
    state: labels.State
    conversations: int
    current: Conversation | None


def working_now(project: Project) -> QuerySet[Conversation]:
    """Conversations under way, the newest first."""
    found = Conversation.objects.for_project(project).filter(status__in=UNDER_WAY)
    return found.select_related("agent").newest_first()[:MOST_WORKING]


def agents(project: Project) -> list[AgentRow]:
    """Every agent that is not retired, by name."""
    counted = Count("conversations", filter=Q(conversations__deleted_at__isnull=True))
    found = Agent.objects.of_project(project).annotate(conversation_count=counted)
    found = found.order_by("name", "id")  # a query that groups forgets the model's own order
    current: dict[Any, list[Conversation]] = defaultdict(list)
    under_way = Conversation.objects.for_project(project).filter(status__in=UNDER_WAY)
    for conversation in under_way.newest_first():
        current[conversation.agent_id].append(conversation)
    return [_agent_row(agent, current[agent.id]) for agent in found]


def _agent_row(agent: Any, under_way: list[Conversation]) -> AgentRow:
    statuses = frozenset(conversation.status for conversation in under_way)
    running = [each for each in under_way if each.status != "queued"] or under_way
    return AgentRow(
        agent=agent,
        state=labels.agent_state(agent, statuses),
        conversations=agent.conversation_count,
        current=running[0] if running else None,
    )


def people(project: Project) -> QuerySet[Member]:
    """The human members, ready for names and roles."""
    return project.members.live().with_names().filter(kind=Member.Kind.HUMAN)


@dataclass(frozen=True, slots=True)
class Step:
    """One line of "Getting started": done, or what to do and where."""

    text: str
    done: bool
    link: str = ""
    link_text: str = ""


def getting_started(user: User, rows: list[AgentRow], links: dict[str, str]) -> list[Step]:
    """The first things to do here; a link only where this person may do it."""
    real = any(not row.agent.is_demo for row in rows)
    steps = [
        Step("Have an agent", bool(rows), links.get("add_agent", ""), "Add one"),
        Step("Start a conversation", any(row.conversations for row in rows)),
        Step("Give an agent a real model", real, links.get("configure", ""), "Settings"),
    ]
    if not user.has_usable_password():
        steps.append(Step("Choose a password", False, links["password"], "Choose"))
    return steps
