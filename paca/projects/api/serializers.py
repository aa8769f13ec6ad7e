"""Serializers of workspaces, projects, members and roles."""

from decimal import Decimal
from typing import Any

from rest_framework import serializers

from paca.common.api.serializers import InputSerializer
from paca.common.network_policy import MAX_HOSTS
from paca.engine.approvals.allowed_commands import MAX_COMMAND_CHARACTERS, MAX_COMMANDS
from paca.projects.models import Member, MemoryPolicy, Project, ProjectNetwork, Role, Workspace
from paca.projects.models.allowed_commands import ALLOWED_COMMANDS_HELP
from paca.projects.models.environment import MAX_IMAGE_CHARACTERS, MAX_SETUP_CHARACTERS

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


class ProjectLimitsSerializer(serializers.Serializer[Any]):
    """The budget of a project for each month of UTC. Null is no limit."""

    month_tokens = serializers.IntegerField(source="limit_month_tokens", allow_null=True)
    month_cost_usd = serializers.FloatField(source="limit_month_cost_usd", allow_null=True)


class ProjectLimitsInput(InputSerializer):
    """The budget of the project for each month."""

    month_tokens = serializers.IntegerField(
        source="limit_month_tokens",
        min_value=1000,
        max_value=10**15,
        required=False,
        allow_null=True,
    )
    month_cost_usd = serializers.DecimalField(
        source="limit_month_cost_usd",
        max_digits=10,
        decimal_places=2,
        min_value=Decimal("0.01"),
        required=False,
        allow_null=True,
    )


class ProjectSerializer(serializers.ModelSerializer[Project]):
    """A project."""

    allowed_commands = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="The only commands that its agents may run; null for all.",
    )
    limits = ProjectLimitsSerializer(source="*")

    class Meta:
        model = Project
        fields = (
            "id",
            "workspace_id",
            "name",
            "prefix",
            "description",
            "time_zone",
            "private_mcp_servers",
            "memory",
            "network",
            "network_presets",
            "network_hosts",
            "sandbox_image",
            "setup_commands",
            "repository_setup",
            "allowed_commands",
            "package_cache",
            "limits",
            "created_at",
            "updated_at",
        )


class ProjectInput(InputSerializer):
    """The input to change a project."""

    name = serializers.CharField(max_length=100)
    prefix = serializers.CharField(max_length=10, required=False)
    description = serializers.CharField(max_length=10_000, required=False, allow_blank=True)
    time_zone = serializers.CharField(
        max_length=64,
        required=False,
        allow_blank=True,
        help_text="Hours of check-ins are meant in it, such as Europe/Berlin. Empty: the server's.",
    )
    private_mcp_servers = serializers.BooleanField(
        required=False,
        help_text="Whether MCP servers of its agents may be in the private network of this server.",
    )
    memory = serializers.ChoiceField(
        choices=MemoryPolicy.choices,
        required=False,
        help_text="What becomes of what its agents note about the project: off, ask (a person decides) or on.",
    )
    network = serializers.ChoiceField(
        choices=ProjectNetwork.choices,
        required=False,
        help_text="The widest network of its agents' sandboxes: none, restricted (listed hosts only) or open.",
    )
    network_presets = serializers.ListField(
        child=serializers.CharField(max_length=40),
        required=False,
        max_length=MAX_HOSTS,
        help_text="Groups of hosts that sandboxes may reach: python, npm, debian, ubuntu, rust, go, github.",
    )
    network_hosts = serializers.ListField(
        child=serializers.CharField(max_length=255),
        required=False,
        max_length=MAX_HOSTS,
        help_text="More hosts that sandboxes may reach, such as example.org or *.example.org.",
    )
    sandbox_image = serializers.CharField(
        max_length=MAX_IMAGE_CHARACTERS,
        required=False,
        allow_blank=True,
        help_text="Image of its agents' sandboxes, one of AGENT_SANDBOX_IMAGES; empty for the default. Without effect "
        "where sandboxes are made with bubblewrap.",
    )
    setup_commands = serializers.CharField(
        max_length=MAX_SETUP_CHARACTERS,
        required=False,
        allow_blank=True,
        help_text="A script for bash that runs once for the sandboxes of its agents, before the agent's own. What it "
        "installs below /opt/setup, which is its $HOME, is then in each sandbox.",
    )
    repository_setup = serializers.BooleanField(
        required=False,
        help_text="Whether the .paca/setup.sh of a repository runs after its clone, where the agent's approval policy "
        "asks nobody before commands.",
    )
    allowed_commands = serializers.ListField(
        child=serializers.CharField(max_length=MAX_COMMAND_CHARACTERS),
        required=False,
        allow_null=True,
        max_length=MAX_COMMANDS,
        help_text=ALLOWED_COMMANDS_HELP,
    )
    package_cache = serializers.BooleanField(
        required=False,
        help_text="Whether its sandboxes share the packages that they have downloaded, on each machine.",
    )
    limits = ProjectLimitsInput(source="*", required=False)


class NewProjectInput(ProjectInput):
    """The input for a new project. The workspace may be left out if the person has only one."""

    limits = None  # type: ignore[assignment]  # a new project has none
    time_zone = None  # type: ignore[assignment]
    private_mcp_servers = None  # type: ignore[assignment]
    memory = None  # type: ignore[assignment]
    network = None  # type: ignore[assignment]
    network_presets = None  # type: ignore[assignment]
    network_hosts = None  # type: ignore[assignment]
    sandbox_image = None  # type: ignore[assignment]
    setup_commands = None  # type: ignore[assignment]
    repository_setup = None  # type: ignore[assignment]
    allowed_commands = None  # type: ignore[assignment]
    package_cache = None  # type: ignore[assignment]
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
