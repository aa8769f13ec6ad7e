"""Agents, the members of a project that work by themselves, their skills and their MCP servers."""

from paca.agents.models.agent import Agent
from paca.agents.models.choices import (
    AgentApproval,
    AgentCategory,
    AgentPriority,
    AgentStatus,
    AgentVerification,
)
from paca.agents.models.env_var import EnvVar
from paca.agents.models.mcp_server import (
    McpAuth,
    McpHealth,
    McpServer,
    McpTool,
    McpToolState,
    McpTransport,
)
from paca.agents.models.mcp_sign_in import McpGrant, McpSignIn
from paca.agents.models.model_key import KeySource, ModelKey
from paca.agents.models.persona import Persona
from paca.agents.models.plugin import AgentPlugin, Plugin
from paca.agents.models.skill import Skill, SkillFile

__all__ = [
    "Agent",
    "AgentApproval",
    "AgentCategory",
    "AgentPlugin",
    "AgentPriority",
    "AgentStatus",
    "AgentVerification",
    "EnvVar",
    "KeySource",
    "McpAuth",
    "McpGrant",
    "McpHealth",
    "McpServer",
    "McpSignIn",
    "McpTool",
    "McpToolState",
    "McpTransport",
    "ModelKey",
    "Persona",
    "Plugin",
    "Skill",
    "SkillFile",
]
