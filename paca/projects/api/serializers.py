"""What the API shows of workspaces, projects, members and roles, and what it takes."""

from typing import Any

from rest_framework import serializers

from paca.accounts import permission_patterns
from paca.common.api.serializers import Input
from paca.projects.models import Member, Project, Role, Workspace


class WorkspaceSerializer(serializers.ModelSerializer[Workspace]):
    """A workspace."""

    class Meta:
        model = Workspace
        fields = ("id", "name", "created_at", "updated_at")


class WorkspaceInput(Input):
    """What can be changed of a workspace."""

    name = serializers.CharField(max_length=100)


class ProjectSerializer(serializers.ModelSerializer[Project]):
    """A project."""

    class Meta:
        model = Project
        fields = ("id", "workspace_id", "name", "description", "created_at", "updated_at")


class ProjectInput(Input):
    """What a project is made of."""

    name = serializers.CharField(max_length=100)
    description = serializers.CharField(max_length=10_000, required=False, allow_blank=True)


class NewProjectInput(ProjectInput):
    """A new project also needs a workspace, unless the person has just one."""

    workspace_id = serializers.UUIDField(required=False)


class RoleSerializer(serializers.ModelSerializer[Role]):
    """A role."""

    permissions = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Role
        fields = ("id", "name", "permissions", "created_at", "updated_at")


class RoleInput(Input):
    """What a role is made of."""

    name = serializers.CharField(max_length=50)
    permissions = serializers.ListField(
        child=serializers.CharField(), max_length=len(permission_patterns.PATTERNS)
    )


class MemberSerializer(serializers.ModelSerializer[Member]):
    """A member: one human or one agent."""

    role = serializers.SerializerMethodField()

    class Meta:
        model = Member
        fields = (
            "id",
            "kind",
            "name",
            "handle",
            "user_id",
            "agent_id",
            "role",
            "created_at",
            "updated_at",
        )

    def get_role(self, member: Member) -> dict[str, Any]:
        return {"id": str(member.role_id), "name": member.role.name}


class MemberInput(Input):
    """Whom to add, in which role."""

    username = serializers.CharField(max_length=64)
    role_id = serializers.UUIDField()


class MemberRoleInput(Input):
    """What can be changed of a member."""

    role_id = serializers.UUIDField()
