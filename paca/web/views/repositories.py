"""The page of a project's repositories and of its connections to git servers."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from paca.agents.models import Agent
from paca.projects import permissions
from paca.projects.models import Member
from paca.repositories import selectors
from paca.repositories.models import (
    GitAuth,
    GitServerKind,
    Repository,
    RepositoryAccess,
    ReviewPolicy,
)
from paca.web.views.decorators import project_page
from paca.web.views.pages import page_context


@project_page("projects:read")
def repositories(request: HttpRequest, member: Member) -> HttpResponse:
    """The repositories that agents of the project may clone, and how Paca signs in to their servers."""
    project = member.project
    connections = list(selectors.connections_of(project))
    context = page_context(
        member,
        "repositories",
        repositories=[_shown(request, each) for each in selectors.repositories_of(project)],
        connections=connections,
        kinds=GitServerKind.choices,
        ways=GitAuth.choices,
        review_policies=ReviewPolicy.choices,
        may_write=permissions.allows(member, "projects:write"),
    )
    return render(request, "web/repositories.html", context)


def _shown(request: HttpRequest, repository: Repository) -> dict[str, Any]:
    webhook = reverse("git_webhook", kwargs={"repository_id": repository.pk})
    return {
        "row": repository,
        "reviewers": "\n".join(repository.reviewers),
        "webhook": request.build_absolute_uri(webhook),
        "api": reverse("api:repository", args=[repository.project_id, repository.pk]),
    }


def of_agent(agent: Agent) -> dict[str, Any]:
    """What the page of an agent's settings shows of its repositories."""
    setting = selectors.access_of(agent)
    return {
        "project_repositories": list(selectors.repositories_of(agent.project)),
        "repository_access": setting["access"],
        "repository_accesses": RepositoryAccess.choices,
        "chosen_repositories": setting["chosen"],
    }
