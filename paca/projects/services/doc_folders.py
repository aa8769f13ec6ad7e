"""Services for the folders of docs."""

from typing import Any

from django.db import transaction

from paca.common import validation
from paca.common.errors import Conflict, Invalid, NotFound
from paca.common.text import to_storable
from paca.projects import signals
from paca.projects.models import DocFolder, Member, Project

CHANGEABLE = ("name", "parent", "position")
MAX_DEPTH = 10


class FolderNameTaken(Conflict):
    """The folder above has a folder of the same name as one in here; rename one of them first."""

    code = "folder_name_taken"


@transaction.atomic
def create(
    project: Project,
    *,
    name: str,
    by: Member,
    parent: DocFolder | None = None,
    position: float = 0.0,
) -> DocFolder:
    """Make a folder. Raises ``Invalid`` if its name is empty or taken in its folder, or it is too deep."""
    lock_folders(project.pk)
    folder = DocFolder(project=project)
    _set(folder, {"name": name, "parent": parent, "position": position})
    folder.save(force_insert=True)
    _publish(folder)
    return folder


@transaction.atomic
def change(folder: DocFolder, *, by: Member, **fields: Any) -> DocFolder:
    """Change the ``name``, the ``parent`` or the ``position`` of a folder, with all that is in it.

    Raises ``Invalid`` if the name is empty or taken, if the folder would be in itself or too deep, and
    ``NotFound`` if it was deleted meanwhile. Raises ``TypeError`` for another field.
    """
    lock_folders(folder.project_id)
    _reload(folder)
    _set(folder, fields)
    folder.save()
    _publish(folder)
    return folder


@transaction.atomic
def delete(folder: DocFolder, *, by: Member) -> None:
    """Delete a folder. The docs and folders in it move to the folder above.

    Raises ``FolderNameTaken`` if a folder in it has a name that is taken there, and ``NotFound`` if it
    was deleted meanwhile.
    """
    lock_folders(folder.project_id)
    _reload(folder)
    inside = set(folder.folders.values_list("name", flat=True))
    above = DocFolder.objects.filter(project_id=folder.project_id, parent=folder.parent_id)
    if above.exclude(pk=folder.pk).filter(name__in=inside).exists():
        raise FolderNameTaken
    folder.docs.update(folder=folder.parent_id)
    # A folder may have the name of the one that holds it, so that one goes first.
    children = list(folder.folders.values_list("pk", flat=True))
    if folder.name in inside:
        DocFolder.objects.filter(pk=folder.pk).update(name=str(folder.pk))
    DocFolder.objects.filter(pk__in=children).update(parent=folder.parent_id)
    folder.delete()
    _publish(folder)


def lock_folders(project_id: Any) -> None:
    """Let no other transaction move folders of the project until this one ends: two moves make a circle."""
    Project.objects.select_for_update(no_key=True).get(pk=project_id)


def _reload(folder: DocFolder) -> None:
    try:
        folder.refresh_from_db()
    except DocFolder.DoesNotExist:
        raise NotFound("This folder is deleted.") from None


def _set(folder: DocFolder, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        if name not in CHANGEABLE:
            raise TypeError(f"a folder's {name!r} cannot be set")
        setattr(folder, name, to_storable(value).strip() if name == "name" else value)
    _check_place(folder)
    validation.check(folder)


def _check_place(folder: DocFolder) -> None:
    """Raises ``Invalid`` if the folder's parent is of another project, in the folder, or too deep."""
    if folder.parent is not None and folder.parent.project_id != folder.project_id:
        raise Invalid(fields={"parent": ["This folder belongs to another project."]})
    rows = DocFolder.objects.filter(project_id=folder.project_id).values_list("pk", "parent_id")
    parents: dict[Any, Any] = dict(rows)
    parents[folder.pk] = folder.parent_id
    deepest = max(_depth(parents, pk) for pk in parents)
    if deepest > len(parents):
        raise Invalid(fields={"parent": ["A folder cannot be in itself."]})
    if deepest > MAX_DEPTH:
        raise Invalid(fields={"parent": [f"Folders can be {MAX_DEPTH} deep."]})


def _depth(parents: dict[Any, Any], folder: Any) -> int:
    """How deep a folder is, from 1; more than there are folders if it is in a circle."""
    depth = 0
    while folder is not None and depth <= len(parents):
        folder, depth = parents.get(folder), depth + 1
    return depth


def _publish(folder: DocFolder) -> None:
    signals.project_changed.send(
        sender=DocFolder, project_id=folder.project_id, noun="doc_folder", id=folder.pk
    )
