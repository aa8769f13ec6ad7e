"""The door of Paca as an MCP server: the token and the number of its requests, checked as for the REST API."""

from rest_framework.request import Request
from rest_framework.response import Response

from paca.accounts.api.authentication import TokenAuthentication
from paca.accounts.api.base import ApiView

PATH = "/mcp/"


class Gate(ApiView):
    """Says whether a request may reach the MCP server. ``McpServer`` asks it before it reads the body.

    Only a token opens it: a browser sends cookies for every page, and a token for none. What a token may do
    is checked by the address of the REST API that each tool asks.
    """

    authentication_classes = [TokenAuthentication]
    http_method_names = ["post"]
    schema = None  # no part of the REST API

    def check_required_permission(self, request: Request) -> None:
        """Every scope opens the door; the tools check theirs."""

    def post(self, request: Request) -> Response:
        """Let the request pass."""
        return Response(status=204)
