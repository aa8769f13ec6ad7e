"""Admin pages of agents, their skills and their MCP servers."""

from paca.agents.admin import agents, mcp_servers, plugins, skills

__all__ = ["agents", "mcp_servers", "plugins", "skills"]
