"""Addresses below ``/api/v1/``: workspaces, projects, members and roles."""

from django.urls import path

from paca.projects.api import members, projects, roles, workspaces

urlpatterns = [
    path("workspaces/", workspaces.Workspaces.as_view(), name="workspaces"),
    path("workspaces/<uuid:workspace_id>/", workspaces.OneWorkspace.as_view(), name="workspace"),
    path("projects/", projects.Projects.as_view(), name="projects"),
    path("projects/<uuid:project>/", projects.OneProject.as_view(), name="project"),
    path("projects/<uuid:project>/members/", members.Members.as_view(), name="members"),
    path(
        "projects/<uuid:project>/members/<uuid:member_id>/",
        members.OneMember.as_view(),
        name="member",
    ),
    path("projects/<uuid:project>/roles/", roles.Roles.as_view(), name="roles"),
    path("projects/<uuid:project>/roles/<uuid:role_id>/", roles.OneRole.as_view(), name="role"),
]
