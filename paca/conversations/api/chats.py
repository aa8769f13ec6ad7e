"""A person's own chats with an agent."""

from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents import selectors as agents
from paca.conversations import selectors, services
from paca.conversations.api.flags import require_plan_right
from paca.conversations.api.inputs import (
    EmptyInput,
    FirstMessageInput,
    FollowUpInput,
    ListQuery,
)
from paca.conversations.api.serializers import (
    ChatClearedSerializer,
    ChatSessionSerializer,
    ChatStartedSerializer,
    MessageReceiptSerializer,
    RecentActivityPagination,
)
from paca.projects.api.base import ProjectView


class ChatSessions(ProjectView):
    """Your chats with this agent."""

    required_permission = {"GET": "conversations:read", "POST": "conversations:write"}
    pagination_class = RecentActivityPagination

    @extend_schema(
        parameters=[ListQuery], responses=ChatSessionSerializer(many=True), tags=["conversations"]
    )
    def get(self, request: Request, agent_id: UUID) -> Response:
        """List your chats, the latest first. The chats of others are among the conversations."""
        ListQuery.read_query(request)
        agent = agents.get(self.project, agent_id)
        return RecentActivityPagination.page_response(
            selectors.chat_sessions(agent.pk, self.member), self, ChatSessionSerializer
        )

    @extend_schema(
        request=FirstMessageInput,
        responses={201: ChatStartedSerializer},
        tags=["conversations"],
    )
    @idempotent
    def post(self, request: Request, agent_id: UUID) -> Response:
        """Start a chat with its first message. Its ``flags`` hold from its first turn on."""
        data = FirstMessageInput.read(request)
        agent = agents.get(self.project, agent_id)
        flags = data.pop("flags", {})
        require_plan_right(self, agent, flags)
        with transaction.atomic():
            receipt = services.start_chat(
                agent, by=self.member, plan=flags.pop("plan", None), **data
            )
            conversation = selectors.get(self.project, receipt.conversation_id)
            services.set_flags(conversation, by=self.member, **flags)
        started = {"session": receipt.session_id, "conversation": receipt.conversation_id}
        return Response(ChatStartedSerializer({**started, "turn": receipt.turn}).data, status=201)


class ChatMessages(ProjectView):
    """The messages of one of your chats."""

    required_permission = "conversations:write"

    @extend_schema(
        request=FollowUpInput,
        responses={202: MessageReceiptSerializer},
        tags=["conversations"],
    )
    @idempotent
    def post(self, request: Request, agent_id: UUID, session_id: UUID) -> Response:
        """Write in the chat. Its conversation continues, with its files and everything said so far."""
        data = FollowUpInput.read(request)
        agent = agents.get(self.project, agent_id)
        with transaction.atomic():
            session = selectors.get_chat_session(agent.pk, self.member, session_id, for_update=True)
            assert session.conversation is not None  # a chat without one is not found
            receipt = services.send(session.conversation, by=self.member, **data)
        return Response(MessageReceiptSerializer(receipt).data, status=202)


class ClearChat(ProjectView):
    """A new start in one of your chats."""

    required_permission = "conversations:write"

    @extend_schema(
        request=EmptyInput,
        responses={201: ChatClearedSerializer},
        tags=["conversations"],
    )
    @idempotent
    def post(self, request: Request, agent_id: UUID, session_id: UUID) -> Response:
        """Close the chat's conversation, which stays readable, and open an empty one."""
        EmptyInput.read(request)
        agent = agents.get(self.project, agent_id)
        with transaction.atomic():
            session = selectors.get_chat_session(agent.pk, self.member, session_id, for_update=True)
            opened = services.clear(session, by=self.member)
        cleared = {"session": session.pk, "conversation": opened.pk}
        return Response(ChatClearedSerializer(cleared).data, status=201)
