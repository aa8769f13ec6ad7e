"""URLs below ``/api/v1/``: workspaces, projects, members and roles."""

from django.urls import path

from paca.projects.api import members, projects, roles, workspaces

urlpatterns = [
    path("workspaces/", workspaces.WorkspaceList.as_view(), name="workspaces"),
    path("workspaces/<uuid:workspace_id>/", workspaces.WorkspaceDetail.as_view(), name="workspace"),
    path("projects/", projects.ProjectList.as_view(), name="projects"),
    path("projects/<uuid:project>/", projects.ProjectDetail.as_view(), name="project"),
    path("projects/<uuid:project>/members/", members.MemberList.as_view(), name="members"),
    path(
        "projects/<uuid:project>/members/<uuid:member_id>/",
        members.MemberDetail.as_view(),
        name="member",
    ),
    path("projects/<uuid:project>/roles/", roles.RoleList.as_view(), name="roles"),
    path("projects/<uuid:project>/roles/<uuid:role_id>/", roles.RoleDetail.as_view(), name="role"),
]
