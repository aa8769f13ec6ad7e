"""The admin page of assignments and mentions that have not reached their agents."""

from django.contrib import admin

from paca.common.admin import ReadOnlyAdmin
from paca.conversations.models import PendingTrigger


@admin.register(PendingTrigger)
class PendingTriggerAdmin(ReadOnlyAdmin):
    """Empty unless a delivery has failed. It is tried again, and ``last_error`` says why."""

    list_display = (
        "created_at",
        "kind",
        "agent",
        "task",
        "doc",
        "attempts",
        "due_at",
        "last_error",
    )
    list_select_related = ("agent", "task__project", "doc")
    list_filter = ("kind",)
    ordering = ("-created_at",)
    fields = (
        ("kind", "agent"),
        ("task", "doc"),
        ("comment", "hops"),
        ("attempts", "due_at"),
        "last_error",
    )
