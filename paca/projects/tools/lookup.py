"""Finds the rows that a model names: tasks by key, members by handle, statuses and others by name.

Everything is looked for in the caller's project only. An error lists the names that exist there.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Q

from paca.common.errors import Invalid, NotFound
from paca.projects.models import Comment, Doc, DocFolder, Member, Project, Sprint, Task

Row = TypeVar("Row")

MAX_NAMED = 15
MAX_NUMBER = 2_147_483_647
_KEY = re.compile(r"#?(?:([A-Za-z][A-Za-z0-9]{0,9})-)?([0-9]{1,10})")


def task(project: Project, key: str) -> Task:
    """The task with this key or number. Raises ``NotFound`` if the project has none."""
    match = _KEY.fullmatch(key.strip())
    is_here = match is not None and (match[1] or project.prefix).upper() == project.prefix
    if match is not None and is_here and int(match[2]) <= MAX_NUMBER:
        tasks = Task.objects.for_project(project).select_related("status", "type", "sprint")
        found = tasks.filter(number=int(match[2])).first()
        if found is not None:
            found.project = project
            return found
    raise NotFound(
        f"There is no task {key!r} in this project. Keys look like {project.prefix}-4;"
        " list_tasks and search_project find them."
    )


def tasks(project: Project, keys: Iterable[str]) -> list[Task]:
    """The tasks with these keys. Raises ``NotFound`` for the first that the project does not have."""
    return [task(project, key) for key in keys]


def member(project: Project, handle: str) -> Member:
    """The member with this handle, with or without "@". Raises ``NotFound`` if there is none."""
    wanted = handle.strip().removeprefix("@")
    live = Member.objects.live().with_names().filter(project=project)
    named = live.filter(Q(user__username__iexact=wanted) | Q(agent__handle__iexact=wanted))
    # A person comes first, as in a mention, should an agent have got the same name.
    found = named.order_by("-kind").first()
    if found is not None:
        return found
    handles = [each.handle for each in live[:200]]
    raise NotFound(f"No member has the handle {handle!r}. {_known('Handles', wanted, handles)}")


def members(project: Project, handles: Iterable[str]) -> list[Member]:
    """The members with these handles. Raises ``NotFound`` for the first that there is not."""
    return [member(project, handle) for handle in handles]


def named(rows: Iterable[Row], name: str, *, noun: str) -> Row:
    """The row with this name, in any case, and also as models write names: ``in_progress``.

    Raises ``NotFound``, which lists the names there are.
    """
    found = list(rows)
    for form in (str.casefold, _without_spaces):
        alike = [row for row in found if form(str(row)) == form(name.strip())]
        if len(alike) == 1:
            return alike[0]
    known = _known("They are", name.strip(), [str(row) for row in found])
    raise NotFound(f"The project has no {noun} {name!r}. {known}")


def sprint(project: Project, name: str) -> Sprint:
    """The sprint with this name. Raises ``NotFound`` if there is none."""
    return named(project.sprints.order_by("-created_at")[:500], name, noun="sprint")


def doc(project: Project, name: str) -> Doc:
    """The doc with this id, or the only one with this title.

    Raises ``NotFound`` if there is none, and ``Invalid`` if several have the title.
    """
    docs = Doc.objects.for_project(project)
    found = list(docs.filter(title__iexact=name.strip())[: MAX_NAMED + 1])
    if not found:
        found = _with_id(docs.filter, name)
    if not found:
        titles = list(docs.order_by("-updated_at").values_list("title", flat=True)[:200])
        raise NotFound(f"There is no doc {name!r}. {_known('Docs', name, titles)}")
    if len(found) > 1:
        ids = ", ".join(str(each.pk) for each in found[:MAX_NAMED])
        raise Invalid(f"Several docs have the title {name!r}. Name one by its id: {ids}.")
    return found[0]


def folder(project: Project, path: str) -> DocFolder | None:
    """The folder of docs at this path, such as ``Guides/Setup``; None for the top.

    Raises ``NotFound`` if there is none.
    """
    found: DocFolder | None = None
    for name in filter(None, (part.strip() for part in path.split("/"))):
        inside = project.doc_folders.filter(parent=found)
        step = inside.filter(name__iexact=name).first()
        if step is None:
            place = f"the folder {found.name}" if found else "the project"
            raise NotFound(
                f"There is no folder {name!r} in {place}. "
                + _known("Folders there", name, list(inside.values_list("name", flat=True)[:200]))
            )
        found = step
    return found


def comment(of: Task | Doc, comment_id: str) -> Comment:
    """The comment with this id, or with an id that begins so. Raises ``NotFound`` if there is none."""
    wanted = comment_id.strip().lower().removeprefix("#")
    live = {str(pk): pk for pk in of.comments.live().values_list("pk", flat=True)}
    found = [pk for text, pk in live.items() if len(wanted) >= SHORT_ID and text.startswith(wanted)]
    if len(found) != 1:
        raise NotFound(
            f"There is no comment {comment_id!r} there. Its id stands before each comment."
        )
    return of.comments.get(pk=found[0])


SHORT_ID = 8


def day(text: str, *, field: str) -> date | None:
    """The day; None for the empty text. Raises ``Invalid`` if there is no such day."""
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise Invalid(fields={field: [f"{text} is no day of the calendar."]}) from None


def _without_spaces(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name.casefold())


def _with_id(find: Callable[..., Iterable[Row]], text: str) -> list[Row]:
    try:
        return list(find(pk=text.strip()))
    except (ValidationError, ValueError):
        return []


def _known(words: str, wanted: str, names: Sequence[str]) -> str:
    """The names that exist; of many, those that resemble the wanted one come first."""
    if not names:
        return "There are none."
    if len(names) <= MAX_NAMED:
        return f"{words}: {', '.join(names)}."
    alike = difflib.get_close_matches(wanted, names, n=3)
    ordered = [*alike, *(name for name in names if name not in alike)]
    return f"{words}: {', '.join(ordered[:MAX_NAMED])} and {len(ordered) - MAX_NAMED} more."
