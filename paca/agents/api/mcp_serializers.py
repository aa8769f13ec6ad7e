"""Serializers of MCP servers and their tools."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from paca.agents.mcp_secrets import masked
from paca.agents.models import McpAuth, McpServer, McpTool, McpTransport
from paca.agents.models.mcp_server import MAX_ARGS
from paca.agents.services import mcp_grants
from paca.agents.services.mcp_tools import MAX_TOOLS, ToolDecision, diff_of, text_of
from paca.common.api.serializers import InputSerializer


class McpHealthSerializer(serializers.Serializer[Any]):
    """How the server was found the last time."""

    state = serializers.CharField(
        source="health_state", help_text="unknown, available, unavailable or sign_in_needed."
    )
    error = serializers.CharField(source="health_error")
    checked_at = serializers.DateTimeField(allow_null=True)


class McpToolSerializer(serializers.ModelSerializer[McpTool]):
    """A tool that the server offers. An agent gets it when it is ``pinned`` and ``enabled``."""

    pinned = serializers.BooleanField(
        source="is_accepted", help_text="Whether a person has accepted this very description."
    )
    state = serializers.CharField(help_text="accepted, new, changed or refused.")
    safe = serializers.BooleanField(help_text="Whether each call runs without approval.")

    class Meta:
        model = McpTool
        fields = ("name", "description", "state", "pinned", "safe", "enabled", "hash")


class McpToolDetailSerializer(McpToolSerializer):
    """A tool with its arguments, its server's hints, and what has changed since it was accepted."""

    arguments = serializers.JSONField(source="schema", help_text="A JSON schema.")
    accepted_text = serializers.CharField()
    text = serializers.SerializerMethodField()
    diff = serializers.SerializerMethodField()

    class Meta:
        model = McpTool
        fields = (
            *McpToolSerializer.Meta.fields,
            "arguments",
            "says_read_only",
            "says_destructive",
            "accepted_text",
            "text",
            "diff",
        )

    def get_text(self, tool: McpTool) -> str:
        return text_of(tool)

    def get_diff(self, tool: McpTool) -> str:
        """From the accepted text to the present one, as a unified diff; empty if nothing was accepted."""
        return diff_of(tool)


class McpServerSerializer(serializers.ModelSerializer[McpServer]):
    """An MCP server of an agent. No answer has a secret value: ``***`` stands for each."""

    args = serializers.ListField(child=serializers.CharField())
    env = serializers.SerializerMethodField()
    headers = serializers.SerializerMethodField()
    has_oauth_client_secret = serializers.SerializerMethodField()
    sign_in = serializers.SerializerMethodField()
    health = McpHealthSerializer(source="*")
    tools = serializers.SerializerMethodField()
    waiting_tools = serializers.SerializerMethodField()

    class Meta:
        model = McpServer
        fields = (
            "id",
            "name",
            "transport",
            "command",
            "args",
            "url",
            "env",
            "headers",
            "auth",
            "oauth_client_id",
            "has_oauth_client_secret",
            "sign_in",
            "enabled",
            "private_addresses",
            "accept_first",
            "start_seconds",
            "call_seconds",
            "health",
            "tools",
            "waiting_tools",
            "created_at",
            "updated_at",
        )

    def get_env(self, server: McpServer) -> dict[str, str]:
        return masked(server.env_names)

    def get_headers(self, server: McpServer) -> dict[str, str]:
        return masked(server.header_names)

    def get_has_oauth_client_secret(self, server: McpServer) -> bool:
        return bool(server.encrypted_oauth_secret)

    def get_sign_in(self, server: McpServer) -> str:
        """``none``, ``signed_in`` or ``lost``: then a person has to sign in again."""
        return mcp_grants.state_of(server)

    def get_tools(self, server: McpServer) -> list[dict[str, Any]]:
        offered = [tool for tool in server.tools.all() if tool.offered]
        return list(McpToolSerializer(offered, many=True).data)

    def get_waiting_tools(self, server: McpServer) -> int:
        """How many of the offered tools wait for a person."""
        waiting = (McpTool.State.NEW, McpTool.State.CHANGED)
        return sum(tool.offered and tool.state in waiting for tool in server.tools.all())


class McpServerChanges(InputSerializer):
    """The fields of an MCP server that can be changed. The service checks what belongs together."""

    transport = serializers.ChoiceField(choices=McpTransport.choices)
    command = serializers.CharField(required=False, allow_blank=True, max_length=1000)
    args = serializers.ListField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False),
        required=False,
        max_length=MAX_ARGS,
    )
    url = serializers.CharField(required=False, allow_blank=True, max_length=2000)
    env = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False),
        required=False,
        help_text="Environment variables. *** keeps a stored value; a name that is left out is deleted.",
    )
    headers = serializers.DictField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False),
        required=False,
        help_text="HTTP headers. *** keeps a stored value; a name that is left out is deleted.",
    )
    auth = serializers.ChoiceField(choices=McpAuth.choices, required=False)
    oauth_client_id = serializers.CharField(required=False, allow_blank=True, max_length=500)
    oauth_client_secret = serializers.CharField(
        required=False, allow_blank=True, max_length=2000, help_text="*** keeps the stored one."
    )
    enabled = serializers.BooleanField(required=False)
    private_addresses = serializers.BooleanField(
        required=False,
        help_text="Whether it may be in a private network; the project must allow that too.",
    )
    accept_first = serializers.BooleanField(
        required=False,
        help_text="Accept the tools of its first connection without asking. Later ones wait.",
    )
    start_seconds = serializers.IntegerField(required=False)
    call_seconds = serializers.IntegerField(required=False)


class McpServerInput(McpServerChanges):
    """A new MCP server. Its name cannot be changed later."""

    name = serializers.CharField(
        max_length=30, help_text="A part of the names of its tools: mcp__name__tool."
    )


class McpToolDecisionInput(InputSerializer):
    """What a person decides on one tool."""

    name = serializers.CharField(max_length=200, trim_whitespace=False)
    hash = serializers.CharField(
        required=False, max_length=64, help_text="That of the description that was read."
    )
    accept = serializers.BooleanField(
        required=False, help_text="True accepts this description, false refuses it; both need hash."
    )
    safe = serializers.BooleanField(
        required=False, help_text="Whether each call may run without approval."
    )
    enabled = serializers.BooleanField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "accept" in attrs and not attrs.get("hash"):
            raise serializers.ValidationError({"hash": ["This field is required."]})
        if not {"accept", "safe", "enabled"} & set(attrs):
            raise serializers.ValidationError({"accept": ["Say what is decided."]})
        return attrs


class McpToolDecisionsInput(InputSerializer):
    """Decisions on tools of a server: all are stored, or none."""

    tools = serializers.ListField(
        child=McpToolDecisionInput(), allow_empty=False, max_length=MAX_TOOLS
    )

    def validate_tools(self, rows: list[dict[str, Any]]) -> list[ToolDecision]:
        """The decisions. Raises ``ValidationError`` if a tool is named twice."""
        if len({row["name"] for row in rows}) < len(rows):
            raise serializers.ValidationError("A tool is named twice.")
        return [ToolDecision(**row) for row in rows]


class McpConnectionSerializer(serializers.Serializer[Any]):
    """The address that the person's browser opens to sign in."""

    authorization_url = serializers.CharField()


class McpCheckSerializer(serializers.Serializer[Any]):
    """What became of a connection, and the server as it is stored now."""

    works = serializers.BooleanField()
    code = serializers.CharField()
    detail = serializers.CharField()
    seconds = serializers.FloatField()
    server = McpServerSerializer()
