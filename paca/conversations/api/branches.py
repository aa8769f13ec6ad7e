"""The branches and pull requests of a conversation, over the API."""

from __future__ import annotations

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.common.api.pagination import NewestFirstPagination
from paca.conversations import selectors
from paca.conversations.models import ConversationBranch
from paca.projects.api.base import ProjectView
from paca.projects.selectors import get_task


class ConversationBranchSerializer(serializers.ModelSerializer[ConversationBranch]):
    """A branch that a conversation has cloned, pushed, or opened a pull request of."""

    conversation_id = serializers.UUIDField()
    repository_id = serializers.UUIDField()
    repository = serializers.CharField(source="repository.name")
    base = serializers.CharField(help_text="The commit that was cloned; empty if none was.")
    pushed = serializers.CharField(help_text="The commit that was pushed last; empty if none was.")
    base_branch = serializers.CharField(help_text="Where the pull request goes; else empty.")
    state = serializers.CharField(
        help_text="Of the pull request: open, merged or closed; empty if there is none."
    )

    class Meta:
        model = ConversationBranch
        fields = (
            "id",
            "conversation_id",
            "repository_id",
            "repository",
            "branch",
            "base",
            "pushed",
            "base_branch",
            "pr_number",
            "pr_url",
            "state",
            "created_at",
            "updated_at",
        )


class ConversationBranches(ProjectView):
    """The branches of a conversation."""

    required_permission = {"GET": "conversations:read"}

    @extend_schema(responses=ConversationBranchSerializer(many=True), tags=["conversations"])
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """List the branches that the conversation and its helpers work on, with their pull requests, the newest first."""
        conversation = selectors.get(self.project, conversation_id)
        family = conversation.parent_id or conversation.pk
        rows = ConversationBranch.objects.filter(conversation=family)
        found = rows.select_related("repository")
        return NewestFirstPagination.page_response(found, self, ConversationBranchSerializer)


class TaskBranches(ProjectView):
    """The branches of the conversations on a task."""

    required_permission = {"GET": "conversations:read"}

    @extend_schema(responses=ConversationBranchSerializer(many=True), tags=["conversations"])
    def get(self, request: Request, number: int) -> Response:
        """List the branches on which agents work for the task, with their pull requests, the newest first."""
        task = get_task(self.project, number)
        rows = ConversationBranch.objects.filter(
            conversation__task=task, conversation__deleted_at=None
        )
        found = rows.select_related("repository")
        return NewestFirstPagination.page_response(found, self, ConversationBranchSerializer)
