"""Services for docs and their versions."""

from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from paca.common import validation
from paca.common.errors import Invalid, NotFound
from paca.common.text import to_storable
from paca.projects import search_entries, signals
from paca.projects.models import (
    ActivityKind,
    Doc,
    DocFolder,
    DocVersion,
    Member,
    Project,
)
from paca.projects.services import timeline
from paca.projects.services.timeline import Change, change_of

CONTENT = ("title", "text")
CHANGEABLE = (*CONTENT, "folder", "position")
# The distance between docs, so that others fit between them.
GAP = 1024.0


@transaction.atomic
def create(
    project: Project,
    *,
    title: str,
    by: Member,
    text: str = "",
    folder: DocFolder | None = None,
    position: float | None = None,
) -> Doc:
    """Make a doc with its first version, by default as the last one of its folder.

    Raises ``Invalid`` if a value is not valid or the folder is of another project.
    """
    doc = Doc(project=project, updated_by=by)
    fields = {"title": title, "text": text, "folder": folder}
    _set(doc, {**fields, "position": _last(project, folder) if position is None else position})
    doc.save(force_insert=True)
    _add_version(doc, by)
    timeline.record(doc, ActivityKind.DOC_CREATED, actor=by)
    _publish(doc)
    return doc


@transaction.atomic
def change(doc: Doc, *, by: Member, **fields: Any) -> Doc:
    """Change a doc as it is stored now; ``doc`` is loaded again.

    ``fields``: ``title``, ``text``, ``folder`` and ``position``. Each change of title or text makes one
    version; values that it has already change nothing.

    Raises ``Invalid`` if a value is not valid, ``NotFound`` if the doc is deleted, and ``TypeError`` for
    an unknown field.
    """
    _lock(doc)
    before = doc.position
    changes = _set(doc, fields)
    if any(change["field"] in CONTENT for change in changes):
        doc.version, doc.updated_by = doc.version + 1, by
    if changes:
        doc.save()
        timeline.record(doc, ActivityKind.DOC_UPDATED, actor=by, changes=changes)
    elif doc.position != before:
        # A place is no content: somebody who edits the text meanwhile may save it.
        doc.save(update_fields=["position"])
    else:
        return doc
    if any(change["field"] in CONTENT for change in changes):
        _add_version(doc, by)
    _publish(doc)
    return doc


@transaction.atomic
def append(doc: Doc, *, text: str, by: Member) -> Doc:
    """Add a text at the end of a doc as it is stored now, as a new version.

    Raises ``Invalid`` if the doc gets too long, and ``NotFound`` if it is deleted.
    """
    _lock(doc)
    return change(doc, by=by, text=f"{doc.text.rstrip()}\n\n{text.strip()}\n".lstrip("\n"))


def restore_version(doc: Doc, *, number: int, by: Member) -> Doc:
    """Give the doc the title and text of an earlier version, as its newest version.

    Raises ``NotFound`` if the doc is deleted or has no such version.
    """
    with transaction.atomic():
        _lock(doc)
        version = doc.versions.filter(number=number).first()
        if version is None:
            raise NotFound
        return change(doc, by=by, title=version.title, text=version.text)


@transaction.atomic
def delete(doc: Doc, *, by: Member) -> None:
    """Delete a doc. Its row stays, so it can be restored. Raises ``NotFound`` if it is deleted already."""
    _lock(doc)
    doc.deleted_at = timezone.now()
    doc.save(update_fields=["deleted_at", "updated_at"])
    timeline.record(doc, ActivityKind.DOC_DELETED, actor=by)
    _publish(doc)


@transaction.atomic
def restore(doc: Doc, *, by: Member) -> Doc:
    """Bring a deleted doc back with its comments. A doc that is not deleted stays as it is."""
    _lock(doc, deleted=True)
    if doc.deleted_at is not None:
        doc.deleted_at = None
        doc.save(update_fields=["deleted_at", "updated_at"])
        timeline.record(doc, ActivityKind.DOC_RESTORED, actor=by)
        _publish(doc, with_comments=True)
    return doc


def _lock(doc: Doc, *, deleted: bool = False) -> None:
    doc.refresh_from_db(
        from_queryset=Doc.objects.select_for_update(of=("self",), no_key=True).select_related(
            "folder"
        )
    )
    if doc.deleted_at is not None and not deleted:
        raise NotFound("This doc is deleted.")


def _set(doc: Doc, fields: dict[str, Any]) -> list[Change]:
    """Set the fields without saving. Gives the changes, but for that of the place, in words."""
    changes = []
    for name, value in fields.items():
        if name not in CHANGEABLE:
            raise TypeError(f"a doc's {name!r} cannot be set")
        new = to_storable(value) if name in CONTENT else value
        new = new.strip() if name == "title" else new
        old = getattr(doc, name)
        if old != new:
            setattr(doc, name, new)
            if name != "position":
                changes.append(change_of(name, str(old or "") or None, str(new or "") or None))
    if doc.folder is not None and doc.folder.project_id != doc.project_id:
        raise Invalid(fields={"folder": ["This folder belongs to another project."]})
    validation.check(doc, exclude=("project", "folder", "updated_by"))
    return changes


def _last(project: Project, folder: DocFolder | None) -> float:
    beside = Doc.objects.filter(project=project, folder=folder)
    highest: float | None = beside.aggregate(highest=Max("position"))["highest"]
    return 0.0 if highest is None else highest + GAP


def _add_version(doc: Doc, by: Member) -> None:
    DocVersion.objects.create(doc=doc, number=doc.version, title=doc.title, text=doc.text, by=by)


def _publish(doc: Doc, *, with_comments: bool = False) -> None:
    """Bring the search index up to date and tell open pages."""
    search_entries.put(doc, with_comments=with_comments)
    signals.project_changed.send(sender=Doc, project_id=doc.project_id, noun="doc", id=doc.pk)
