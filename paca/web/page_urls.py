"""URLs that pages give to their scripts."""

import json
from uuid import UUID

from django.urls import reverse

from paca.agents.models import Agent
from paca.conversations.models import Conversation
from paca.projects import permissions
from paca.projects.models import Member, Project, Task

PLACEHOLDER = UUID(int=0)

# The pages of a project: the name of the address, the label and the icon.
PAGES = (
    ("overview", "Overview", "layout-dashboard"),
    ("board", "Board", "square-kanban"),
    ("conversations", "Conversations", "messages-square"),
    ("docs", "Docs", "file-text"),
    ("memory", "Memory", "brain"),
    ("agents", "Agents", "bot"),
    ("repositories", "Repositories", "git-branch"),
    ("team", "Team", "users"),
    ("usage", "Usage", "chart-column"),
    ("project_settings", "Settings", "settings"),
    ("inbox", "Inbox", "inbox"),
)


def start_url(agent: Agent) -> str:
    """The API URL that starts a chat with the agent."""
    return reverse("api:chat-sessions", args=[agent.project_id, agent.id])


def next_url(project_id: UUID) -> str:
    """The page URL of a conversation, with CONVERSATION in place of its id, which the script inserts."""
    address = reverse("conversation", args=[project_id, PLACEHOLDER])
    return address.replace(str(PLACEHOLDER), "CONVERSATION")


def any_conversation_url() -> str:
    """The page URL of any conversation, with PROJECT and CONVERSATION in place of the ids."""
    return _with_words(reverse("conversation", args=[PLACEHOLDER, PLACEHOLDER]), "CONVERSATION")


def any_conversation_api_url() -> str:
    """The API URL of any conversation, with PROJECT and CONVERSATION in place of the ids."""
    return _with_words(reverse("api:conversation", args=[PLACEHOLDER] * 2), "CONVERSATION")


def _with_words(address: str, *words: str) -> str:
    for word in ("PROJECT", *words):
        address = address.replace(str(PLACEHOLDER), word, 1)
    return address


def settings_url(member: Member, agent: Agent) -> str:
    """The page of the agent's settings; empty if the member may not change them."""
    if not permissions.allows(member, "agents:write"):
        return ""
    return reverse("agent_settings", args=[agent.project_id, agent.id])


def page_urls(member: Member, conversation: Conversation) -> dict[str, str]:
    """The URLs that the page of a conversation calls or links to."""
    project_id = conversation.project_id
    page = reverse("conversation", args=[project_id, conversation.id])
    export = reverse("api:conversation-export", args=[project_id, conversation.id])
    return {
        "api": reverse("api:conversation", args=[project_id, conversation.id]),
        "workers": reverse("api:workers"),
        "socket": f"/ws/conversations/{conversation.id}/",
        "project": reverse("overview", args=[project_id]),
        "conversations": reverse("conversations", args=[project_id]),
        "network": reverse("conversation_network", args=[project_id, conversation.id]),
        "exportMarkdown": f"{export}?format=markdown",
        "exportJson": f"{export}?format=json",
        "next": next_url(project_id),
        "settings": settings_url(member, conversation.agent),
        "signIn": f"{reverse('account_login')}?next={page}",
    }


def search_context(project_id: UUID) -> dict[str, str]:
    """What the search palette needs: the address of the search, and as JSON the pages to go to."""
    pages = [
        {"label": label, "icon": icon, "href": reverse(name, args=[project_id])}
        for name, label, icon in PAGES
    ]
    return {
        "search_api": reverse("api:search", args=[project_id]),
        "search_pages": json.dumps(pages),
    }


def task_urls(project: Project) -> dict[str, str]:
    """The URLs of a project's tasks, with TASK in place of a number, and of the project's socket."""
    page = reverse("task", args=[project.pk, 0])
    return {
        "tasks": reverse("api:tasks", args=[project.pk]),
        "task": page.replace("/0/", "/TASK/"),
        "socket": f"/ws/projects/{project.pk}/",
        "conversation": next_url(project.pk),
    }


def urls_of_task(task: Task) -> dict[str, str]:
    """The URLs that the page of one task calls or links to."""
    project = task.project
    one = reverse("api:task", args=[project.pk, task.number])
    return {
        **task_urls(project),
        "one": one,
        "comments": f"{one}comments/",
        "activity": f"{one}activity/",
        "branches": f"{one}branches/",
        "attachments": f"{one}attachments/",
        "write": f"{one}write-with-ai/",
        "suggestion": f"{one}suggestion/",
        "conversations": reverse("api:conversations", args=[project.pk]),
        "board": reverse("board", args=[project.pk]),
    }


def doc_urls(project: Project) -> dict[str, str]:
    """The URLs that the page of docs calls or links to, with DOC in place of a doc's id."""
    one = reverse("doc", args=[project.pk, PLACEHOLDER])
    return {
        "page": reverse("docs", args=[project.pk]),
        "doc": one.replace(str(PLACEHOLDER), "DOC"),
        "docs": reverse("api:docs", args=[project.pk]),
        "folders": reverse("api:doc-folders", args=[project.pk]),
        "socket": f"/ws/projects/{project.pk}/",
    }
