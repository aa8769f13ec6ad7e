"""The base of the admin pages of conversations: search by id, status colours, and formats."""

from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from paca.common.admin import ReadOnlyAdmin

COLOURS = {
    "queued": "info",
    "running": "info",
    "waiting": "warning",
    "paused": "warning",
    "finished": "success",
    "failed": "danger",
    "stopped": "warning",
    "dead": "danger",
}


class SearchByIdAdmin(ReadOnlyAdmin):
    """Finds a row by its id. ``ids`` are the columns that are searched for an id."""

    ids: ClassVar[tuple[str, ...]] = ("pk",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        try:
            wanted = UUID(search_term.strip())
        except ValueError:
            found: tuple[QuerySet[Any], bool] = super().get_search_results(
                request, queryset, search_term
            )
            return found
        matches = Q()
        for name in self.ids:
            matches |= Q(**{name: wanted})
        return queryset.filter(matches), False


class ConversationRowAdmin(SearchByIdAdmin):
    """Rows that belong to a conversation. Its id finds them too."""

    ids: ClassVar[tuple[str, ...]] = ("pk", "conversation")
    list_select_related: ClassVar[tuple[str, ...]] = ("conversation",)


def format_seconds(start: datetime | None, end: datetime | None) -> str:
    """The seconds between the two times; empty until there is an end."""
    return f"{(end - start).total_seconds():.1f}" if start and end else ""
