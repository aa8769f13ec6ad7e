"""API views of the MCP servers of an agent: settings, import and export, tools, sign-in and test."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.idempotency import idempotent
from paca.agents import mcp_check, mcp_json, mcp_reading, mcp_sign_in, selectors
from paca.agents.api.mcp_serializers import (
    McpCheckSerializer,
    McpConnectionSerializer,
    McpServerChanges,
    McpServerInput,
    McpServerSerializer,
    McpToolDecisionsInput,
    McpToolDetailSerializer,
)
from paca.agents.models import McpServer
from paca.agents.services import mcp_grants, mcp_imports, mcp_servers, mcp_tools
from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.preconditions import require_unchanged
from paca.common.api.serializers import InputSerializer
from paca.common.api.throttling import RequestsPerMinute
from paca.common.errors import NotAllowed
from paca.projects.api.base import ProjectView

REQUIRED_PERMISSIONS = {
    "GET": "agents:read",
    "POST": "agents:write",
    "PATCH": "agents:write",
    "DELETE": "agents:write",
}


class BrowserNeeded(NotAllowed):
    """Sign in on the agent's page: a sign-in belongs to the session of a browser, and a token has none."""

    code = "browser_needed"


class McpView(ProjectView):
    """The base of views of MCP servers."""

    required_permission = REQUIRED_PERMISSIONS

    def described(self, server: McpServer, status: int = 200) -> Response:
        """The answer with a server as it is stored now."""
        return Response(McpServerSerializer(self.stored(server)).data, status=status)

    def stored(self, server: McpServer) -> McpServer:
        """The server, read again."""
        return mcp_reading.get(self.project, server.agent_id, server.pk)


class McpServerList(McpView):
    """Lists and adds MCP servers."""

    @extend_schema(responses=McpServerSerializer(many=True), tags=["mcp servers"])
    def get(self, request: Request, agent_id: UUID) -> Response:
        """List the MCP servers of an agent with their health and tools."""
        found = mcp_reading.of_agent(selectors.get(self.project, agent_id))
        return NewestFirstPagination.page_response(found, self, McpServerSerializer)

    @extend_schema(
        request=McpServerInput, responses={201: McpServerSerializer}, tags=["mcp servers"]
    )
    @idempotent
    def post(self, request: Request, agent_id: UUID) -> Response:
        """Add an MCP server. Its tools wait until a person has accepted them."""
        given = McpServerInput.read(request)
        agent = selectors.get(self.project, agent_id)
        return self.described(mcp_servers.create(agent, by=self.member, **given), 201)


class McpServerImport(McpView):
    """Adds MCP servers from JSON."""

    @extend_schema(
        request=OpenApiTypes.OBJECT,
        responses={201: McpServerSerializer(many=True)},
        tags=["mcp servers"],
    )
    @idempotent
    def post(self, request: Request, agent_id: UUID) -> Response:
        """Add the servers of a pasted `mcpServers` object, as Claude Desktop, Cursor and VS Code write it: all, or none.

        Values of `env` and `headers` are encrypted. A key that Paca does not know is an error that names it.
        """
        agent = selectors.get(self.project, agent_id)
        made = mcp_imports.import_json(agent, request.data, by=self.member)
        rows = mcp_reading.of_agent(agent).filter(pk__in=[server.pk for server in made])
        page = {
            "results": McpServerSerializer(rows, many=True).data,
            "next": None,
            "previous": None,
        }
        return Response(page, status=201)


class McpServerExport(McpView):
    """Gives MCP servers as JSON."""

    @extend_schema(responses=OpenApiTypes.OBJECT, tags=["mcp servers"])
    def get(self, request: Request, agent_id: UUID) -> Response:
        """The servers as an `mcpServers` object, with `***` for each secret value."""
        agent = selectors.get(self.project, agent_id)
        return Response(mcp_json.write(agent.mcp_servers.all()))


class McpServerDetail(McpView):
    """Shows, changes and deletes an MCP server."""

    @extend_schema(responses=McpServerSerializer, tags=["mcp servers"])
    def get(self, request: Request, agent_id: UUID, server_id: UUID) -> Response:
        """Show an MCP server."""
        return Response(
            McpServerSerializer(mcp_reading.get(self.project, agent_id, server_id)).data
        )

    @extend_schema(request=McpServerChanges, responses=McpServerSerializer, tags=["mcp servers"])
    def patch(self, request: Request, agent_id: UUID, server_id: UUID) -> Response:
        """Change the given fields. The name stays. `***` keeps a stored secret, unless the server moves to another
        host; then its sign-in and the decisions on its tools are forgotten, too."""
        given = McpServerChanges.read(request, partial=True)
        with transaction.atomic():
            server = mcp_reading.get(self.project, agent_id, server_id, for_update=True)
            require_unchanged(request, server, present=lambda: McpServerSerializer(server).data)
            mcp_servers.change(server, by=self.member, **given)
        return self.described(server)

    @extend_schema(responses={204: None}, tags=["mcp servers"])
    def delete(self, request: Request, agent_id: UUID, server_id: UUID) -> Response:
        """Delete an MCP server with its secrets."""
        with transaction.atomic():
            server = mcp_reading.get(self.project, agent_id, server_id, for_update=True)
            mcp_servers.delete(server, by=self.member)
        return self.no_content()


class McpServerTools(McpView):
    """The tools of an MCP server, and what people decide on them."""

    @extend_schema(responses=McpToolDetailSerializer(many=True), tags=["mcp servers"])
    def get(self, request: Request, agent_id: UUID, server_id: UUID) -> Response:
        """List the tools that the server offers, with what has changed since they were accepted."""
        server = mcp_reading.get(self.project, agent_id, server_id)
        return self._tools(server)

    @extend_schema(
        request=McpToolDecisionsInput,
        responses=McpToolDetailSerializer(many=True),
        tags=["mcp servers"],
    )
    def post(self, request: Request, agent_id: UUID, server_id: UUID) -> Response:
        """Accept, refuse or switch tools. To repeat a request changes nothing. The answer is 409 `mcp_tool_changed` if
        a description is no longer the one with the given `hash`."""
        given = McpToolDecisionsInput.read(request)
        server = mcp_reading.get(self.project, agent_id, server_id)
        mcp_tools.decide(server, given["tools"], by=self.member)
        return self._tools(self.stored(server))

    def _tools(self, server: McpServer) -> Response:
        rows = McpToolDetailSerializer(server.tools.offered(), many=True).data
        return Response({"results": rows, "next": None, "previous": None})


class McpSignIn(McpView):
    """Signs in to an MCP server with OAuth, and out again."""

    throttle_classes = (RequestsPerMinute, mcp_check.ChecksPerMinute)

    @extend_schema(request=None, responses=McpConnectionSerializer, tags=["mcp servers"])
    def post(self, request: Request, agent_id: UUID, server_id: UUID) -> Response:
        """Begin a sign-in. Open the address of the answer in the same browser; it comes back to the agent's page."""
        InputSerializer.read(request)
        server = mcp_reading.get(self.project, agent_id, server_id)
        # guard: oauth-begins-in-a-browser
        if self.token is not None:
            raise BrowserNeeded
        url = mcp_sign_in.begin(
            server,
            user=self.person,
            session_key=request.session.session_key or "",
            redirect_uri=request.build_absolute_uri(reverse("mcp_sign_in")),
        )
        return Response(McpConnectionSerializer({"authorization_url": url}).data)

    @extend_schema(responses={204: None}, tags=["mcp servers"])
    def delete(self, request: Request, agent_id: UUID, server_id: UUID) -> Response:
        """Forget the tokens of the sign-in."""
        server = mcp_reading.get(self.project, agent_id, server_id)
        mcp_grants.sign_out(server, by=self.member)
        return self.no_content()


class CheckMcpServer(McpView):
    """Tests an MCP server."""

    throttle_classes = (RequestsPerMinute, mcp_check.ChecksPerMinute)

    @extend_schema(request=None, responses=McpCheckSerializer, tags=["mcp servers"])
    def post(self, request: Request, agent_id: UUID, server_id: UUID) -> Response:
        """Connect now, and store what the server offers. A failure answers 200 and names the cause. A server with
        the transport stdio needs a sandbox: its code is `in_sandbox`, and its tools are found at the next run."""
        server = mcp_reading.get(self.project, agent_id, server_id)
        result: Any = mcp_check.run(server)
        facts = {**result.as_dict(), "server": self.stored(server)}
        return Response(McpCheckSerializer(facts).data)
