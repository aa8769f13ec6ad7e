"""API views of the files attached to tasks."""

import tempfile
from typing import IO, Any
from uuid import UUID

from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.common.api.downloads import IN_MEMORY_BYTES, download
from paca.common.api.parsers import FileBody, FileBodyParser
from paca.common.errors import Invalid
from paca.projects import selectors
from paca.projects.api.base import ProjectView
from paca.projects.api.task_serializers import AttachmentSerializer, OldestFirstPagination
from paca.projects.services import attachments

REQUIRED_PERMISSIONS = {"GET": "tasks:read", "POST": "tasks:write", "DELETE": "tasks:write"}
NAME = OpenApiParameter("name", str, required=True, description="The name of the file.")


class AttachmentList(ProjectView):
    """Lists the files of a task and attaches one."""

    required_permission = REQUIRED_PERMISSIONS
    parser_classes = (FileBodyParser,)
    file_body: IO[bytes] | None = None

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Close the body, whatever the answer is."""
        if self.file_body is not None:
            self.file_body.close()
        return super().finalize_response(request, response, *args, **kwargs)

    @extend_schema(responses=AttachmentSerializer(many=True), tags=["tasks"])
    def get(self, request: Request, number: int) -> Response:
        """List the files of a task."""
        task = selectors.get_task(self.project, number)
        files = task.attachments.select_related("by__user", "by__agent")
        return OldestFirstPagination.page_response(files, self, AttachmentSerializer)

    @extend_schema(
        parameters=[NAME],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses={201: AttachmentSerializer},
        tags=["tasks"],
    )
    @idempotent
    def post(self, request: Request, number: int) -> Response:
        """Attach a file: the body is the file itself, `?name=` its name, `Content-Type` its type."""
        task = selectors.get_task(self.project, number)
        if str(request.content_type).startswith("multipart/"):
            raise Invalid("Send the file itself as the body, not a form.")
        # REST framework parses no body without bytes: that is an empty file.
        body = request.data if isinstance(request.data, FileBody) else None
        attachment = attachments.add(
            task,
            name=request.query_params.get("name", ""),
            content_type=str(request.content_type),
            data=() if body is None else body.chunks(),
            by=self.member,
        )
        return Response(AttachmentSerializer(attachment).data, status=201)


class AttachmentDetail(ProjectView):
    """Shows and deletes a file of a task."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=AttachmentSerializer, tags=["tasks"])
    def get(self, request: Request, number: int, attachment_id: UUID) -> Response:
        """Show the name and the size of a file."""
        task = selectors.get_task(self.project, number)
        attachment = selectors.get_attachment(task, attachment_id)
        return Response(AttachmentSerializer(attachment).data)

    @extend_schema(responses={204: None}, tags=["tasks"])
    def delete(self, request: Request, number: int, attachment_id: UUID) -> Response:
        """Delete a file with its bytes."""
        task = selectors.get_task(self.project, number)
        attachments.remove(selectors.get_attachment(task, attachment_id), by=self.member)
        return self.no_content()


class AttachmentDownload(ProjectView):
    """The bytes of a file."""

    required_permission = "tasks:read"

    @extend_schema(
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY}, tags=["tasks"]
    )
    def get(self, request: Request, number: int, attachment_id: UUID) -> HttpResponseBase:
        """Download a file. It never has a type that a browser would show."""
        task = selectors.get_task(self.project, number)
        attachment = selectors.get_attachment(task, attachment_id)
        file = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115 - download closes it
        for part in attachments.read(attachment):
            file.write(part)
        file.seek(0)
        return download(
            file,
            name=attachment.name,
            content_type=attachments.UNKNOWN_TYPE,
            size_bytes=attachment.size_bytes,
        )
