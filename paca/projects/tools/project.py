"""The tools that tell what the project has, and that search it."""

from __future__ import annotations

from paca.engine.tools.base import Effect, ToolArguments, ToolContext
from paca.engine.tools.formatting import to_one_line, truncate_middle
from paca.projects import permissions
from paca.projects.models import Member
from paca.projects.tools.base import Caller, ProjectTool

MAX_MEMBERS = 100
MAX_LABELS = 100
MAX_SPRINTS = 20
MAX_DESCRIPTION_BYTES = 2_000


class ReadProject(ProjectTool["ReadProject.Arguments"]):
    """Read what the project has: members with their handles, statuses, task types, labels, sprints.

    Use it before you assign or mention somebody, or set a status.
    """

    name = "read_project"
    effect = Effect.READ_ONLY
    permission = "projects:read"

    class Arguments(ToolArguments):
        pass

    def act_on(self, caller: Caller, arguments: Arguments, context: ToolContext) -> str:
        project = caller.project
        parts = [f"{project.name} (tasks {project.prefix}-1, {project.prefix}-2 ...)"]
        if project.description:
            parts.append(truncate_middle(project.description, MAX_DESCRIPTION_BYTES)[0])
        if permissions.allows(caller.member, "members:read"):
            parts.append(_members(caller))
        if permissions.allows(caller.member, "tasks:read"):
            parts.append(_task_settings(caller))
        return "\n\n".join(parts)


def _members(caller: Caller) -> str:
    live = Member.objects.live().with_names().filter(project=caller.project)
    lines = [_member_line(member, caller.member) for member in live[:MAX_MEMBERS]]
    if len(lines) == MAX_MEMBERS and (more := live.count() - MAX_MEMBERS):
        lines.append(f"[and {more} more]")
    return "\n".join(["Members:", *lines])


def _member_line(member: Member, caller: Member) -> str:
    kind = "agent" if member.kind == Member.Kind.AGENT else "person"
    you = ", you" if member.pk == caller.pk else ""
    about = member.agent.description if member.agent is not None else ""
    remark = f": {to_one_line(about)}" if about.strip() else ""
    return f"@{member.handle} ({member.name}, {kind}, {member.role.name}{you}){remark}"


def _task_settings(caller: Caller) -> str:
    project = caller.project
    statuses = ", ".join(f"{each.name} ({each.category})" for each in project.statuses.all())
    types = ", ".join(each.name for each in project.task_types.all())
    labels = ", ".join(each.name for each in project.labels.all()[:MAX_LABELS])
    sprints = project.sprints.order_by("-created_at")[:MAX_SPRINTS]
    lines = [f"Statuses: {statuses}", f"Task types: {types}", f"Labels: {labels or 'none'}"]
    for sprint in sprints:
        days = [str(day) for day in (sprint.start_date, sprint.end_date) if day]
        goal = f": {to_one_line(sprint.goal)}" if sprint.goal.strip() else ""
        lines.append(f"Sprint {sprint.name} ({', '.join([sprint.status, *days])}){goal}")
    return "\n".join(lines)
