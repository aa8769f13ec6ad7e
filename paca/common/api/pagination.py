"""Lists of the API, page by page: ``{results, next, previous}`` by cursor."""

from typing import TYPE_CHECKING, Any

from rest_framework import exceptions, serializers
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request
from rest_framework.response import Response

from paca.common.errors import Invalid

if TYPE_CHECKING:
    # DRF's views import this module while they are being imported themselves.
    from rest_framework.views import APIView


class NewestFirstPagination(CursorPagination):
    """``{results, next, previous}``; newest first; ``limit`` up to 200."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "limit"
    ordering = ("-created_at", "-id")
    invalid_cursor_message = "This cursor is not one of ours; begin again without it."

    def decode_cursor(self, request: Request) -> Any:
        try:
            return super().decode_cursor(request)
        except exceptions.NotFound as error:
            raise Invalid(fields={"cursor": [str(error.detail)]}) from None

    @classmethod
    def page_response(
        cls, queryset: Any, view: "APIView", serializer: type[serializers.Serializer[Any]]
    ) -> Response:
        """One page of the queryset, as the request asks for it."""
        pages = cls()
        rows: Any = pages.paginate_queryset(queryset, view.request, view=view)
        return pages.get_paginated_response(serializer(rows, many=True).data)
