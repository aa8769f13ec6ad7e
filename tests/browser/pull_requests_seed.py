"""A task whose agent has pushed branches and opened pull requests, and repositories in every state, made by
``manage.py shell``; no worker answers it.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction

from paca import events
from paca.agents import encryption
from paca.agents.models import Agent
from paca.conversations import store
from paca.conversations.models import Trigger, TriggerType
from paca.conversations.services import assignments, pull_requests
from paca.conversations.services.assignments import Cause
from paca.projects.models import Member
from paca.projects.services import tasks
from paca.repositories.models import GitConnection, Repository
from paca.repositories.webhooks import PullRequestNews

SERVER = "https://git.example.org"
LONG = "fix/" + "a-very-long-name-of-a-branch-" * 5 + "end"
EVIL = "javascript:document.title='owned'"


@transaction.atomic
def task() -> int:
    """Make the task; gives its number."""
    agent = Agent.objects.get(handle="guide")
    me = Member.objects.get(project=agent.project, user__username="admin")
    made = tasks.create(agent.project, title="Make the totals right", by=me)
    cause = Cause(kind=TriggerType.TASK_ASSIGNED, by=me)
    conversation = assignments.begin_or_continue(agent, made, cause)
    Trigger.objects.filter(conversation=conversation).update(state="done")
    store.append(conversation.pk, events.ConversationStopped(reason="by_person", by="a test"))
    shop = _repository(agent, "shop", state="works")
    told: dict[str, Any] = {"repository_id": str(shop.pk), "repository": "shop"}
    pushed = events.RepositoryPushed(**told, branch="only-pushed", commit="4f1c2d")
    store.append(conversation.pk, pushed)
    branches = {1: "totals", 2: "rounding", 3: "wrong-way", 4: LONG, 5: "odd-address"}
    for number, branch in branches.items():
        url = EVIL if number == 5 else f"{shop.url}/pulls/{number}"
        facts = {**told, "branch": branch, "base": "main", "number": number, "url": url}
        store.append(conversation.pk, events.PullRequestOpened(**facts))
    for number, state in ((2, "merged"), (3, "closed")):
        pull_requests.tell_end(shop, PullRequestNews(number, state, "ada"), digest=str(number))
    return made.number


@transaction.atomic
def no_repositories() -> None:
    """Unlink what other seeds have linked, and delete the connections."""
    project = Agent.objects.get(handle="guide").project
    Repository.objects.filter(project=project).delete()
    GitConnection.objects.filter(project=project).delete()


@transaction.atomic
def repositories() -> None:
    """Make a repository that was not tried yet, and two that do not work."""
    agent = Agent.objects.get(handle="guide")
    _repository(agent, "docs", state="unknown")
    refused = "git.example.org does not accept the credentials: token is revoked."
    _repository(agent, "revoked", state="fails", problem=refused)
    unreachable = "git.example.org did not answer within 15 s."
    _repository(agent, "unreachable", state="fails", problem=unreachable)


def _repository(agent: Agent, name: str, **facts: str) -> Repository:
    connection, _ = GitConnection.objects.get_or_create(
        project=agent.project,
        name="Our Gitea",
        defaults={
            "kind": "gitea",
            "base_url": SERVER,
            "auth": "token",
            "encrypted_secret": encryption.encrypt("a-token-of-tests"),
        },
    )
    found, _ = Repository.objects.get_or_create(
        project=agent.project,
        name=name,
        defaults={"connection": connection, "url": f"{SERVER}/team/{name}", **facts},
    )
    return found
