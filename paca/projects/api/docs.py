"""API views of docs, their versions and folders."""

from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.preconditions import require_unchanged
from paca.common.errors import Invalid
from paca.projects import doc_lists
from paca.projects.api.base import ProjectView
from paca.projects.api.talk_serializers import (
    DocFolderInput,
    DocFolderSerializer,
    DocInput,
    DocQuery,
    DocSerializer,
    DocSummarySerializer,
    DocVersionSerializer,
    DocVersionSummarySerializer,
)
from paca.projects.models import DocFolder
from paca.projects.services import doc_folders, docs

REQUIRED_PERMISSIONS = {
    "GET": "docs:read",
    "POST": "docs:write",
    "PATCH": "docs:write",
    "DELETE": "docs:write",
}


class _DocView(ProjectView):
    """A view of docs or folders."""

    required_permission = REQUIRED_PERMISSIONS

    def describe(self, doc_id: UUID) -> Any:
        """The doc as it is now."""
        return DocSerializer(doc_lists.get(self.project, doc_id)).data

    def with_folder(self, given: dict[str, Any], name: str) -> dict[str, Any]:
        """The input with the folder that its id under ``name`` means. Raises ``NotFound``."""
        if given.get(name) is not None:
            given[name] = doc_lists.get_folder(self.project, given[name])
        return given


class DocList(_DocView):
    """Lists and makes docs."""

    @extend_schema(parameters=[DocQuery], responses=DocSerializer(many=True), tags=["docs"])
    def get(self, request: Request) -> Response:
        """List docs, the newest first. Their order in a folder is `position`."""
        query = DocQuery.read_query(request)
        folder, at_top = _read_folder(query.get("folder"))
        found = doc_lists.select(
            self.project, folder=folder, at_top=at_top, deleted=query["deleted"]
        )
        if query["text"]:
            return NewestFirstPagination.page_response(found, self, DocSerializer)
        return NewestFirstPagination.page_response(found.defer("text"), self, DocSummarySerializer)

    @extend_schema(request=DocInput, responses={201: DocSerializer}, tags=["docs"])
    @idempotent
    def post(self, request: Request) -> Response:
        """Make a doc."""
        given = self.with_folder(DocInput.read(request), "folder")
        doc = docs.create(self.project, by=self.member, **given)
        return Response(self.describe(doc.pk), status=201)


class DocDetail(_DocView):
    """Shows, changes and deletes a doc."""

    @extend_schema(responses=DocSerializer, tags=["docs"])
    def get(self, request: Request, doc_id: UUID) -> Response:
        """Show a doc."""
        return Response(self.describe(doc_id))

    @extend_schema(request=DocInput, responses=DocSerializer, tags=["docs"])
    def patch(self, request: Request, doc_id: UUID) -> Response:
        """Change a doc. The answer 412 to `If-Match` has the present doc as `present`."""
        given = self.with_folder(DocInput.read(request, partial=True), "folder")
        with transaction.atomic():
            # Locked until the change, so that nobody changes it after the check of If-Match.
            list(self.project.docs.filter(pk=doc_id).select_for_update(no_key=True))
            doc = doc_lists.get(self.project, doc_id)
            require_unchanged(request, doc, present=lambda: self.describe(doc_id))
            docs.change(doc, by=self.member, **given)
        return Response(self.describe(doc_id))

    @extend_schema(responses={204: None}, tags=["docs"])
    def delete(self, request: Request, doc_id: UUID) -> Response:
        """Delete a doc. It can be restored."""
        docs.delete(doc_lists.get(self.project, doc_id), by=self.member)
        return self.no_content()


class DocRestore(_DocView):
    """Restores a deleted doc."""

    @extend_schema(request=None, responses=DocSerializer, tags=["docs"])
    @idempotent
    def post(self, request: Request, doc_id: UUID) -> Response:
        """Bring a deleted doc back with its comments."""
        docs.restore(doc_lists.get(self.project, doc_id, deleted=True), by=self.member)
        return Response(self.describe(doc_id))


class DocVersionList(_DocView):
    """Lists the versions of a doc."""

    @extend_schema(responses=DocVersionSummarySerializer(many=True), tags=["docs"])
    def get(self, request: Request, doc_id: UUID) -> Response:
        """List the versions of a doc without their texts, the newest first."""
        found = doc_lists.versions(doc_lists.get(self.project, doc_id)).defer("text")
        return NewestFirstPagination.page_response(found, self, DocVersionSummarySerializer)


class DocVersionDetail(_DocView):
    """Shows a version of a doc."""

    @extend_schema(responses=DocVersionSerializer, tags=["docs"])
    def get(self, request: Request, doc_id: UUID, version: int) -> Response:
        """Show a version of a doc."""
        found = doc_lists.get_version(doc_lists.get(self.project, doc_id), version)
        return Response(DocVersionSerializer(found).data)


class DocVersionRestore(_DocView):
    """Restores a version of a doc."""

    @extend_schema(request=None, responses=DocSerializer, tags=["docs"])
    @idempotent
    def post(self, request: Request, doc_id: UUID, version: int) -> Response:
        """Give the doc the title and text of an earlier version, as a new version."""
        doc = doc_lists.get(self.project, doc_id)
        docs.restore_version(doc, number=version, by=self.member)
        return Response(self.describe(doc_id))


class DocFolderList(_DocView):
    """Lists and makes folders."""

    @extend_schema(responses=DocFolderSerializer(many=True), tags=["docs"])
    def get(self, request: Request) -> Response:
        """List the folders of docs."""
        found = self.project.doc_folders.all()
        return NewestFirstPagination.page_response(found, self, DocFolderSerializer)

    @extend_schema(request=DocFolderInput, responses={201: DocFolderSerializer}, tags=["docs"])
    @idempotent
    def post(self, request: Request) -> Response:
        """Make a folder."""
        given = self.with_folder(DocFolderInput.read(request), "parent")
        folder = doc_folders.create(self.project, by=self.member, **given)
        return Response(DocFolderSerializer(folder).data, status=201)


class DocFolderDetail(_DocView):
    """Shows, changes and deletes a folder."""

    @extend_schema(responses=DocFolderSerializer, tags=["docs"])
    def get(self, request: Request, folder_id: UUID) -> Response:
        """Show a folder."""
        return Response(DocFolderSerializer(doc_lists.get_folder(self.project, folder_id)).data)

    @extend_schema(request=DocFolderInput, responses=DocFolderSerializer, tags=["docs"])
    def patch(self, request: Request, folder_id: UUID) -> Response:
        """Change a folder. The answer 412 to `If-Match` has the present folder as `present`."""
        given = self.with_folder(DocFolderInput.read(request, partial=True), "parent")
        with transaction.atomic():
            doc_folders.lock_folders(self.project.pk)
            folder = doc_lists.get_folder(self.project, folder_id)
            require_unchanged(request, folder, present=lambda: DocFolderSerializer(folder).data)
            doc_folders.change(folder, by=self.member, **given)
        return Response(DocFolderSerializer(folder).data)

    @extend_schema(responses={204: None}, tags=["docs"])
    def delete(self, request: Request, folder_id: UUID) -> Response:
        """Delete a folder. What is in it moves to the folder above."""
        folder: DocFolder = doc_lists.get_folder(self.project, folder_id)
        doc_folders.delete(folder, by=self.member)
        return self.no_content()


def _read_folder(given: str | None) -> tuple[UUID | None, bool]:
    """The folder of the query, and whether it means the docs that are in none. Raises ``Invalid``."""
    if given is None or given == "none":
        return None, given == "none"
    try:
        return UUID(given), False
    except ValueError:
        raise Invalid(fields={"folder": ["Give the id of a folder, or none."]}) from None
