"""The pages of a project's tasks: the board and one task."""

import json
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from paca.projects import permissions, selectors
from paca.projects.models import Member, Task
from paca.web import page_urls
from paca.web.selectors import members_of, task_settings
from paca.web.views.decorators import project_page
from paca.web.views.pages import page_context


@project_page("tasks:read")
def board(request: HttpRequest, member: Member) -> HttpResponse:
    """The tasks as a board or a list. The element <paca-board> loads and renders them."""
    project = member.project
    page = {
        **_shared(member),
        "urls": {
            "board": reverse("api:task-board", args=[project.pk]),
            "bulk": reverse("api:task-bulk", args=[project.pk]),
            **page_urls.task_urls(project),
        },
    }
    context = page_context(member, "board", page=page, page_json=json.dumps(page))
    context["may_write_tasks"] = page["mayWrite"]
    return render(request, "web/board.html", context)


@project_page("tasks:read")
def task(request: HttpRequest, member: Member, number: int) -> HttpResponse:
    """One task. The element <paca-task> loads and renders it.

    Raises ``Http404`` if the project has no such task.
    """
    found = Task.objects.for_project(member.project).filter(number=number).first()
    if found is None:
        raise Http404
    found.project = member.project
    page = {
        **_shared(member),
        "number": number,
        "key": found.key,
        "mayChat": permissions.allows(member, "conversations:write"),
        "mayReadConversations": permissions.allows(member, "conversations:read"),
        "urls": page_urls.urls_of_task(found),
    }
    context = page_context(member, "board", task=found, page=page, page_json=json.dumps(page))
    return render(request, "web/task.html", context)


def _shared(member: Member) -> dict[str, Any]:
    """What the board and a task both need: the members, the project's task settings, what I may do."""
    return {
        "me": selectors.describe_member(member),
        "members": [selectors.describe_member(each) for each in members_of(member.project)],
        "mayWrite": permissions.allows(member, "tasks:write"),
        "mayComment": permissions.allows(member, "tasks:write"),
        **task_settings(member.project),
    }
