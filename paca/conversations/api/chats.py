"""A person's own chats with an agent."""

from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents import selectors as agents
from paca.conversations import selectors, services
from paca.conversations.api.serializers import (
    IDEMPOTENCY_KEY,
    ByActivity,
    ChatBegunOut,
    ChatClearedOut,
    ChatSessionOut,
    FollowUpIn,
    ListQuery,
    MessageIn,
    NothingIn,
    SentOut,
)
from paca.projects.api.base import ProjectView


class ChatSessions(ProjectView):
    """Your chats with this agent."""

    required_permission = {"GET": "conversations:read", "POST": "conversations:write"}
    pagination_class = ByActivity

    @extend_schema(
        parameters=[ListQuery], responses=ChatSessionOut(many=True), tags=["conversations"]
    )
    def get(self, request: Request, agent_id: UUID) -> Response:
        """List them, the latest first. What others chat about stands in the conversations."""
        ListQuery.asked(request)
        agent = agents.get(self.project, agent_id)
        return ByActivity.answer(selectors.sessions_of(agent.pk, self.member), self, ChatSessionOut)

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY],
        request=MessageIn,
        responses={201: ChatBegunOut},
        tags=["conversations"],
    )
    @idempotent
    def post(self, request: Request, agent_id: UUID) -> Response:
        """Begin a chat with its first message."""
        given = MessageIn.read(request)
        agent = agents.get(self.project, agent_id)
        sent = services.start_chat(agent, by=self.member, **given)
        begun = {"session": sent.session_id, "conversation": sent.conversation_id}
        return Response(ChatBegunOut({**begun, "turn": sent.turn}).data, status=201)


class ChatMessages(ProjectView):
    """The messages of one of your chats."""

    required_permission = "conversations:write"

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY],
        request=FollowUpIn,
        responses={202: SentOut},
        tags=["conversations"],
    )
    @idempotent
    def post(self, request: Request, agent_id: UUID, session_id: UUID) -> Response:
        """Write in the chat: its conversation goes on, with the same files and all that was said."""
        given = FollowUpIn.read(request)
        agent = agents.get(self.project, agent_id)
        with transaction.atomic():
            session = selectors.session(agent.pk, self.member, session_id, for_change=True)
            assert session.conversation is not None  # those without one are not found
            sent = services.send(session.conversation, by=self.member, **given)
        return Response(SentOut(sent).data, status=202)


class ClearChat(ProjectView):
    """A fresh start in one of your chats."""

    required_permission = "conversations:write"

    @extend_schema(
        parameters=[IDEMPOTENCY_KEY],
        request=NothingIn,
        responses={201: ChatClearedOut},
        tags=["conversations"],
    )
    @idempotent
    def post(self, request: Request, agent_id: UUID, session_id: UUID) -> Response:
        """Close the chat's conversation, which stays readable, and open an empty one."""
        NothingIn.read(request)
        agent = agents.get(self.project, agent_id)
        with transaction.atomic():
            session = selectors.session(agent.pk, self.member, session_id, for_change=True)
            opened = services.clear(session, by=self.member)
        cleared = {"session": session.pk, "conversation": opened.pk}
        return Response(ChatClearedOut(cleared).data, status=201)
