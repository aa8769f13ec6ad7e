"""The conversations of a project, and what people ask of them."""

from collections.abc import Callable
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.common.api.preconditions import require_unchanged
from paca.conversations import deletion, selectors, services
from paca.conversations.api.serializers import (
    ByActivity,
    ConversationSerializer,
    ConversationsQuery,
    EmptyInput,
    FollowUpInput,
    MessageReceiptSerializer,
    TitleInput,
)
from paca.projects.api.base import ProjectView


class Conversations(ProjectView):
    """All of them, whoever began them."""

    required_permission = "conversations:read"
    pagination_class = ByActivity

    @extend_schema(
        parameters=[ConversationsQuery],
        responses=ConversationSerializer(many=True),
        tags=["conversations"],
    )
    def get(self, request: Request) -> Response:
        """List the conversations, the latest spoken in first."""
        asked = ConversationsQuery.asked(request)
        found = selectors.find(
            self.project,
            search=asked.get("search", ""),
            status=asked.get("status", ""),
            agent=asked.get("agent"),
        )
        return ByActivity.page_response(found, self, ConversationSerializer)


class OneConversation(ProjectView):
    """One of them."""

    required_permission = {
        "GET": "conversations:read",
        "PATCH": "conversations:write",
        "DELETE": "conversations:write",
    }

    @extend_schema(responses=ConversationSerializer, tags=["conversations"])
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """Show a conversation. What was said in it are its events."""
        conversation = selectors.get(self.project, conversation_id)
        return Response(ConversationSerializer(conversation).data)

    @extend_schema(
        request=TitleInput,
        responses=ConversationSerializer,
        tags=["conversations"],
    )
    def patch(self, request: Request, conversation_id: UUID) -> Response:
        """Give it another title."""
        given = TitleInput.read(request, partial=True)
        with transaction.atomic():
            conversation = selectors.get(self.project, conversation_id, for_update=True)
            require_unchanged(request, conversation)
            if given:
                services.rename(conversation, by=self.member, **given)
        return Response(ConversationSerializer(selectors.get(self.project, conversation_id)).data)

    @extend_schema(responses={204: None}, tags=["conversations"])
    def delete(self, request: Request, conversation_id: UUID) -> Response:
        """Delete it for everybody, with all that was said and its files; not while the agent works
        (409). What it cost stays in the figures."""
        conversation = selectors.get(self.project, conversation_id)
        deletion.delete(conversation, by=self.member)
        return self.no_content()


class Workspace(ProjectView):
    """The files in the sandbox of one."""

    required_permission = "conversations:write"

    @extend_schema(responses={202: ConversationSerializer}, tags=["conversations"])
    def delete(self, request: Request, conversation_id: UUID) -> Response:
        """Remove its files for good, within seconds: the log then says agent.sandbox.removed. What was
        said stays, and the next message begins with an empty workspace. Not while the agent works (409)."""
        conversation = selectors.get(self.project, conversation_id)
        deletion.delete_files(conversation, by=self.member)
        return Response(ConversationSerializer(conversation).data, status=202)


class Messages(ProjectView):
    """What people write in a conversation."""

    required_permission = "conversations:write"

    @extend_schema(
        request=FollowUpInput,
        responses={202: MessageReceiptSerializer},
        tags=["conversations"],
    )
    @idempotent
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Write to the agent, whoever began the conversation."""
        given = FollowUpInput.read(request)
        conversation = selectors.get(self.project, conversation_id)
        sent = services.send(conversation, by=self.member, **given)
        return Response(MessageReceiptSerializer(sent).data, status=202)


class Order(ProjectView):
    """Something asked of a conversation, said by the address alone. A run hears it in a moment, so
    the answer may still show it at work."""

    required_permission = "conversations:write"

    def carry_out(
        self, order: Callable[..., None], request: Request, conversation_id: UUID
    ) -> Response:
        """Do it, and answer with the conversation as it then stands."""
        EmptyInput.read(request)
        order(selectors.get(self.project, conversation_id), by=self.member)
        conversation = selectors.get(self.project, conversation_id)
        return Response(ConversationSerializer(conversation).data, status=202)


_order = extend_schema(
    request=EmptyInput,
    responses={202: ConversationSerializer},
    tags=["conversations"],
)


class Stop(Order):
    """The end of a run."""

    @_order
    @idempotent
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """End the run at once; what is stored stays. Ended already: nothing happens."""
        return self.carry_out(services.stop, request, conversation_id)


class Pause(Order):
    """A rest in a run."""

    @_order
    @idempotent
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Let the step under way end, then stand still. Only a running conversation can (409)."""
        return self.carry_out(services.pause, request, conversation_id)


class Resume(Order):
    """The end of a rest."""

    @_order
    @idempotent
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Go on after a pause. Only a paused conversation can (409)."""
        return self.carry_out(services.resume, request, conversation_id)


class Continue(Order):
    """Another go."""

    @_order
    @idempotent
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Go on after any end, as if you had said so. At work already: nothing happens."""
        return self.carry_out(services.continue_, request, conversation_id)
