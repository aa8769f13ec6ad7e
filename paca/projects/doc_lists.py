"""Reads of docs, their folders and versions, each limited to one project."""

from uuid import UUID

from django.db.models import QuerySet

from paca.common.errors import NotFound
from paca.projects.models import Doc, DocFolder, DocVersion, Project

UPDATED_BY = ("updated_by__user", "updated_by__agent")


def select(
    project: Project, *, folder: UUID | None = None, at_top: bool = False, deleted: bool = False
) -> QuerySet[Doc]:
    """The docs of the project: all, those in ``folder``, or those ``at_top``, which are in none.

    ``deleted`` gives only deleted ones, which can be restored.
    """
    found = Doc.objects.filter(project=project, deleted_at__isnull=not deleted)
    if folder is not None:
        found = found.filter(folder=get_folder(project, folder))
    elif at_top:
        found = found.filter(folder=None)
    return found.select_related(*UPDATED_BY)


def get(project: Project, doc_id: UUID, *, deleted: bool = False) -> Doc:
    """A doc of the project. Raises ``NotFound`` if there is none, or it is deleted and may not be."""
    found = Doc.objects.filter(project=project, pk=doc_id).select_related(*UPDATED_BY).first()
    if found is None or (found.deleted_at is not None and not deleted):
        raise NotFound("There is no such doc in this project.")
    return found


def get_folder(project: Project, folder_id: UUID) -> DocFolder:
    """A folder of the project. Raises ``NotFound`` if there is none of this id."""
    found = project.doc_folders.select_related("parent").filter(pk=folder_id).first()
    if found is None:
        raise NotFound("There is no such folder in this project.")
    return found


def versions(doc: Doc) -> QuerySet[DocVersion]:
    """The versions of a doc with their authors."""
    return doc.versions.select_related("by__user", "by__agent")


def get_version(doc: Doc, number: int) -> DocVersion:
    """A version of a doc. Raises ``NotFound`` if there is none of this number."""
    found = versions(doc).filter(number=number).first()
    if found is None:
        raise NotFound(f"The doc has no version {number}.")
    return found
