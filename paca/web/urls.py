"""The URLs of the pages."""

from django.urls import path

from paca.web.views import (
    agent_settings,
    docs,
    inbox,
    join,
    mcp_sign_in,
    memory,
    network,
    one_time_link,
    pages,
    project_settings,
    repositories,
    styleguide,
    tasks,
    team,
    tokens,
    usage,
    workspace,
)

urlpatterns = [
    path("", pages.home, name="home"),
    path("link/<str:secret>/", one_time_link.one_time_link, name="one_time_link"),
    path("join/<str:secret>/", join.join, name="join"),
    path("mcp/sign-in/", mcp_sign_in.finish, name="mcp_sign_in"),
    path("workspaces/<uuid:workspace_id>/", workspace.workspace, name="workspace"),
    path("tokens/", tokens.tokens, name="tokens"),
    path("projects/", pages.projects, name="projects"),
    path("projects/<uuid:project>/", pages.overview, name="overview"),
    path("projects/<uuid:project>/inbox/", inbox.inbox, name="inbox"),
    path("projects/<uuid:project>/docs/", docs.docs, name="docs"),
    path("projects/<uuid:project>/docs/<uuid:doc_id>/", docs.docs, name="doc"),
    path(
        "projects/<uuid:project>/settings/",
        project_settings.project_settings,
        name="project_settings",
    ),
    path("projects/<uuid:project>/memory/", memory.project_memory, name="memory"),
    path("projects/<uuid:project>/repositories/", repositories.repositories, name="repositories"),
    path("projects/<uuid:project>/team/", team.team, name="team"),
    path("projects/<uuid:project>/usage/", usage.usage_page, name="usage"),
    path("projects/<uuid:project>/board/", tasks.board, name="board"),
    path("projects/<uuid:project>/tasks/<int:number>/", tasks.task, name="task"),
    path("projects/<uuid:project>/agents/", pages.agent_list, name="agents"),
    path("projects/<uuid:project>/agents/new/", agent_settings.new_agent, name="agent_new"),
    path(
        "projects/<uuid:project>/agents/<uuid:agent_id>/settings/",
        agent_settings.agent_settings,
        name="agent_settings",
    ),
    path(
        "projects/<uuid:project>/agents/<uuid:agent_id>/memory/",
        memory.agent_memory,
        name="agent_memory",
    ),
    path("projects/<uuid:project>/agents/<uuid:agent_id>/", pages.agent, name="agent"),
    path("projects/<uuid:project>/conversations/", pages.conversation_list, name="conversations"),
    path(
        "projects/<uuid:project>/conversations/<uuid:conversation_id>/",
        pages.conversation,
        name="conversation",
    ),
    path(
        "projects/<uuid:project>/conversations/<uuid:conversation_id>/network/",
        network.conversation_network,
        name="conversation_network",
    ),
    path("styleguide/", styleguide.styleguide, name="styleguide"),
]
