"""API views of skills from git: look at a repository, take skills of it, and take a newer commit."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents import selectors as agents
from paca.agents.api.skill_serializers import SkillSerializer
from paca.agents.models import Skill
from paca.agents.services import skills
from paca.common.api.preconditions import require_unchanged
from paca.common.api.serializers import InputSerializer
from paca.common.api.throttling import RequestsPerMinute
from paca.projects.api.base import ProjectView
from paca.repositories.api.skill_serializers import (
    FoundSerializer,
    SkillImportInput,
    SkillSourceInput,
    SkillUpdateInput,
    UpdateCheckSerializer,
)
from paca.repositories.api.views import ChecksPerMinute
from paca.repositories.skill_sources import address, looking
from paca.repositories.skill_sources.address import SkillSource
from paca.repositories.skill_sources.reading import FoundSkill


class SkillSourceView(ProjectView):
    """The base of views that read another server. They do so before their transaction begins."""

    required_permission = "agents:write"
    throttle_classes = (RequestsPerMinute, ChecksPerMinute)


class LookForSkills(SkillSourceView):
    """Shows the skills of a repository."""

    @extend_schema(request=SkillSourceInput, responses=FoundSerializer, tags=["agents"])
    def post(self, request: Request, agent_id: UUID) -> Response:
        """Show the skills of a repository with all their text. Nothing is stored.

        The credentials of a repository that is linked to the project are used for its address.
        """
        agent = agents.get(self.project, agent_id)
        source = address.parse(**SkillSourceInput.read(request))
        found = looking.look(source, address.route_to(self.project, source))
        names = set(agent.skills.values_list("name", flat=True))
        return Response(FoundSerializer(found, context={"names": names}).data)


def _read_chosen(
    view: ImportSkills, request: Request, agent_id: UUID
) -> tuple[SkillSource, str, list[FoundSkill]]:
    agents.get(view.project, agent_id)
    given = SkillImportInput.read(request)
    commit, folders = given.pop("commit"), list(dict.fromkeys(given.pop("folders")))
    source = address.parse(**given)
    route = address.route_to(view.project, source)
    return source, commit, looking.take_shown(source.url, commit, route, folders)


class ImportSkills(SkillSourceView):
    """Takes skills of a repository."""

    @extend_schema(
        request=SkillImportInput, responses={201: SkillSerializer(many=True)}, tags=["agents"]
    )
    @idempotent(prepare=_read_chosen)
    def post(
        self, request: Request, agent_id: UUID, prepared: tuple[SkillSource, str, list[FoundSkill]]
    ) -> Response:
        """Take skills at the commit that was shown: all of them, or none if one cannot be had.

        They stay as they are at that commit until a person takes another one.
        """
        source, commit, found = prepared
        made = []
        with transaction.atomic():
            agent = agents.get(self.project, agent_id, for_update=True)
            for each in found:
                assert each.read is not None
                origin = looking.origin_of(source, each, commit)
                made.append(skills.create_from_git(agent, each.read, origin, by=self.member))
        return Response(SkillSerializer(made, many=True).data, status=201)


class CheckSkill(SkillSourceView):
    """Looks whether there is something newer of a skill."""

    @extend_schema(request=None, responses=UpdateCheckSerializer, tags=["agents"])
    def post(self, request: Request, agent_id: UUID, skill_id: UUID) -> Response:
        """Compare a skill from git with the present commit of its branch or tag. Nothing changes."""
        InputSerializer.read(request)
        skill = agents.get_skill(self.project, agent_id, skill_id)
        checked = looking.check(skill, address.route_to(self.project, looking.source_of(skill)))
        return Response(UpdateCheckSerializer(checked).data)


def _read_commit(
    view: UpdateSkill, request: Request, agent_id: UUID, skill_id: UUID
) -> tuple[str, FoundSkill]:
    skill = agents.get_skill(
        view.project, agent_id, skill_id
    )  # before the body: a foreign id is not found
    commit: str = SkillUpdateInput.read(request)["commit"]
    source = looking.source_of(skill)
    route = address.route_to(view.project, source)
    [found] = looking.take_shown(source.url, commit, route, [source.folder])
    return commit, found


class UpdateSkill(SkillSourceView):
    """Takes another commit of a skill."""

    @extend_schema(request=SkillUpdateInput, responses=SkillSerializer, tags=["agents"])
    @idempotent(prepare=_read_commit)
    def post(
        self, request: Request, agent_id: UUID, skill_id: UUID, prepared: tuple[str, FoundSkill]
    ) -> Response:
        """Take text and files of a skill from git at this commit. Name and settings stay.

        With `If-Match` it is refused if somebody has changed the skill meanwhile.
        """
        commit, found = prepared
        assert found.read is not None
        with transaction.atomic():
            skill: Any = agents.get_skill(self.project, agent_id, skill_id, for_update=True)
            require_unchanged(request, skill, present=lambda: SkillSerializer(skill).data)
            looking.source_of(skill)
            skills.take_commit(skill, found.read, commit, by=self.member)
        stored: Skill = agents.get_skill(self.project, agent_id, skill_id)
        return Response(SkillSerializer(stored).data)
