"""Reads of comments, each limited to one task or doc."""

from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from paca.common.errors import NotFound
from paca.projects.models import Comment, Doc, Project, Task


def get_task(project: Project, number: int) -> Task:
    """A task of the project without what its own page shows. Raises ``NotFound`` if there is none."""
    found = Task.objects.for_project(project).filter(number=number).first()
    if found is None:
        raise NotFound(f"There is no task {project.prefix}-{number}.")
    return found


def of(target: Task | Doc) -> QuerySet[Comment]:
    """The comments on a task or doc with all that the API shows of them, in a constant number of queries.

    A deleted comment is among them if it has answers, without its text.
    """
    answers = Comment.objects.live().filter(parent=OuterRef("pk"))
    shown = target.comments.filter(Q(deleted_at=None) | Exists(answers))
    members = ("author__user", "author__agent")
    mentioned = ("mentions__member__user", "mentions__member__agent")
    return shown.select_related(*members).prefetch_related("versions", *mentioned)


def get(target: Task | Doc, comment_id: UUID) -> Comment:
    """A comment on the task or doc. Raises ``NotFound`` if there is none of this id."""
    found = of(target).select_related("parent").filter(pk=comment_id).first()
    if found is None:
        raise NotFound
    return found
