"""Requests to people over the API: each kind as an object, and all that wait for you."""

from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.base import ApiView
from paca.common.api.pagination import NewestFirstPagination
from paca.conversations import person_request_lists
from paca.conversations.api.inputs import ListQuery
from paca.conversations.api.serializers import AgentSummarySerializer, OffsetDateTimeField
from paca.conversations.models import PersonRequest, RequestKind, RequestState
from paca.projects.api.task_serializers import MemberSummarySerializer


class RequestsQuery(ListQuery):
    """A filter of requests to people."""

    state = serializers.ChoiceField(choices=RequestState.choices, required=False)
    kind = serializers.ChoiceField(choices=RequestKind.choices, required=False)


class RequestProjectSerializer(serializers.Serializer[Any]):
    """The project of a call."""

    id = serializers.UUIDField()
    name = serializers.CharField()


class RequestConversationSerializer(serializers.Serializer[Any]):
    """The conversation of a call."""

    id = serializers.UUIDField()
    title = serializers.CharField()
    project = RequestProjectSerializer()


class RequestSerializer(serializers.Serializer[PersonRequest]):
    """What every kind of request has."""

    kind = serializers.ChoiceField(choices=RequestKind.choices)
    call_id = serializers.CharField()
    conversation = RequestConversationSerializer()
    agent = AgentSummarySerializer(source="conversation.agent")
    subject = serializers.CharField(help_text="What it is about, in one line.")
    requested_at = OffsetDateTimeField(source="created_at")
    deadline = OffsetDateTimeField(help_text="After that the agent goes on without it.")
    state = serializers.ChoiceField(choices=RequestState.choices)
    decided_by = MemberSummarySerializer(allow_null=True)
    decided_at = OffsetDateTimeField(allow_null=True)


class ApprovalSerializer(RequestSerializer):
    """A call that waits for a person, or that a person has decided on."""

    tool = serializers.CharField()
    arguments = serializers.DictField(help_text="As the model wrote them.")
    rule = serializers.CharField(help_text="The name of the rule that asks.")
    why = serializers.CharField(help_text="The rule as a sentence.")
    effect = serializers.CharField(help_text="The effect class of the tool.")
    undo = serializers.CharField(help_text="How the call can be undone; empty if it is not known.")
    diff = serializers.CharField(help_text="The lines that an edit takes away and adds.")
    reason = serializers.CharField()
    changed_arguments = serializers.DictField(
        allow_null=True, help_text="The arguments that a person has changed the call to."
    )


class ChoiceSerializer(serializers.Serializer[Any]):
    """An answer that the agent offers."""

    label = serializers.CharField()  # type: ignore[assignment] # declared fields leave the class
    description = serializers.CharField()


class QuestionSerializer(RequestSerializer):
    """A question of an agent to people, and the first answer."""

    id = serializers.CharField(source="call_id")
    text = serializers.CharField(source="arguments.question")
    choices = ChoiceSerializer(
        source="arguments.choices", many=True, help_text="Other words answer it too."
    )
    asked_at = OffsetDateTimeField(source="created_at")
    answer = serializers.SerializerMethodField(help_text="Empty if nobody has answered.")

    def get_answer(self, question: PersonRequest) -> str:
        return question.reason if question.state == RequestState.ANSWERED else ""


class PlanSerializer(RequestSerializer):
    """A plan that an agent proposes, and the decision on it."""

    title = serializers.CharField(source="arguments.title")
    steps = serializers.ListField(
        source="arguments.steps",
        child=serializers.CharField(),
        help_text="As the model wrote them.",
    )
    changed_steps = serializers.SerializerMethodField(
        help_text="The steps that a person has changed the plan to; null if they are unchanged."
    )
    feedback = serializers.SerializerMethodField(help_text="The model has read it.")

    def get_changed_steps(self, plan: PersonRequest) -> list[str] | None:
        return plan.changed_arguments["steps"] if plan.changed_arguments else None

    def get_feedback(self, plan: PersonRequest) -> str:
        return plan.reason if plan.state in (RequestState.APPROVED, RequestState.DENIED) else ""


SERIALIZERS: dict[RequestKind, type[RequestSerializer]] = {
    RequestKind.APPROVAL: ApprovalSerializer,
    RequestKind.QUESTION: QuestionSerializer,
    RequestKind.PLAN: PlanSerializer,
}
ANY_REQUEST = PolymorphicProxySerializer(
    component_name="PersonRequest",
    serializers={kind.value: each for kind, each in SERIALIZERS.items()},
    resource_type_field_name="kind",
    many=True,
)


def request_object(request: PersonRequest) -> dict[str, Any]:
    """The request as an object of the API, with what its kind has."""
    return dict(SERIALIZERS[RequestKind(request.kind)](request).data)


class AnyRequestSerializer(RequestSerializer):
    """A request of any kind."""

    def to_representation(self, instance: PersonRequest) -> dict[str, Any]:
        return request_object(instance)


class OwnRequests(ApiView):
    """All that waits for you, in all your projects."""

    required_permission = "conversations:read"

    @extend_schema(parameters=[RequestsQuery], responses=ANY_REQUEST, tags=["approvals"])
    def get(self, request: Request) -> Response:
        """List the approvals, questions and plans that you may decide on or answer. Without ``state`` only those
        that wait."""
        query = RequestsQuery.read_query(request)
        found = person_request_lists.for_person(self.person)
        found = found.filter(state=query.get("state", RequestState.OPEN))
        if "kind" in query:
            found = found.filter(kind=query["kind"])
        return NewestFirstPagination.page_response(found, self, AnyRequestSerializer)
