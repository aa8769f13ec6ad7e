"""The conversations of a project over the API: list, show, rename, delete, write and control."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.common.api.preconditions import require_unchanged
from paca.conversations import deletion, event_log, sandbox_queries, selectors, services
from paca.conversations.api.inputs import (
    ConversationInput,
    ConversationsQuery,
    EmptyInput,
    FollowUpInput,
    SummaryInput,
    TextInput,
)
from paca.conversations.api.serializers import (
    NO_WORKSPACE,
    ConversationSerializer,
    ConversationWorkspaceSerializer,
    ListedConversationSerializer,
    MessageReceiptSerializer,
    RecentActivityPagination,
    conversation_object,
)
from paca.projects import permissions
from paca.projects.api.base import ProjectView


class Conversations(ProjectView):
    """The conversations of a project, of all its members."""

    required_permission = "conversations:read"
    pagination_class = RecentActivityPagination

    @extend_schema(
        parameters=[ConversationsQuery],
        responses=ListedConversationSerializer(many=True),
        tags=["conversations"],
    )
    def get(self, request: Request) -> Response:
        """List the conversations, the most recently active first."""
        query = ConversationsQuery.read_query(request)
        found = selectors.find(
            self.project,
            search=query.get("search", ""),
            status=query.get("status", ""),
            agent=query.get("agent"),
            task=query.get("task"),
            archived=query["archived"],
        )
        paginator = RecentActivityPagination()
        rows: Any = paginator.paginate_queryset(found, request, view=self)
        context: dict[str, Any] = {}
        if query.get("last_words"):
            context["last_words"] = event_log.last_words([each.pk for each in rows])
        shown = ListedConversationSerializer(rows, many=True, context=context)
        return paginator.get_paginated_response(shown.data)


class OneConversation(ProjectView):
    """One conversation."""

    required_permission = {
        "GET": "conversations:read",
        "PATCH": "conversations:write",
        "DELETE": "conversations:write",
    }

    @extend_schema(responses=ConversationSerializer, tags=["conversations"])
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """Show a conversation. Its messages are among its events."""
        conversation = selectors.get(self.project, conversation_id)
        return Response(conversation_object(conversation))

    @extend_schema(
        request=ConversationInput,
        responses=ConversationSerializer,
        tags=["conversations"],
    )
    def patch(self, request: Request, conversation_id: UUID) -> Response:
        """Change its title, move it to the archive or back, or switch its trace or plan mode on or off.

        A message or Continue brings it back from the archive too.
        """
        data = ConversationInput.read(request, partial=True)
        with transaction.atomic():
            conversation = selectors.get(self.project, conversation_id, for_update=True)
            require_unchanged(request, conversation)
            if "title" in data:
                services.rename(conversation, by=self.member, title=data["title"])
            if "archived" in data:
                services.archive(conversation, by=self.member, archived=data["archived"])
            # To switch plan mode off gives the agent its tools, as an approval does.
            # guard: plan-mode-off-needs-approval
            if data.get("plan_mode") is False:
                self.require_permission(permissions.APPROVE)
            flags = {"tracing": data.get("tracing"), "plan": data.get("plan_mode")}
            services.set_flags(conversation, by=self.member, teams=data.get("teams"), **flags)
        return Response(conversation_object(selectors.get(self.project, conversation_id)))

    @extend_schema(responses={204: None}, tags=["conversations"])
    def delete(self, request: Request, conversation_id: UUID) -> Response:
        """Delete it for everybody, with its log and its files; not while the agent works (409). Its cost
        stays in the figures."""
        conversation = selectors.get(self.project, conversation_id)
        deletion.delete(conversation, by=self.member)
        return self.no_content()


class ConversationFiles(ProjectView):
    """The files in the sandbox of a conversation."""

    required_permission = {"GET": "conversations:read", "DELETE": "conversations:write"}

    @extend_schema(responses=ConversationWorkspaceSerializer, tags=["conversations"])
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """Show how much is stored in its workspace, as measured when the agent last used it."""
        conversation = selectors.get(self.project, conversation_id)
        sandbox = sandbox_queries.with_files(conversation.pk)
        return Response(ConversationWorkspaceSerializer(sandbox).data if sandbox else NO_WORKSPACE)

    @extend_schema(responses={202: ConversationSerializer}, tags=["conversations"])
    def delete(self, request: Request, conversation_id: UUID) -> Response:
        """Delete its files for good, within seconds: the log then has agent.sandbox.removed. The log
        stays, and the next message starts with an empty workspace. Not while the agent works (409)."""
        conversation = selectors.get(self.project, conversation_id)
        deletion.delete_files(conversation, by=self.member)
        return Response(conversation_object(conversation), status=202)


class Messages(ProjectView):
    """The messages that people write in a conversation."""

    required_permission = "conversations:write"

    @extend_schema(
        request=FollowUpInput,
        responses={202: MessageReceiptSerializer},
        tags=["conversations"],
    )
    @idempotent
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Write to the agent. The conversation may be another member's."""
        data = FollowUpInput.read(request)
        conversation = selectors.get(self.project, conversation_id)
        receipt = services.send(conversation, by=self.member, **data)
        return Response(MessageReceiptSerializer(receipt).data, status=202)


class QueuedMessage(ProjectView):
    """A message of yours that the agent has not read yet. ``event_seq`` is the number of its event."""

    required_permission = "conversations:write"
    takes_if_match = False

    @extend_schema(
        request=TextInput, responses={202: ConversationSerializer}, tags=["conversations"]
    )
    def patch(self, request: Request, conversation_id: UUID, event_seq: int) -> Response:
        """Change its text. If the agent was faster, the answer is 409 ``message_taken``."""
        data = TextInput.read(request)
        conversation = selectors.get(self.project, conversation_id)
        services.edit(conversation, event_seq=event_seq, by=self.member, **data)
        return self._describe(conversation_id)

    @extend_schema(responses={202: ConversationSerializer}, tags=["conversations"])
    def delete(self, request: Request, conversation_id: UUID, event_seq: int) -> Response:
        """Take it back. If the agent was faster, the answer is 409 ``message_taken``."""
        conversation = selectors.get(self.project, conversation_id)
        services.withdraw(conversation, event_seq=event_seq, by=self.member)
        return self._describe(conversation_id)

    def _describe(self, conversation_id: UUID) -> Response:
        conversation = selectors.get(self.project, conversation_id)
        return Response(conversation_object(conversation), status=202)


class LifecycleCommandView(ProjectView):
    """A lifecycle command, which the address names. A worker executes it a moment later, so the answer
    may still show the conversation as running."""

    required_permission = "conversations:write"

    def run_command(
        self, command: Callable[..., None], request: Request, conversation_id: UUID
    ) -> Response:
        """Execute the command, and answer with the conversation."""
        EmptyInput.read(request)
        command(selectors.get(self.project, conversation_id), by=self.member)
        conversation = selectors.get(self.project, conversation_id)
        return Response(conversation_object(conversation), status=202)


_command_schema = extend_schema(
    request=EmptyInput,
    responses={202: ConversationSerializer},
    tags=["conversations"],
)


class Stop(LifecycleCommandView):
    """Stops a conversation."""

    @_command_schema
    @idempotent
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """End the conversation at once. What is stored stays. An ended conversation does not change."""
        return self.run_command(services.stop, request, conversation_id)


class Pause(LifecycleCommandView):
    """Pauses a conversation."""

    @_command_schema
    @idempotent
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Let the running step end, then pause. Only a running conversation can be paused (409)."""
        return self.run_command(services.pause, request, conversation_id)


class Resume(LifecycleCommandView):
    """Resumes a paused conversation."""

    @_command_schema
    @idempotent
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Go on after a pause. Only a paused conversation can be resumed (409)."""
        return self.run_command(services.resume, request, conversation_id)


class Continue(LifecycleCommandView):
    """Continues a paused or ended conversation."""

    @_command_schema
    @idempotent
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Go on after a pause or an end, as if you had asked. A running conversation does not change."""
        return self.run_command(services.continue_, request, conversation_id)


class Compact(ProjectView):
    """Puts a summary in place of what came before."""

    required_permission = "conversations:write"

    @extend_schema(
        request=SummaryInput, responses={202: ConversationSerializer}, tags=["conversations"]
    )
    @idempotent
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Let the model read a summary in place of what came before; the log keeps everything.

        It is made before the next model call: after the running step, or before the next message is
        answered. It is left out if it would hardly be shorter; an event says so then.
        """
        data = SummaryInput.read(request)
        services.request_summary(
            selectors.get(self.project, conversation_id), by=self.member, **data
        )
        conversation = selectors.get(self.project, conversation_id)
        return Response(conversation_object(conversation), status=202)
