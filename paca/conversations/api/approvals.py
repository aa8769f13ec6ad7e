"""Approvals over the API: what waits for a person, and the person's decision."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.accounts.api.idempotency import idempotent
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.serializers import InputSerializer
from paca.conversations import person_request_lists, selectors
from paca.conversations.api.inputs import EmptyInput, ListQuery
from paca.conversations.api.person_requests import ApprovalSerializer, request_object
from paca.conversations.api.serializers import ConversationSerializer, conversation_object
from paca.conversations.models import PersonRequest, RequestKind, RequestState
from paca.conversations.services import approvals, person_requests
from paca.projects import permissions
from paca.projects.api.base import ProjectView


class DecideInput(InputSerializer):
    """A decision on a call."""

    decision = serializers.ChoiceField(
        choices=approvals.DECISIONS,
        help_text="approve_rest approves this call and the later ones of the conversation, until somebody revokes it.",
    )
    arguments = serializers.DictField(
        required=False, help_text="Run the call with these arguments; the model is told so."
    )
    reason = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=approvals.MAX_REASON_CHARACTERS,
        help_text="The model reads it.",
    )


class ApprovalsQuery(ListQuery):
    """A filter of approvals."""

    state = serializers.ChoiceField(choices=RequestState.choices, required=False)


class OwnApprovals(ApiView):
    """The calls that wait for you, in all your projects."""

    required_permission = permissions.APPROVE

    @extend_schema(
        parameters=[ApprovalsQuery], responses=ApprovalSerializer(many=True), tags=["approvals"]
    )
    def get(self, request: Request) -> Response:
        """List the calls of the projects in which you may approve, those that wait first asked for. Without
        ``state`` only those that wait."""
        state = ApprovalsQuery.read_query(request).get("state", RequestState.OPEN)
        found = person_request_lists.for_person(self.person).approvals().filter(state=state)
        return NewestFirstPagination.page_response(found, self, ApprovalSerializer)


class ConversationApprovals(ProjectView):
    """The approvals of a conversation."""

    required_permission = "conversations:read"

    @extend_schema(
        parameters=[ApprovalsQuery], responses=ApprovalSerializer(many=True), tags=["approvals"]
    )
    def get(self, request: Request, conversation_id: UUID) -> Response:
        """List the calls of the conversation that waited for a person, the newest first."""
        query = ApprovalsQuery.read_query(request)
        conversation = selectors.get(self.project, conversation_id)
        found = PersonRequest.objects.approvals().with_details()
        found = found.filter(conversation=conversation)
        if "state" in query:
            found = found.filter(state=query["state"])
        return NewestFirstPagination.page_response(found, self, ApprovalSerializer)


class OneApproval(ProjectView):
    """The approval of one call."""

    required_permission = {"GET": "conversations:read", "POST": permissions.APPROVE}

    @extend_schema(responses=ApprovalSerializer, tags=["approvals"])
    def get(self, request: Request, conversation_id: UUID, call_id: str) -> Response:
        """Show the approval of a call."""
        conversation = selectors.get(self.project, conversation_id)
        return Response(
            request_object(person_requests.get(conversation, call_id, kind=RequestKind.APPROVAL))
        )

    @extend_schema(request=DecideInput, responses=ApprovalSerializer, tags=["approvals"])
    @idempotent
    def post(self, request: Request, conversation_id: UUID, call_id: str) -> Response:
        """Decide on a call. Exactly this call is run, once. If somebody was first, the answer is 409
        ``approval_decided``, with the first decision as ``present``."""
        data = DecideInput.read(request)
        conversation = selectors.get(self.project, conversation_id)
        decided = approvals.decide(conversation, call_id=call_id, by=self.member, **data)
        return Response(request_object(decided))


class RevokeRest(ProjectView):
    """Ends the approval of the rest of a conversation."""

    required_permission = permissions.APPROVE

    @extend_schema(request=EmptyInput, responses={200: ConversationSerializer}, tags=["approvals"])
    @idempotent
    def post(self, request: Request, conversation_id: UUID) -> Response:
        """Let later calls of the conversation ask again. 409 ``nothing_to_revoke`` if they do already."""
        EmptyInput.read(request)
        approvals.revoke_rest(selectors.get(self.project, conversation_id), by=self.member)
        return Response(conversation_object(selectors.get(self.project, conversation_id)))
