"""Admin pages of MCP servers. They validate as the API does; secrets are written and never shown."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import TabularInline
from unfold.decorators import display
from unfold.widgets import UnfoldAdminPasswordWidget, UnfoldAdminTextareaWidget

from paca.agents.mcp_secrets import UNCHANGED
from paca.agents.models import Agent, McpServer, McpTool
from paca.agents.services import mcp_servers
from paca.common.admin import ServiceAdmin

PAIRS = (("env", "=", "env_names"), ("headers", ":", "header_names"))


class McpServerForm(forms.ModelForm):  # type: ignore[type-arg] # not generic at run time
    """An MCP server. ``***`` stands for a stored value, and keeps it."""

    args = forms.CharField(
        required=False,
        label="Arguments",
        widget=UnfoldAdminTextareaWidget,
        help_text="One a line.",
    )
    env = forms.CharField(
        required=False,
        label="Environment",
        widget=UnfoldAdminTextareaWidget,
        help_text="NAME=value, one a line. *** keeps the stored value.",
    )
    headers = forms.CharField(
        required=False,
        widget=UnfoldAdminTextareaWidget,
        help_text="Name: value, one a line. *** keeps the stored value.",
    )
    oauth_client_secret = forms.CharField(
        required=False,
        label="OAuth client secret",
        widget=UnfoldAdminPasswordWidget(render_value=False),
        help_text="Empty: the stored one stays.",
    )

    class Meta:
        model = McpServer
        fields = ("agent", "name", *sorted(mcp_servers.SETTINGS - {"args"}))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance._state.adding:
            agent = self.fields["agent"]
            assert isinstance(agent, forms.ModelChoiceField)
            agent.queryset = Agent.objects.live().select_related("project")
            return
        self.initial["args"] = "\n".join(self.instance.args)
        for name, sign, column in PAIRS:
            names = getattr(self.instance, column)
            self.initial[name] = "\n".join(f"{each}{sign}{UNCHANGED}" for each in names)

    def clean_args(self) -> list[str]:
        lines = (line.strip() for line in self.cleaned_data["args"].splitlines())
        return [line for line in lines if line]

    def clean_env(self) -> dict[str, str]:
        return _pairs(self.cleaned_data["env"], "=")

    def clean_headers(self) -> dict[str, str]:
        return _pairs(self.cleaned_data["headers"], ":")

    @property
    def given(self) -> dict[str, Any]:
        """The settings for the service."""
        names = (*mcp_servers.SETTINGS, "env", "headers")
        given = {name: self.cleaned_data[name] for name in names}
        return {
            **given,
            "oauth_client_secret": self.cleaned_data["oauth_client_secret"] or UNCHANGED,
        }


def _pairs(text: str, sign: str) -> dict[str, str]:
    """The names and values of lines such as ``NAME=value``."""
    lines = (line.partition(sign) for line in text.splitlines() if line.strip())
    return {name.strip(): value.strip() for name, _, value in lines}


class McpToolInline(TabularInline):  # type: ignore[misc] # unfold has no types
    """What the server offers. Decisions on tools are made on the agent's page, beside their descriptions."""

    model = McpTool
    fields = ("name", "description", "decision", "safe", "enabled", "offered")
    readonly_fields = fields
    extra = 0
    can_delete = False

    @display(description="Decision")  # type: ignore[untyped-decorator]
    def decision(self, tool: McpTool) -> str:
        return tool.state.label

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(McpServer)
class McpServerAdmin(ServiceAdmin):
    """MCP servers of all agents."""

    form = McpServerForm
    inlines = (McpToolInline,)
    list_display = ("name", "agent", "transport", "enabled", "health_state", "checked_at")
    list_filter = ("transport", "enabled", "health_state", "agent__project")
    search_fields = ("name", "agent__name", "url", "command")

    def get_queryset(self, request: HttpRequest) -> QuerySet[McpServer]:
        found = McpServer.objects.filter(agent__deleted_at__isnull=True)
        return found.select_related("agent__project")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        over_http = ("url", "auth", "headers", "oauth_client_id", "oauth_client_secret")
        limits = ("start_seconds", "call_seconds", "private_addresses", "accept_first", "enabled")
        health = ("health_state", "health_error", "checked_at") if obj else ()
        return (
            "agent",
            "name",
            "transport",
            "command",
            "args",
            "env",
            *over_http,
            *limits,
            *health,
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        return ("agent", "name", "health_state", "health_error", "checked_at") if obj else ()

    def save_model(self, request: Any, obj: McpServer, form: McpServerForm, change: bool) -> None:
        if change:
            mcp_servers.change(McpServer.objects.get(pk=obj.pk), by=request.user, **form.given)
            return
        name = form.cleaned_data["name"]
        made = mcp_servers.create(obj.agent, name=name, by=request.user, **form.given)
        obj.__dict__.update(made.__dict__)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Yes: what its tools answered stays in the logs of conversations."""
        return bool(self.has_change_permission(request, obj))

    def delete_model(self, request: Any, obj: McpServer) -> None:
        mcp_servers.delete(obj, by=request.user)

    def delete_queryset(self, request: Any, queryset: QuerySet[McpServer]) -> None:
        for server in queryset:
            mcp_servers.delete(server, by=request.user)
