"""Addresses below ``/api/v1/``: agents, and what they can be made of."""

from django.urls import path

from paca.agents.api import agents, catalogues

urlpatterns = [
    path("agents/llm-models/", catalogues.Models.as_view(), name="llm-models"),
    path("tools/", catalogues.Tools.as_view(), name="tools"),
    path("projects/<uuid:project>/agents/", agents.Agents.as_view(), name="agents"),
    path(
        "projects/<uuid:project>/agents/<uuid:agent_id>/", agents.OneAgent.as_view(), name="agent"
    ),
    path(
        "projects/<uuid:project>/agents/<uuid:agent_id>/test-connection/",
        agents.TestConnection.as_view(),
        name="agent-test-connection",
    ),
]
