"""The API view of full-text search."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.projects import search
from paca.projects.api.base import ProjectView
from paca.projects.api.search_serializers import HitSerializer, SearchQuery


class Search(ProjectView):
    """Searches a project."""

    required_permission = "projects:read"

    @extend_schema(parameters=[SearchQuery], responses=HitSerializer(many=True), tags=["search"])
    def get(self, request: Request) -> Response:
        """Find tasks, docs, comments and conversations that you may read, the best first; on one page."""
        query = SearchQuery.read_query(request)
        hits = search.find(
            self.project,
            query["q"],
            query.get("kinds") or None,
            may=self.has_permission,
            limit=query["limit"],
        )
        shown: Any = HitSerializer(hits, many=True, context={"project": self.project})  # type: ignore[arg-type] # many
        return Response({"results": shown.data, "next": None, "previous": None})
