"""What can go wrong between a worker and an MCP server, in sentences for people and models."""

from paca.common.errors import PacaError


class McpError(PacaError):
    """The MCP server does not do what it should."""

    code = "mcp_unavailable"


ENDED = "the connection has ended"  # if no better reason is known


class ServerUnavailable(McpError):
    """The server cannot be reached or does not answer; nothing was done."""


class ConnectionLost(McpError):
    """The connection ended while a request waited: what became of it is not known."""


class CallTimedOut(McpError):
    """The server has not answered in time, and was told to give the call up."""


class ServerRefused(McpError):
    """The server has answered with an error."""


class SessionExpired(McpError):
    """The server has forgotten the session, and did nothing: connect again."""
