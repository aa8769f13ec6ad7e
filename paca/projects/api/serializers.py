"""Serializers of workspaces, projects, members and roles."""

from rest_framework import serializers

from paca.common.api.serializers import InputSerializer
from paca.projects.models import Member, Project, Role, Workspace

# More than this version of Paca knows: a role may also hold permissions of another version.
MAX_PERMISSIONS = 100


class WorkspaceSerializer(serializers.ModelSerializer[Workspace]):
    """A workspace."""

    class Meta:
        model = Workspace
        fields = ("id", "name", "created_at", "updated_at")


class WorkspaceInput(InputSerializer):
    """The input to change a workspace."""

    name = serializers.CharField(max_length=100)


class ProjectSerializer(serializers.ModelSerializer[Project]):
    """A project."""

    class Meta:
        model = Project
        fields = (
            "id",
            "workspace_id",
            "name",
            "prefix",
            "description",
            "created_at",
            "updated_at",
        )


class ProjectInput(InputSerializer):
    """The input to change a project."""

    name = serializers.CharField(max_length=100)
    prefix = serializers.CharField(max_length=10, required=False)
    description = serializers.CharField(max_length=10_000, required=False, allow_blank=True)


class NewProjectInput(ProjectInput):
    """The input for a new project. The workspace may be left out if the person has only one."""

    workspace_id = serializers.UUIDField(required=False)


class RoleSerializer(serializers.ModelSerializer[Role]):
    """A role."""

    permissions = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Role
        fields = ("id", "name", "permissions", "created_at", "updated_at")


class RoleInput(InputSerializer):
    """The input to make or change a role."""

    name = serializers.CharField(max_length=50)
    permissions = serializers.ListField(child=serializers.CharField(), max_length=MAX_PERMISSIONS)


class RoleSummarySerializer(serializers.ModelSerializer[Role]):
    """The role of a member."""

    class Meta:
        model = Role
        fields = ("id", "name")


class MemberSerializer(serializers.ModelSerializer[Member]):
    """A member: a person or an agent."""

    role = RoleSummarySerializer()

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


class MemberInput(InputSerializer):
    """The input to add a person."""

    username = serializers.CharField(max_length=64)
    role_id = serializers.UUIDField()


class MemberRoleInput(InputSerializer):
    """The input to change a member."""

    role_id = serializers.UUIDField()
