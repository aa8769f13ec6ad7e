"""API views of the comments on tasks and docs."""

from typing import Any, ClassVar
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.preconditions import require_unchanged
from paca.common.errors import NotAllowed
from paca.projects import comment_lists, doc_lists
from paca.projects.api.base import ProjectView
from paca.projects.api.talk_serializers import (
    CommentInput,
    CommentSerializer,
    CommentTextInput,
)
from paca.projects.models import Comment, Doc, Task
from paca.projects.services import comments

# Whoever has it may delete the comments of others.
MODERATES = "projects:write"


def _permissions(noun: str) -> dict[str, str]:
    writes = dict.fromkeys(("POST", "PATCH", "DELETE"), f"{noun}:write")
    return {"GET": f"{noun}:read", **writes}


class _CommentView(ProjectView):
    """A view of the comments on one task or doc."""

    def find_target(self, place: dict[str, Any]) -> Task | Doc:
        """The task or doc that the address names. Raises ``NotFound``."""
        if "number" in place:
            return comment_lists.get_task(self.project, place["number"])
        return doc_lists.get(self.project, place["doc_id"])


class _CommentList(_CommentView):
    """Lists and adds comments."""

    @extend_schema(responses=CommentSerializer(many=True), tags=["comments"])
    def get(self, request: Request, **place: Any) -> Response:
        """List the comments with their earlier texts."""
        found = comment_lists.of(self.find_target(place))
        return NewestFirstPagination.page_response(found, self, CommentSerializer)

    @extend_schema(request=CommentInput, responses={201: CommentSerializer}, tags=["comments"])
    @idempotent
    def post(self, request: Request, **place: Any) -> Response:
        """Comment. Members that the text mentions as `@handle` are told; agents go to work."""
        given = CommentInput.read(request)
        target = self.find_target(place)
        answered = given.get("parent")
        parent = comment_lists.get(target, answered) if answered else None
        added = comments.add(target, text=given["text"], by=self.member, parent=parent)
        return Response(CommentSerializer(comment_lists.get(target, added.pk)).data, status=201)


class _CommentDetail(_CommentView):
    """Shows, edits and deletes a comment."""

    # The parameter of the address that names the comment.
    parameter: ClassVar[str]

    @extend_schema(responses=CommentSerializer, tags=["comments"])
    def get(self, request: Request, **place: Any) -> Response:
        """Show a comment."""
        return Response(self._describe(self.find_target(place), self._id(place)))

    @extend_schema(request=CommentTextInput, responses=CommentSerializer, tags=["comments"])
    def patch(self, request: Request, **place: Any) -> Response:
        """Edit your comment. The answer 412 to `If-Match` has the present comment as `present`."""
        given = CommentTextInput.read(request)
        target, comment_id = self.find_target(place), self._id(place)
        with transaction.atomic():
            comment = self._lock(target, comment_id)
            require_unchanged(request, comment, present=lambda: self._describe(target, comment_id))
            comments.edit(comment, text=given["text"], by=self.member)
        return Response(self._describe(target, comment_id))

    @extend_schema(responses={204: None}, tags=["comments"])
    def delete(self, request: Request, **place: Any) -> Response:
        """Delete your comment for good. Who may change the project may delete those of others."""
        comment = comment_lists.get(self.find_target(place), self._id(place))
        # guard: comment-of-others-is-deleted-by-moderators
        if comment.author_id != self.member.pk and not self.has_permission(MODERATES):
            raise NotAllowed(f"Only its author may delete a comment, or a member with {MODERATES}.")
        comments.delete(comment, by=self.member)
        return self.no_content()

    def _id(self, place: dict[str, Any]) -> UUID:
        found: UUID = place[self.parameter]
        return found

    def _lock(self, target: Task | Doc, comment_id: UUID) -> Comment:
        # The row stays locked until the edit, so that nobody edits it after the check of If-Match.
        list(target.comments.filter(pk=comment_id).select_for_update(no_key=True))
        return comment_lists.get(target, comment_id)

    def _describe(self, target: Task | Doc, comment_id: UUID) -> Any:
        return CommentSerializer(comment_lists.get(target, comment_id)).data


class TaskCommentList(_CommentList):
    """Lists and adds comments on a task."""

    required_permission: ClassVar[dict[str, str]] = _permissions("tasks")


class TaskCommentDetail(_CommentDetail):
    """Shows, edits and deletes a comment on a task."""

    parameter = "comment_id"
    required_permission: ClassVar[dict[str, str]] = _permissions("tasks")


class DocCommentList(_CommentList):
    """Lists and adds comments on a doc."""

    required_permission: ClassVar[dict[str, str]] = _permissions("docs")


class DocCommentDetail(_CommentDetail):
    """Shows, edits and deletes a comment on a doc."""

    parameter = "doc_comment_id"
    required_permission: ClassVar[dict[str, str]] = _permissions("docs")
