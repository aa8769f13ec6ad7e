"""Workspaces, projects, roles and members."""

from paca.projects.models.member import Member, Role
from paca.projects.models.project import Project
from paca.projects.models.workspace import Workspace, WorkspaceMember

__all__ = ["Member", "Project", "Role", "Workspace", "WorkspaceMember"]
