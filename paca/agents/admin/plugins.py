"""Admin pages of plugins and personas, for reading. The project's settings and the agent's page change them."""

from django.contrib import admin

from paca.agents.models import Persona, Plugin
from paca.common.admin import ReadOnlyAdmin


@admin.register(Plugin)
class PluginAdmin(ReadOnlyAdmin):
    """The plugins that projects have enabled or written."""

    list_display = ("__str__", "project", "enabled", "updated_at")
    list_select_related = ("project",)
    list_filter = ("enabled",)
    search_fields = ("name", "slug")
    fields = (
        ("project", "enabled"),
        ("name", "slug"),
        "description",
        "skills",
        "mcp_servers",
        "settings",
    )


@admin.register(Persona)
class PersonaAdmin(ReadOnlyAdmin):
    """The personas that projects have written."""

    list_display = ("name", "project", "category", "updated_at")
    list_select_related = ("project",)
    list_filter = ("category",)
    search_fields = ("name",)
    fields = (("project", "category"), "name", "text")
