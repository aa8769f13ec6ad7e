"""Approvals over the API: what waits for a person, and the person's decision."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.accounts.api.idempotency import idempotent
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.serializers import InputSerializer
from paca.conversations import approval_lists, selectors
from paca.conversations.api.inputs import EmptyInput, ListQuery
from paca.conversations.api.serializers import (
    AgentSummarySerializer,
    ConversationSerializer,
    OffsetDateTimeField,
    conversation_object,
)
from paca.conversations.models import Approval, ApprovalState
from paca.conversations.services import approvals
from paca.projects import permissions
from paca.projects.api.base import ProjectView
from paca.projects.api.task_serializers import MemberSummarySerializer


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

    state = serializers.ChoiceField(choices=ApprovalState.choices, required=False)


class ApprovalProjectSerializer(serializers.Serializer[Any]):
    """The project of a call."""

    id = serializers.UUIDField()
    name = serializers.CharField()


class ApprovalConversationSerializer(serializers.Serializer[Any]):
    """The conversation of a call."""

    id = serializers.UUIDField()
    title = serializers.CharField()
    project = ApprovalProjectSerializer()


class ApprovalSerializer(serializers.Serializer[Approval]):
    """A call that waits for a person, or that a person has decided on."""

    call_id = serializers.CharField()
    conversation = ApprovalConversationSerializer()
    agent = AgentSummarySerializer(source="conversation.agent")
    tool = serializers.CharField()
    arguments = serializers.DictField(help_text="As the model wrote them.")
    subject = serializers.CharField()
    rule = serializers.CharField(help_text="The name of the rule that asks.")
    why = serializers.CharField(help_text="The rule as a sentence.")
    effect = serializers.CharField(help_text="The effect class of the tool.")
    undo = serializers.CharField(help_text="How the call can be undone; empty if it is not known.")
    diff = serializers.CharField(help_text="The lines that an edit takes away and adds.")
    requested_at = OffsetDateTimeField(source="created_at")
    deadline = OffsetDateTimeField(help_text="Without a decision until then it is not run.")
    state = serializers.ChoiceField(choices=ApprovalState.choices)
    decided_by = MemberSummarySerializer(allow_null=True)
    decided_at = OffsetDateTimeField(allow_null=True)
    reason = serializers.CharField()
    changed_arguments = serializers.DictField(
        allow_null=True, help_text="The arguments that a person has changed the call to."
    )


def approval_object(approval: Approval) -> dict[str, Any]:
    """The approval as an object of the API."""
    return dict(ApprovalSerializer(approval).data)


class OwnApprovals(ApiView):
    """The calls that wait for you, in all your projects."""

    required_permission = permissions.APPROVE

    @extend_schema(
        parameters=[ApprovalsQuery], responses=ApprovalSerializer(many=True), tags=["approvals"]
    )
    def get(self, request: Request) -> Response:
        """List the calls of the projects in which you may approve, those that wait first asked for. Without
        ``state`` only those that wait."""
        state = ApprovalsQuery.read_query(request).get("state", ApprovalState.OPEN)
        found = approval_lists.for_person(self.person).filter(state=state)
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
        found = Approval.objects.with_details().filter(conversation=conversation)
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
        return Response(approval_object(approvals.get(conversation, call_id)))

    @extend_schema(request=DecideInput, responses=ApprovalSerializer, tags=["approvals"])
    @idempotent
    def post(self, request: Request, conversation_id: UUID, call_id: str) -> Response:
        """Decide on a call. Exactly this call is run, once. If somebody was first, the answer is 409
        ``approval_decided``, with the first decision as ``present``."""
        data = DecideInput.read(request)
        conversation = selectors.get(self.project, conversation_id)
        decided = approvals.decide(conversation, call_id=call_id, by=self.member, **data)
        return Response(approval_object(decided))


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
