"""API views of the personas of a project: the predefined ones and its own."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents import persona_catalogue
from paca.agents.models import AgentCategory, Persona
from paca.agents.services import personas
from paca.common.api.preconditions import require_unchanged
from paca.common.api.serializers import InputSerializer, QuerySerializer
from paca.common.errors import NotFound
from paca.projects.api.base import ProjectView

REQUIRED_PERMISSIONS = {
    "GET": "agents:read",
    "POST": "agents:write",
    "PATCH": "agents:write",
    "DELETE": "agents:write",
}


class PersonaSerializer(serializers.Serializer[Any]):
    """A persona. ``id`` is what an agent's ``persona`` names: a slug of a predefined one, else a UUID."""

    id = serializers.CharField()
    predefined = serializers.BooleanField()
    name = serializers.CharField()
    category = serializers.ChoiceField(choices=AgentCategory.choices)
    text = serializers.CharField()
    updated_at = serializers.DateTimeField(allow_null=True)


class PersonaInput(InputSerializer):
    """The input to make or change a persona."""

    template = serializers.CharField(
        required=False, help_text="Only for a new one: the slug of a predefined one to begin with."
    )
    name = serializers.CharField(required=False, max_length=100)
    category = serializers.ChoiceField(choices=AgentCategory.choices, required=False)
    text = serializers.CharField(required=False, trim_whitespace=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if self.partial and "template" in attrs:
            raise serializers.ValidationError({"template": ["Only a new persona has one."]})
        if not self.partial and "template" not in attrs:
            missing = [name for name in ("name", "text") if name not in attrs]
            if missing:
                raise serializers.ValidationError(
                    {name: ["This field is required."] for name in missing}
                )
        return attrs


class PersonaQuery(QuerySerializer):
    """A filter of the list."""

    category = serializers.ChoiceField(choices=AgentCategory.choices, required=False)


class PersonaList(ProjectView):
    """Lists and makes personas."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(
        parameters=[PersonaQuery], responses=PersonaSerializer(many=True), tags=["agents"]
    )
    def get(self, request: Request) -> Response:
        """List the predefined personas and those of the project, on one page; a project has at most 50."""
        category = PersonaQuery.read_query(request).get("category")
        found = [*map(_predefined, persona_catalogue.PERSONAS)]
        found += map(described, Persona.objects.filter(project=self.project))
        results = [each for each in found if category in (None, each["category"])]
        return Response({"results": results, "next": None, "previous": None})

    @extend_schema(request=PersonaInput, responses={201: PersonaSerializer}, tags=["agents"])
    @idempotent
    def post(self, request: Request) -> Response:
        """Make a persona of the project, from nothing or from a predefined one."""
        made = personas.create(self.project, by=self.member, **PersonaInput.read(request))
        return Response(described(made), status=201)


class PersonaDetail(ProjectView):
    """Changes and deletes a persona."""

    required_permission = REQUIRED_PERMISSIONS

    @extend_schema(responses=PersonaSerializer, tags=["agents"])
    def get(self, request: Request, persona_id: UUID) -> Response:
        """Show a persona of the project."""
        return Response(described(self.find(persona_id)))

    @extend_schema(request=PersonaInput, responses=PersonaSerializer, tags=["agents"])
    def patch(self, request: Request, persona_id: UUID) -> Response:
        """Change a persona. Agents that have it use the new text from their next turn on."""
        given = PersonaInput.read(request, partial=True)
        with transaction.atomic():
            persona = self.find(persona_id)
            require_unchanged(request, persona, present=lambda: described(persona))
            personas.change(persona, by=self.member, **given)
        return Response(described(persona))

    @extend_schema(responses={204: None}, tags=["agents"])
    def delete(self, request: Request, persona_id: UUID) -> Response:
        """Delete a persona that no agent has; else 409 `persona_in_use`."""
        with transaction.atomic():
            personas.delete(self.find(persona_id), by=self.member)
        return self.no_content()

    def find(self, persona_id: UUID) -> Persona:
        """The persona of the project. Raises ``NotFound``."""
        rows = Persona.objects.filter(project=self.project)
        if self.request.method in {"PATCH", "DELETE"}:
            rows = rows.select_for_update(no_key=True)
        found = rows.filter(pk=persona_id).first()
        if found is None:
            raise NotFound
        return found


def described(persona: Persona) -> dict[str, Any]:
    """A persona of a project as the API shows it."""
    shown = {
        "id": str(persona.pk),
        "predefined": False,
        "name": persona.name,
        "category": persona.category,
        "text": persona.text,
        "updated_at": persona.updated_at,
    }
    return dict(PersonaSerializer(shown).data)


def _predefined(persona: persona_catalogue.PredefinedPersona) -> dict[str, Any]:
    shown = {
        "id": persona.slug,
        "predefined": True,
        "name": persona.name,
        "category": persona.category,
        "text": persona.text,
        "updated_at": None,
    }
    return dict(PersonaSerializer(shown).data)
