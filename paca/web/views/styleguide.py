"""The style guide: every component in every state, made by the templates and modules of the pages."""

from datetime import UTC, datetime
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from paca.agents.models import Agent
from paca.conversations.models import Conversation
from paca.projects.models import Project
from paca.web import labels

NAMES = ("Rosa", "Milo", "Ines", "Theo", "Juno")
PEOPLE = ("Ada Okafor", "Jonas Lind", "Mei Tanaka")
TITLES = (
    ("running", "", "Invoice totals are one cent off"),
    ("queued", "", "Index for the customer search"),
    ("paused", "step_limit", "Time zone of the daily report"),
    ("finished", "answered", "Review of the retry code"),
    ("failed", "configuration", "Seed data for the demo shop"),
    ("stopped", "by_person", "Nightly check"),
)


@require_safe
@login_required
def styleguide(request: HttpRequest) -> HttpResponse:
    """The page. Its rows are made here and never stored."""
    project = Project(id=UUID(int=1), name="Harbor")
    agents = [Agent(id=UUID(int=10 + at), name=name) for at, name in enumerate(NAMES)]
    context = {
        "project": project,
        "agents": agents,
        "people": PEOPLE,
        "states": [labels.state_of(status) for status in labels.STATUSES],
        "conversations": [
            _sample_conversation(project, agents[at % len(agents)], at, *row)
            for at, row in enumerate(TITLES)
        ],
    }
    return render(request, "web/styleguide.html", context)


def _sample_conversation(
    project: Project, agent: Agent, at: int, status: str, reason: str, title: str
) -> Conversation:
    return Conversation(
        id=UUID(int=100 + at),
        project=project,
        agent=agent,
        title=title,
        status=status,
        reason=reason,
        activity="running_tool" if status == "running" else "",
        last_activity_at=datetime(2026, 1, 5, 9 + at, tzinfo=UTC),
    )
