"""URLs below ``/api/v1/``: agents with their skills and MCP servers, and the models, tools and templates to choose from."""

from django.urls import path

from paca.agents.api import (
    agents,
    bulk,
    catalogues,
    mcp_servers,
    model_keys,
    personas,
    plugins,
    skills,
    variables,
)

AGENT = "projects/<uuid:project>/agents/<uuid:agent_id>/"
MCP = "projects/<uuid:project>/agents/<uuid:agent_id>/mcp-servers/"

urlpatterns = [
    path("agents/llm-models/", catalogues.LlmModelList.as_view(), name="llm-models"),
    path(
        "agents/skill-templates/",
        catalogues.SkillTemplateList.as_view(),
        name="skill-templates",
    ),
    path("agents/presets/", catalogues.PresetList.as_view(), name="agent-presets"),
    path("agent-types/", catalogues.AgentTypeList.as_view(), name="agent-types"),
    path("model-keys/", model_keys.OwnModelKeys.as_view(), name="own-model-keys"),
    path("model-keys/<uuid:own_key_id>/", model_keys.OwnModelKey.as_view(), name="own-model-key"),
    path(
        "projects/<uuid:project>/model-keys/",
        model_keys.ProjectModelKeys.as_view(),
        name="project-model-keys",
    ),
    path(
        "projects/<uuid:project>/model-keys/<uuid:key_id>/",
        model_keys.ProjectModelKey.as_view(),
        name="project-model-key",
    ),
    path("tools/", catalogues.ToolList.as_view(), name="tools"),
    path("projects/<uuid:project>/personas/", personas.PersonaList.as_view(), name="personas"),
    path(
        "projects/<uuid:project>/personas/<uuid:persona_id>/",
        personas.PersonaDetail.as_view(),
        name="persona",
    ),
    path("projects/<uuid:project>/agents/", agents.AgentList.as_view(), name="agents"),
    path("projects/<uuid:project>/agents/bulk/", bulk.BulkAgents.as_view(), name="agents-bulk"),
    path(
        "projects/<uuid:project>/agents/<uuid:agent_id>/",
        agents.AgentDetail.as_view(),
        name="agent",
    ),
    path(
        "projects/<uuid:project>/agents/<uuid:agent_id>/test-connection/",
        agents.CheckConnection.as_view(),
        name="agent-test-connection",
    ),
    path(
        "projects/<uuid:project>/agents/<uuid:agent_id>/skills/",
        skills.SkillList.as_view(),
        name="agent-skills",
    ),
    path(
        "projects/<uuid:project>/agents/<uuid:agent_id>/skills/upload/",
        skills.SkillUpload.as_view(),
        name="agent-skill-upload",
    ),
    path(
        "projects/<uuid:project>/agents/<uuid:agent_id>/skills/<uuid:skill_id>/",
        skills.SkillDetail.as_view(),
        name="agent-skill",
    ),
    path(
        f"{MCP}",
        mcp_servers.McpServerList.as_view(),
        name="mcp-servers",
    ),
    path(
        f"{MCP}import/",
        mcp_servers.McpServerImport.as_view(),
        name="mcp-server-import",
    ),
    path(
        f"{MCP}export/",
        mcp_servers.McpServerExport.as_view(),
        name="mcp-server-export",
    ),
    path(
        f"{MCP}<uuid:server_id>/",
        mcp_servers.McpServerDetail.as_view(),
        name="mcp-server",
    ),
    path(
        f"{MCP}<uuid:server_id>/test/",
        mcp_servers.CheckMcpServer.as_view(),
        name="mcp-server-test",
    ),
    path(
        f"{MCP}<uuid:server_id>/tools/",
        mcp_servers.McpServerTools.as_view(),
        name="mcp-server-tools",
    ),
    path(
        f"{MCP}<uuid:server_id>/sign-in/",
        mcp_servers.McpSignIn.as_view(),
        name="mcp-server-sign-in",
    ),
    path("projects/<uuid:project>/plugins/", plugins.PluginList.as_view(), name="plugins"),
    path(
        "projects/<uuid:project>/plugins/<slug:plugin_id>/",
        plugins.PluginDetail.as_view(),
        name="plugin",
    ),
    path(
        "projects/<uuid:project>/plugins/<slug:plugin_id>/enable/",
        plugins.EnablePlugin.as_view(),
        name="plugin-enable",
    ),
    path(
        "projects/<uuid:project>/plugins/<slug:plugin_id>/disable/",
        plugins.DisablePlugin.as_view(),
        name="plugin-disable",
    ),
    path(
        "projects/<uuid:project>/agents/<uuid:agent_id>/plugins/",
        plugins.AgentPlugins.as_view(),
        name="agent-plugins",
    ),
    path(
        "projects/<uuid:project>/variables/",
        variables.ProjectVariables.as_view(),
        name="project-variables",
    ),
    path(
        "projects/<uuid:project>/variables/<uuid:project_variable_id>/",
        variables.ProjectVariable.as_view(),
        name="project-variable",
    ),
    path(f"{AGENT}variables/", variables.AgentVariables.as_view(), name="agent-variables"),
    path(
        f"{AGENT}variables/<uuid:agent_variable_id>/",
        variables.AgentVariable.as_view(),
        name="agent-variable",
    ),
]
