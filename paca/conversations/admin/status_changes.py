"""The admin page of planned changes of agents' statuses."""

from django.contrib import admin

from paca.common.admin import ReadOnlyAdmin
from paca.conversations.models import AgentStatusChange


@admin.register(AgentStatusChange)
class AgentStatusChangeAdmin(ReadOnlyAdmin):
    """What is planned, and what became of it. The page of an agent's settings plans and cancels."""

    list_display = ("due_at", "agent", "status", "mode", "state", "made_by_name", "ended_at")
    list_select_related = ("agent",)
    list_filter = ("state", "status")
    ordering = ("-due_at",)
    fields = (
        ("agent", "status", "mode"),
        ("due_at", "time_zone"),
        ("state", "ended_at"),
        ("made_by", "made_by_name"),
    )
