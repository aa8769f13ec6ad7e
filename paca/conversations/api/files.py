"""The files of a conversation's sandbox over the API: list, preview, download, changes, diffs, archive and upload.

Nothing here reads a workspace: each view asks a worker by a row, see ``services/files.py``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import IO, Any
from uuid import UUID

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.common.api.downloads import IN_MEMORY_BYTES, POLICY
from paca.common.api.parsers import FileBody, FileBodyParser
from paca.common.api.serializers import QuerySerializer
from paca.common.api.throttling import RequestsPerMinute
from paca.common.errors import Invalid
from paca.conversations import file_answers, selectors
from paca.conversations.models import Conversation
from paca.conversations.services import file_downloads, file_uploads, files
from paca.conversations.services.file_downloads import Begun
from paca.projects.api.base import ProjectView
from paca.sandbox.files.names import safe_part

MAX_PATH = 4096
UNKNOWN_TYPE = "application/octet-stream"
# A browser shows these in an <img> without running anything.
IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
READ = {"GET": "conversations:read"}


class FilesPerMinute(RequestsPerMinute):
    """Counts requests for files: each has a worker start a process in a sandbox."""

    scope = "files"


class PathQuery(QuerySerializer):
    """A file or folder of the workspace."""

    path = serializers.CharField(
        max_length=MAX_PATH,
        trim_whitespace=False,
        help_text="Relative to the workspace, or beginning with /workspace/.",
    )


class FolderQuery(QuerySerializer):
    """A folder of the workspace, the number of entries to skip, and how many to answer with."""

    path = serializers.CharField(
        max_length=MAX_PATH, trim_whitespace=False, default=".", help_text="By default all of it."
    )
    offset = serializers.IntegerField(min_value=0, max_value=1_000_000, default=0)
    limit = serializers.IntegerField(
        min_value=1, max_value=file_answers.MAX_ENTRIES, default=file_answers.MAX_ENTRIES
    )


class ArchiveQuery(QuerySerializer):
    """A folder of the workspace."""

    path = serializers.CharField(
        max_length=MAX_PATH, trim_whitespace=False, default=".", help_text="By default all of it."
    )


class ChangesQuery(QuerySerializer):
    """What the files are compared with."""

    base = serializers.ChoiceField(
        choices=("start", "branch"),
        default="start",
        help_text="The start of the conversation, or where the work left the base branch of a repository.",
    )


class DiffQuery(ChangesQuery):
    """A file, and what it is compared with."""

    path = serializers.CharField(max_length=MAX_PATH, trim_whitespace=False)


class UploadQuery(QuerySerializer):
    """Where an uploaded file goes."""

    name = serializers.CharField(
        max_length=1000,
        trim_whitespace=False,
        help_text="The name of the file; characters that are unsafe in names become _.",
    )
    folder = serializers.CharField(
        max_length=MAX_PATH, trim_whitespace=False, default=".", help_text="It is made if needed."
    )


class FilesView(ProjectView):
    """A view of the files of a conversation, which it finds before it reads the query: one of another project is not found."""

    required_permission = READ
    throttle_classes = (RequestsPerMinute, FilesPerMinute)
    conversation: Conversation

    def check_required_permission(self, request: Request) -> None:
        """Set ``conversation`` too. Raises ``NotFound`` if the project has none of this id."""
        super().check_required_permission(request)
        self.conversation = selectors.get(self.project, self.kwargs["conversation_id"])

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        """The answer of the sandbox. Raises what ``files.ask`` raises."""
        return files.ask(self.conversation, op, **arguments)


class Files(FilesView):
    """Lists a folder of the workspace, and takes a file."""

    required_permission = {**READ, "POST": "conversations:write"}
    parser_classes = (FileBodyParser,)
    file_body: IO[bytes] | None = None

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Close the body, whatever the answer is."""
        if self.file_body is not None:
            self.file_body.close()
        return super().finalize_response(request, response, *args, **kwargs)

    @extend_schema(
        parameters=[FolderQuery], responses=file_answers.FolderSerializer, tags=["conversations"]
    )
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """List one folder of the workspace: folders first, at most `limit` entries from `offset` on.

        A sandbox that is paused or has ended is started for it.
        """
        query = FolderQuery.read_query(request)
        return Response(file_answers.folder(self.ask("list", **query)))

    @extend_schema(
        parameters=[UploadQuery],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses={201: file_answers.UploadedSerializer},
        tags=["conversations"],
    )
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Store a file in the workspace: the body is the file itself. It replaces no file: the name gets a number then.

        The same file sent again is stored once, so a request without an answer can be repeated. Archives stay packed.
        """
        query = UploadQuery.read_query(request)
        if str(request.content_type).startswith("multipart/"):
            raise Invalid("Send the file itself as the body, not a form.")
        # REST framework parses no body without bytes: that is an empty file.
        body = request.data if isinstance(request.data, FileBody) else None
        data = () if body is None else body.chunks()
        return Response(
            file_uploads.upload(self.conversation, data=data, by=self.member, **query), status=201
        )


class FilePreview(FilesView):
    """What is in a file."""

    @extend_schema(
        parameters=[PathQuery], responses=file_answers.FilePreviewSerializer, tags=["conversations"]
    )
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """Show a text file, up to 512 KiB of it; of another file its kind, type and size."""
        query = PathQuery.read_query(request)
        return Response(file_answers.preview(self.ask("show", **query)))


class FileContent(FilesView):
    """The bytes of a file."""

    @extend_schema(
        parameters=[PathQuery],
        responses={(200, UNKNOWN_TYPE): OpenApiTypes.BINARY},
        tags=["conversations"],
    )
    def get(self, request: Request, conversation_id: UUID) -> HttpResponseBase:
        """Download one file of up to 512 MiB. It has no type that a browser would show as a page."""
        query = PathQuery.read_query(request)
        begun = file_downloads.begin(
            self.conversation, "download", query, in_memory=IN_MEMORY_BYTES
        )
        name = safe_part(query["path"].rstrip("/").rpartition("/")[2])
        # guard: downloads-have-no-active-type
        media = begun.head["media"] if begun.head.get("media") in IMAGE_TYPES else UNKNOWN_TYPE
        return _download(begun, name=name, media=media)


class FileArchive(FilesView):
    """All files as a zip."""

    @extend_schema(
        parameters=[ArchiveQuery],
        responses={(200, "application/zip"): OpenApiTypes.BINARY},
        tags=["conversations"],
    )
    def get(self, request: Request, conversation_id: UUID) -> HttpResponseBase:
        """Download all files of a folder as a zip, up to 20,000 files and 512 MiB.

        Links are left out, and folders that programs fill, such as `node_modules` and `.git`. The zip tells what is not in it.
        """
        query = ArchiveQuery.read_query(request)
        begun = file_downloads.begin(self.conversation, "archive", query)
        folder = query["path"].rstrip("/").rpartition("/")[2]
        name = "files" if folder in ("", ".", "..") else safe_part(folder)
        return _download(begun, name=f"{name}.zip", media="application/zip")


class FileChanges(FilesView):
    """Which files have changed."""

    @extend_schema(
        parameters=[ChangesQuery], responses=file_answers.ChangesSerializer, tags=["conversations"]
    )
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """List the files that have changed, by commands too. A conversation begins with an empty workspace, so every file outside
        of repositories is new; in a fork those that have changed since its files were copied."""
        query = ChangesQuery.read_query(request)
        found = files.ask(self.conversation, "changes", **query, **_start_of(self.conversation))
        return Response(file_answers.changes(found))


class FileDiff(FilesView):
    """How one file has changed."""

    @extend_schema(
        parameters=[DiffQuery], responses=file_answers.DiffSerializer, tags=["conversations"]
    )
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """Show the change of one file as a unified diff, made inside the sandbox."""
        query = DiffQuery.read_query(request)
        found = files.ask(self.conversation, "diff", **query, **_start_of(self.conversation))
        return Response(file_answers.diff(found))


def _start_of(conversation: Conversation) -> dict[str, Any]:
    owner = conversation.parent_id or conversation.pk
    return {"commits": files.cloned_commits(owner), "since": files.copied_at(owner)}


def _download(begun: Begun, *, name: str, media: str) -> HttpResponseBase:
    headers = {
        "Content-Type": media,
        "Content-Disposition": content_disposition_header(True, name),
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "private, no-store",
    }
    size = begun.head.get("size")
    if isinstance(size, int):
        headers["Content-Length"] = str(size)
    if begun.data is not None:
        return HttpResponse(begun.data, headers=headers)
    return StreamingHttpResponse(_Stream(begun.request.pk), headers=headers)


class _Stream:
    """Reads the parts of a download as fast as the client takes them."""

    def __init__(self, request_id: UUID) -> None:
        self._parts = file_downloads.read_parts(request_id)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._parts
