"""The fields of an entry that another program put on the bus, checked against the project."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from paca.agents.models import Agent
from paca.common.errors import NotAllowed, PacaError
from paca.projects.models import Comment, Doc, Member, Task
from paca.projects.permissions import allows

SOURCE = "stream"


class TriggerRefused(PacaError):
    """This trigger can never be accepted."""

    code = "trigger_refused"


class TriggerTooEarly(PacaError):
    """The conversation of this trigger does not exist yet; it may still come."""

    code = "trigger_too_early"


def find_agent(fields: Mapping[str, str]) -> Agent:
    """The agent of the project that the entry names. Raises ``TriggerRefused`` if there is none."""
    project_id, agent_id = uuid_in(fields, "project_id"), uuid_in(fields, "agent_id")
    rows = Agent.objects.select_related("project")
    found = rows.filter(pk=agent_id, project=project_id, project__deleted_at=None).first()
    if found is None:
        raise TriggerRefused("agent_id is no agent of the project that project_id names.")
    return found


def find_person(project_id: UUID, member_id: UUID, *permissions: str) -> Member:
    """The person on whose behalf the entry acts.

    Raises ``TriggerRefused`` if the project has no such person, ``NotAllowed`` if their role does not
    allow each of the ``permissions``.
    """
    people = Member.objects.live().with_names().filter(kind=Member.Kind.HUMAN)
    found = people.filter(pk=member_id, project=project_id, user__is_active=True).first()
    if found is None:
        raise TriggerRefused("actor_member_id is no person of the project that project_id names.")
    for permission in permissions:
        if not allows(found, permission):
            raise NotAllowed(
                f"actor_member_id names {found.name}, whose role does not allow this: it needs"
                f" {permission}."
            )
    return found


def find_task(agent: Agent, fields: Mapping[str, str]) -> Task:
    """The task that the entry names. Raises ``TriggerRefused`` if the agent's project has none of this id."""
    tasks = Task.objects.select_related("project").for_project(agent.project)
    found = tasks.filter(pk=uuid_in(fields, "task_id")).first()
    if found is None:
        raise TriggerRefused("task_id is no task of the project that project_id names.")
    return found


def find_subject(agent: Agent, fields: Mapping[str, str]) -> tuple[Task | Doc, Comment | None]:
    """The task or doc, and the comment, that a mention names.

    Raises ``TriggerRefused`` if it names none of the agent's project, or they do not belong together.
    """
    comment = _find_comment(agent, fields) if fields.get("comment_id") else None
    subject: Task | Doc | None = None
    if fields.get("task_id"):
        subject = find_task(agent, fields)
    elif fields.get("doc_id"):
        docs = Doc.objects.for_project(agent.project)
        subject = docs.filter(pk=uuid_in(fields, "doc_id")).first()
        if subject is None:
            raise TriggerRefused("doc_id is no doc of the project that project_id names.")
    elif comment is not None:
        subject = comment.task or comment.doc
    if subject is None or subject.deleted_at is not None:
        raise TriggerRefused("task_id is missing; a mention names a task, a doc or a comment.")
    if comment is not None and subject.pk not in (comment.task_id, comment.doc_id):
        raise TriggerRefused("comment_id is no comment on what task_id or doc_id names.")
    return subject, comment


def _find_comment(agent: Agent, fields: Mapping[str, str]) -> Comment:
    rows = Comment.objects.live().select_related("parent", "task__project", "doc")
    found = rows.filter(pk=uuid_in(fields, "comment_id"), project=agent.project_id).first()
    if found is None:
        raise TriggerRefused("comment_id is no comment of the project that project_id names.")
    return found


def uuid_in(fields: Mapping[str, str], name: str) -> UUID:
    """The UUID in a field. Raises ``TriggerRefused`` if it is missing or malformed."""
    given = fields.get(name, "")
    if not given:
        raise TriggerRefused(f"{name} is missing.")
    try:
        return UUID(given)
    except ValueError:
        raise TriggerRefused(f"{name} is {quote(given)}, which is not a UUID.") from None


def quote(text: str) -> str:
    """The start of the text in quotation marks; "missing" for an empty one."""
    return repr(text if len(text) <= 60 else f"{text[:60]}…") if text else "missing"
