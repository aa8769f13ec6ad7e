"""What the admin's pages of conversations share: search by id, colours, and how figures read."""

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


class FoundById(ReadOnlyAdmin):
    """Searching for an id finds the row of that id."""

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


class OfConversation(FoundById):
    """Rows of conversations; the id of the conversation finds them too."""

    ids: ClassVar[tuple[str, ...]] = ("pk", "conversation")
    list_select_related = ("conversation",)


def dollars(cost: float | None) -> str:
    """An unknown price is never a price of nothing."""
    return "unknown" if cost is None else f"${cost:.4f}"


def seconds_between(start: datetime | None, end: datetime | None) -> str:
    """How long something took, once it has ended."""
    return f"{(end - start).total_seconds():.1f}" if start and end else ""
