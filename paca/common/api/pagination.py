"""Pagination of the API's lists: ``{results, next, previous}`` by cursor."""

from datetime import UTC
from typing import TYPE_CHECKING, Any

from django.utils.dateparse import parse_datetime
from rest_framework import exceptions, serializers
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

from paca.common.errors import Invalid

if TYPE_CHECKING:
    # DRF's views import this module while they are being imported themselves.
    from rest_framework.views import APIView


class NewestFirstPagination(CursorPagination):
    """``{results, next, previous}``, newest first, with ``limit`` (at most 200) objects a page."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "limit"
    ordering = ("-created_at", "-id")
    invalid_cursor_message = "This cursor is not one of ours; begin again without it."

    def decode_cursor(self, request: Request) -> Any:
        """The position that the request's cursor names. Raises ``Invalid`` if it is malformed."""
        try:
            cursor = super().decode_cursor(request)
        except exceptions.NotFound:
            cursor = None
        is_given = self.cursor_query_param in request.query_params
        # guard: api-cursor-position
        if is_given and not (cursor and _is_position(cursor.position)):
            raise Invalid(fields={"cursor": [self.invalid_cursor_message]})
        return cursor

    @classmethod
    def page_response(
        cls, queryset: Any, view: "APIView", serializer: type[serializers.Serializer[Any]]
    ) -> Response:
        """The page of the queryset that the request asks for. Raises ``Invalid`` for a bad cursor."""
        paginator = cls()
        rows: Any = paginator.paginate_queryset(queryset, view.request, view=view)
        return paginator.get_paginated_response(serializer(rows, many=True).data)


def _is_position(position: Any) -> bool:
    """Whether this is a moment as our cursors name it. They start with the moment of ``created_at``."""
    if position is None:
        return True  # the cursor of the first page
    try:
        moment = parse_datetime(str(position))
        if moment is None or moment.tzinfo is None:
            return False
        moment.astimezone(UTC)  # fails beyond the years 1 to 9999
    except (ValueError, OverflowError):
        return False
    return True
