"""The page of a project's settings: its name and prefix, its statuses, task types and sprints."""

import json
from typing import Any

from django.conf import settings
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from paca.agents.api import plugins
from paca.agents.models import ModelKey
from paca.agents.services import variables
from paca.common.network_policy import PRESETS
from paca.conversations import budget_report
from paca.projects import permissions
from paca.projects.models import Member, ProjectNetwork, SprintStatus, StatusCategory
from paca.web import sandbox_images
from paca.web.views.decorators import project_page
from paca.web.views.pages import page_context

CATEGORIES = (
    (StatusCategory.BACKLOG, "Not planned"),
    (StatusCategory.TODO, "To do"),
    (StatusCategory.IN_PROGRESS, "In progress"),
    (StatusCategory.DONE, "Done"),
)

PRESET_LABELS = {"python": "Python", "npm": "npm", "github": "GitHub"}
NETWORK_PRESETS = [
    {"name": name, "label": PRESET_LABELS.get(name, name.title()), "hosts": ", ".join(hosts)}
    for name, hosts in PRESETS.items()
]


@project_page("tasks:read")
def project_settings(request: HttpRequest, member: Member) -> HttpResponse:
    """Settings for members who may write the project, sprints for those who may write tasks."""
    project = member.project
    sprints = list(project.sprints.annotate(task_count=LIVE_TASKS).order_by("created_at", "id"))
    context = page_context(
        member,
        "settings",
        statuses=_ordered(project.statuses.annotate(task_count=LIVE_TASKS)),
        task_types=_ordered(project.task_types.annotate(task_count=LIVE_TASKS)),
        categories=CATEGORIES,
        month=budget_report.of_month(project),
        server_time_zone=settings.DEFAULT_TIME_ZONE,
        networks=ProjectNetwork.choices,
        network_presets=NETWORK_PRESETS,
        network_hosts="\n".join(project.network_hosts),
        allowed_commands="\n".join(project.allowed_commands or ()),
        sprints=sprints,
        open_sprints=[each for each in sprints if each.status != SprintStatus.COMPLETED],
        may_write_project=permissions.allows(member, "projects:write"),
        may_see_keys=permissions.allows(member, "agents:write"),
        plugins=plugins.all_of(project),
        **sandbox_images.context(),
        variables=variables.listed(project),
        project_keys=ModelKey.objects.of_project(project),
        own_keys=ModelKey.objects.of_user(request.user),  # type: ignore[arg-type] # signed in
        may_delete_project=permissions.allows(member, "projects:delete"),
        may_write_tasks=permissions.allows(member, "tasks:write"),
    )
    return render(request, "web/project_settings.html", context)


LIVE_TASKS = Count("tasks", filter=Q(tasks__deleted_at__isnull=True))


def _ordered(found: QuerySet[Any]) -> list[dict[str, Any]]:
    """Each row with the others, and with the body that puts it one place higher."""
    rows = list(found.order_by("position", "id"))
    ids = [str(row.pk) for row in rows]
    return [
        {
            "row": row,
            "others": [other for other in rows if other.pk != row.pk],
            "up": _moved_up(ids, index) if index else "",
        }
        for index, row in enumerate(rows)
    ]


def _moved_up(ids: list[str], index: int) -> str:
    order = [*ids]
    order[index - 1], order[index] = order[index], order[index - 1]
    return json.dumps({"ids": order})
