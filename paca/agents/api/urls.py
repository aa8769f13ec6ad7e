"""URLs below ``/api/v1/``: agents, and the models and tools to choose from."""

from django.urls import path

from paca.agents.api import agents, catalogues

urlpatterns = [
    path("agents/llm-models/", catalogues.LlmModelList.as_view(), name="llm-models"),
    path("tools/", catalogues.ToolList.as_view(), name="tools"),
    path("projects/<uuid:project>/agents/", agents.AgentList.as_view(), name="agents"),
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
]
