"""Forks of conversations over the API."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.conversations import selectors, services
from paca.conversations.api.inputs import ForkInput
from paca.conversations.api.serializers import ConversationSerializer, conversation_object
from paca.projects.api.base import ProjectView


class Forks(ProjectView):
    """Forks a conversation."""

    required_permission = "conversations:write"

    @extend_schema(
        request=ForkInput, responses={201: ConversationSerializer}, tags=["conversations"]
    )
    @idempotent
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Make a new conversation that begins with a copy of this one's log up to the event `seq`.

        This one stays as it is. If it had files at that event, they are copied when the agent first uses the
        sandbox of the fork: as they are then, which the event `agent.sandbox.files_copied` tells, or why there are
        none. To change a message and go on from there, take the event before it, and send the changed `text`.
        """
        given = ForkInput.read(request)
        origin = selectors.get(self.project, conversation_id)
        made = services.fork(origin, by=self.member, **given)
        return Response(conversation_object(selectors.get(self.project, made.pk)), status=201)
