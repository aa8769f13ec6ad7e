"""The admin page of memory entries."""

from django.contrib import admin

from paca.conversations.admin.base import SearchByIdAdmin
from paca.conversations.models import MemoryEntry


@admin.register(MemoryEntry)
class MemoryEntryAdmin(SearchByIdAdmin):
    """What people and agents have noted for later conversations. Pages and the API change it."""

    ids = ("pk", "conversation", "agent", "project")
    list_display = ("created_at", "agent", "project", "state", "pinned", "author", "text")
    list_select_related = ("agent", "project", "author__user", "author__agent")
    list_filter = ("state", "pinned")
    search_fields = ("text",)
    ordering = ("-created_at",)
    fields = (
        ("agent", "project"),
        "text",
        ("state", "pinned"),
        ("author", "checked_by"),
        ("conversation", "replaces"),
        ("created_at", "accepted_at"),
    )
