"""Questions of agents and their plans over the API: read one, and answer or decide it."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.common.api.serializers import InputSerializer
from paca.conversations import selectors
from paca.conversations.api.person_requests import (
    PlanSerializer,
    QuestionSerializer,
    request_object,
)
from paca.conversations.models import RequestKind
from paca.conversations.services import person_requests, plans, questions
from paca.engine.approvals.person_tools import MAX_STEP
from paca.engine.approvals.plans import MAX_STEPS
from paca.projects import permissions
from paca.projects.api.base import ProjectView


class AnswerInput(InputSerializer):
    """An answer to a question."""

    text = serializers.CharField(
        max_length=questions.MAX_ANSWER_CHARACTERS,
        help_text="The label of a choice, or other words. The model reads it.",
    )


class PlanDecisionInput(InputSerializer):
    """A decision on a plan."""

    decision = serializers.ChoiceField(choices=plans.DECISIONS)
    feedback = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=plans.MAX_FEEDBACK_CHARACTERS,
        help_text="The model reads it.",
    )
    steps = serializers.ListField(
        child=serializers.CharField(max_length=MAX_STEP),
        required=False,
        min_length=1,
        max_length=MAX_STEPS,
        help_text="Approve the plan with these steps; the model is told so.",
    )


class OneQuestion(ProjectView):
    """A question of the agent to people."""

    required_permission = {"GET": "conversations:read", "POST": permissions.ANSWER}

    @extend_schema(responses=QuestionSerializer, tags=["approvals"])
    def get(self, request: Request, conversation_id: UUID, question_id: str) -> Response:
        """Show a question."""
        conversation = selectors.get(self.project, conversation_id)
        found = person_requests.get(conversation, question_id, kind=RequestKind.QUESTION)
        return Response(request_object(found))

    @extend_schema(request=AnswerInput, responses=QuestionSerializer, tags=["approvals"])
    @idempotent
    def post(self, request: Request, conversation_id: UUID, question_id: str) -> Response:
        """Answer a question. If somebody was first, the answer is 409 ``question_answered``, with the first one
        as ``present``."""
        data = AnswerInput.read(request)
        conversation = selectors.get(self.project, conversation_id)
        answered = questions.answer(
            conversation, question_id=question_id, by=self.member, text=data["text"]
        )
        return Response(request_object(answered))


class OnePlan(ProjectView):
    """A plan that the agent proposes."""

    required_permission = {"GET": "conversations:read", "POST": permissions.APPROVE}

    @extend_schema(responses=PlanSerializer, tags=["approvals"])
    def get(self, request: Request, conversation_id: UUID, plan_id: str) -> Response:
        """Show a plan as it was proposed, and the decision on it."""
        conversation = selectors.get(self.project, conversation_id)
        found = person_requests.get(conversation, plan_id, kind=RequestKind.PLAN)
        return Response(request_object(found))

    @extend_schema(request=PlanDecisionInput, responses=PlanSerializer, tags=["approvals"])
    @idempotent
    def post(self, request: Request, conversation_id: UUID, plan_id: str) -> Response:
        """Decide on a plan. An approval ends plan mode. If somebody was first, the answer is 409 ``plan_decided``,
        with the first decision as ``present``."""
        data = PlanDecisionInput.read(request)
        conversation = selectors.get(self.project, conversation_id)
        decided = plans.decide(conversation, call_id=plan_id, by=self.member, **data)
        return Response(request_object(decided))
