"""Opens pull requests for agents: what may be opened is read from the database, and the git server is asked after it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from paca.agents.models import Agent
from paca.engine.tools.pull_requests import (
    OpenedPullRequest,
    PullRequestRefused,
    WantedPullRequest,
)
from paca.repositories import selectors
from paca.repositories.hosts import PullRequest, open_host
from paca.repositories.hosts.errors import NoApi
from paca.repositories.models import GitServerKind, Repository
from paca.repositories.services.repositories import is_branch_name

NOT_PUSHED = (
    "This conversation has not pushed {branch} of {repository}. Push your work with push_branch first, to a branch of its"
    " own."
)


@dataclass(frozen=True, slots=True)
class PreparedPullRequest:
    """What shall be opened, where. The conversation has pushed the branch."""

    wanted: WantedPullRequest
    repository: Repository
    agent: str


def prepare(agent: Agent, conversation_id: UUID, wanted: WantedPullRequest) -> PreparedPullRequest:
    """Read what the server is asked for. Raises ``PullRequestRefused`` if the agent may use no such repository, or the
    names of branches are none, or the conversation has not pushed the branch; and ``NoApi``.
    """
    found = selectors.for_agent(agent)
    repository = found.filter(name=wanted.repository).first()
    if repository is None:
        names = ", ".join(found.values_list("name", flat=True)) or "none"
        raise PullRequestRefused(f"You can use no repository of this name. You can use: {names}.")
    for name in (wanted.branch, wanted.base or "main"):
        if not is_branch_name(name):
            raise PullRequestRefused(f"{name} is no name of a branch.")
    if repository.connection is None or repository.connection.kind == GitServerKind.GIT:
        raise NoApi
    # A helper may have pushed it for the conversation that started it.
    family = (
        Q(conversation=conversation_id)
        | Q(conversation__parent=conversation_id)
        | Q(conversation__children=conversation_id)
    )
    branches = repository.branches.filter(family, branch=wanted.branch)
    # guard: pull-request-of-others
    if not branches.exclude(pushed="", pr_number=None).exists():
        raise PullRequestRefused(
            NOT_PUSHED.format(branch=wanted.branch, repository=repository.name)
        )
    return PreparedPullRequest(wanted, repository, agent.name)


def open_prepared(prepared: PreparedPullRequest) -> OpenedPullRequest:
    """Find the open pull request of the branch, or open one. It blocks, and is called outside transactions.

    The process may die after the server has opened it: a repeat finds it. Raises ``PullRequestRefused``, the errors of
    ``hosts.errors``, and ``SecretUnreadable``.
    """
    wanted, repository = prepared.wanted, prepared.repository
    host = open_host(repository)
    base = wanted.base or repository.default_branch or host.default_branch()
    # guard: pull-request-is-not-of-its-own-base
    if wanted.branch == base:
        raise PullRequestRefused(
            f"{base} cannot be merged into itself. Push your work to another branch."
        )
    # guard: pull-request-is-opened-once
    if found := host.find_pull_request(wanted.branch):
        return _opened(prepared, found, base)
    body = f"{wanted.body.rstrip()}\n\n---\nOpened by {prepared.agent}, an agent in Paca.".lstrip()
    made = host.create_pull_request(wanted.branch, base, wanted.title, body)
    return _opened(prepared, made, base)


def _opened(prepared: PreparedPullRequest, found: PullRequest, base: str) -> OpenedPullRequest:
    return OpenedPullRequest(
        str(prepared.repository.pk),
        prepared.repository.name,
        prepared.wanted.branch,
        found.base or base,
        found.number,
        found.url,
        found.title,
    )
