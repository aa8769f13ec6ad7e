"""API views of the skills of an agent."""

from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents import selectors
from paca.agents.api.skill_serializers import (
    SkillChanges,
    SkillInput,
    SkillSerializer,
    SkillUploadInput,
)
from paca.agents.services import skills
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.preconditions import require_unchanged
from paca.projects.api.base import ProjectView

REQUIRED_PERMISSIONS = {
    "GET": "agents:read",
    "POST": "agents:write",
    "PATCH": "agents:write",
    "DELETE": "agents:write",
}


class SkillList(ProjectView):
    """Lists and adds skills."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=SkillSerializer(many=True), tags=["agents"])
    def get(self, request: Request, agent_id: UUID) -> Response:
        """List the skills of an agent."""
        found = selectors.skills_of(selectors.get(self.project, agent_id))
        return NewestFirstPagination.page_response(found, self, SkillSerializer)

    @extend_schema(request=SkillInput, responses={201: SkillSerializer}, tags=["agents"])
    @idempotent
    def post(self, request: Request, agent_id: UUID) -> Response:
        """Add a skill to an agent: one of its own, or a template."""
        given = SkillInput.read(request)
        with transaction.atomic():
            agent = selectors.get(self.project, agent_id, for_update=True)
            if "template" in given:
                skill = skills.create_from_template(agent, given["template"], by=self.member)
            else:
                skill = skills.create(agent, by=self.member, **given)
        return Response(SkillSerializer(skill).data, status=201)


class SkillUpload(ProjectView):
    """Adds skills from files."""

    required_permission = "agents:write"
    parser_classes = (MultiPartParser,)

    @extend_schema(
        request={"multipart/form-data": SkillUploadInput},
        responses={201: SkillSerializer},
        tags=["agents"],
    )
    def post(self, request: Request, agent_id: UUID) -> Response:
        """Add a skill from a SKILL.md or a zip of its folder. A repeated upload is refused: the name is taken."""
        selectors.get(self.project, agent_id)  # before the body, so that a foreign id is not found
        data: bytes = SkillUploadInput.read(request)["file"].read()
        with transaction.atomic():
            agent = selectors.get(self.project, agent_id, for_update=True)
            skill = skills.create_from_upload(agent, data, by=self.member)
        return Response(SkillSerializer(skill).data, status=201)


class SkillDetail(ProjectView):
    """Shows, changes and deletes a skill."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=SkillSerializer, tags=["agents"])
    def get(self, request: Request, agent_id: UUID, skill_id: UUID) -> Response:
        """Show a skill."""
        skill = selectors.get_skill(self.project, agent_id, skill_id)
        return Response(SkillSerializer(skill).data)

    @extend_schema(request=SkillChanges, responses=SkillSerializer, tags=["agents"])
    def patch(self, request: Request, agent_id: UUID, skill_id: UUID) -> Response:
        """Change the given fields of a skill. Its name stays."""
        given = SkillChanges.read(request, partial=True)
        with transaction.atomic():
            skill = selectors.get_skill(self.project, agent_id, skill_id, for_update=True)
            require_unchanged(request, skill, present=lambda: SkillSerializer(skill).data)
            skills.change(skill, by=self.member, **given)
        return Response(SkillSerializer(skill).data)

    @extend_schema(responses={204: None}, tags=["agents"])
    def delete(self, request: Request, agent_id: UUID, skill_id: UUID) -> Response:
        """Delete a skill with its files."""
        with transaction.atomic():
            skill = selectors.get_skill(self.project, agent_id, skill_id, for_update=True)
            skills.delete(skill, by=self.member)
        return self.no_content()
