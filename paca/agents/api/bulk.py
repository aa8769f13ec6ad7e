"""The API view that makes many agents at once."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents.api.agents import require_may_open_network
from paca.agents.api.serializers import AgentInput, AgentSerializer, to_api_fields
from paca.agents.services import bulk
from paca.common.api.serializers import InputSerializer
from paca.common.errors import Invalid
from paca.projects import selectors as projects
from paca.projects.api.base import ProjectView


class BulkInput(InputSerializer):
    """Agents as for ``POST agents/``; what a row does not have, it takes from ``defaults``."""

    defaults = serializers.DictField(required=False)
    agents = serializers.ListField(
        child=serializers.DictField(), min_length=1, max_length=bulk.MAX_AGENTS
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Each row with the defaults as validated input. Raises ``ValidationError`` with the errors by row."""
        read = [AgentInput(data={**attrs.get("defaults", {}), **row}) for row in attrs["agents"]]
        errors = {str(n): row.errors for n, row in enumerate(read) if not row.is_valid()}
        if errors:
            raise serializers.ValidationError({"agents": errors})
        return {"agents": [dict(row.validated_data) for row in read]}


class BulkAgents(ProjectView):
    """Makes many agents."""

    required_permission = "agents:write"

    @extend_schema(request=BulkInput, responses={201: AgentSerializer(many=True)}, tags=["agents"])
    @idempotent
    def post(self, request: Request) -> Response:
        """Make up to 50 agents: all are made, or none. `fields` of the error names the problem of each row, such as
        `agents.2.handle`."""
        rows = BulkInput.read(request)["agents"]
        for row in rows:
            require_may_open_network(self, row)
        roles = {
            role_id: projects.get_role(self.project, role_id)
            for role_id in dict.fromkeys(row["role_id"] for row in rows)
        }
        for role in roles.values():
            self.require_may_grant(role)
        given = [{**row, "role": roles[row["role_id"]]} for row in rows]
        for row in given:
            del row["role_id"]
        try:
            made = bulk.create(self.project, given, by=self.member)
        except Invalid as invalid:
            raise Invalid(invalid.detail, fields=_by_row(invalid.fields)) from None
        results = AgentSerializer(made, many=True).data
        return Response({"results": results, "next": None, "previous": None}, status=201)


def _by_row(errors: dict[str, list[str]]) -> dict[str, list[str]]:
    """The errors of ``bulk.create`` with the names of the API, as in ``agents.2.prompts.system``."""
    named: dict[str, list[str]] = {}
    for place, texts in errors.items():
        number, _, column = place.partition(".")
        (field,) = to_api_fields({column: texts})
        named[f"agents.{number}.{field}" if column else place] = texts
    return named
