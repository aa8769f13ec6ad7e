"""Queries of the pages. Their number does not depend on the number of rows."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from paca.accounts.models import User
from paca.agents import catalogue
from paca.agents.models import Agent
from paca.conversations.models import Conversation
from paca.projects import notification_lists
from paca.projects.models import Member, Project
from paca.web import labels

SHOWN_STATUSES = ("running", "waiting", "queued")
MAX_ACTIVE_SHOWN = 8
MAX_PROJECTS_SHOWN = 12
MAX_AGENTS_NAMED = 200
OWN_PROMPT = "own"  # the type without a template says nothing of the agent
TYPE_NAMES = {each.slug: each.name for each in catalogue.AGENT_TYPES}


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent with the label of its state, its conversation count and its current conversation."""

    agent: Agent
    state: labels.StateLabel
    conversations: int
    current: Conversation | None

    @property
    def kind(self) -> str:
        """The name of its type, or the category if it has none."""
        kind = self.agent.agent_type
        if kind == OWN_PROMPT or not kind:
            return str(self.agent.get_category_display())
        return TYPE_NAMES.get(kind, kind)


def active_conversations(project: Project) -> QuerySet[Conversation]:
    """Queued, running and waiting conversations, newest first."""
    found = Conversation.objects.for_project(project).top_level().filter(status__in=SHOWN_STATUSES)
    return found.select_related("agent").with_agent_load().newest_first()[:MAX_ACTIVE_SHOWN]


def agents(project: Project) -> list[AgentRow]:
    """Every agent that is not retired, ordered by name."""
    return agent_rows(project, Agent.objects.for_project(project).order_by("name", "id"))


def agent_rows(project: Project, found: QuerySet[Agent]) -> list[AgentRow]:
    """A row for each of these agents of the project, in two queries."""
    # Counted in a subquery: with an aggregate the database would group by every column of an agent.
    mine = Conversation.objects.filter(agent=OuterRef("pk"), deleted_at=None).order_by()
    counted = mine.values("agent").annotate(n=Count("pk")).values("n")
    shown = list(found.annotate(conversation_count=Coalesce(Subquery(counted), 0)))
    current: dict[Any, list[Conversation]] = defaultdict(list)
    active = Conversation.objects.for_project(project).top_level().filter(status__in=SHOWN_STATUSES)
    if len(shown) <= MAX_AGENTS_NAMED:
        active = active.filter(agent__in=[agent.pk for agent in shown])
    for conversation in active.select_related("agent").with_agent_load().newest_first():
        current[conversation.agent_id].append(conversation)
    return [_agent_row(agent, current[agent.id]) for agent in shown]


def _agent_row(agent: Any, active: list[Conversation]) -> AgentRow:
    states = [(conversation.status, conversation.reason) for conversation in active]
    running = [each for each in active if each.status != "queued"] or active
    return AgentRow(
        agent=agent,
        state=labels.agent_state(agent, states),
        conversations=agent.conversation_count,
        current=running[0] if running else None,
    )


def other_projects(member: Member) -> QuerySet[Project]:
    """The first of the person's other projects, for the menu that switches between them."""
    mine = Project.objects.for_person(member.user)  # type: ignore[arg-type] # pages have people only
    return mine.exclude(pk=member.project_id)[:MAX_PROJECTS_SHOWN]


def people(project: Project) -> QuerySet[Member]:
    """The human members, with their names and roles loaded."""
    return project.members.live().with_names().filter(kind=Member.Kind.HUMAN)


def unread_count(member: Member) -> int:
    """How many notifications the person has not read, over all projects that they are in now."""
    return notification_lists.count_unread(member.user)  # type: ignore[arg-type] # pages have people only


def members_of(project: Project) -> QuerySet[Member]:
    """People and agents of the project, with their names and roles loaded."""
    return project.members.live().with_names()


def task_settings(project: Project) -> dict[str, list[Any]]:
    """The statuses, task types, sprints and labels of the project, as its pages need them."""
    return {
        "statuses": [
            {"id": str(each.id), "name": each.name, "category": each.category}
            for each in project.statuses.all()
        ],
        "types": [{"id": str(each.id), "name": each.name} for each in project.task_types.all()],
        "sprints": [
            {"id": str(each.id), "name": each.name, "status": each.status}
            for each in project.sprints.all()
        ],
        "labels": [each.name for each in project.labels.all()],
    }


@dataclass(frozen=True, slots=True)
class ChecklistStep:
    """One line of the "Getting started" checklist, with a link if it is not done."""

    text: str
    done: bool
    link: str = ""
    link_text: str = ""


def getting_started(user: User, rows: list[AgentRow], links: dict[str, str]) -> list[ChecklistStep]:
    """The checklist of a new project. ``links`` holds only what this person may do."""
    real = any(not row.agent.is_demo for row in rows)
    ids = [row.agent.id for row in rows]
    on_tasks = Conversation.objects.filter(agent__in=ids, task__isnull=False).exists()
    steps = [
        ChecklistStep("Add an agent", bool(rows), links.get("add_agent", ""), "Add"),
        ChecklistStep("Start a conversation", any(row.conversations for row in rows)),
        ChecklistStep("Give an agent a task", on_tasks, links.get("board", ""), "Board"),
        ChecklistStep("Give an agent a real model", real, links.get("configure", ""), "Settings"),
    ]
    if not user.has_usable_password():
        steps.append(ChecklistStep("Choose a password", False, links["password"], "Choose"))
    return steps
