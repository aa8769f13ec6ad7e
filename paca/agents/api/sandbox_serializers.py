"""The sandbox of an agent in requests and answers."""

from typing import Any

from rest_framework import serializers

from paca.agents.models import Agent
from paca.common.api.serializers import InputSerializer
from paca.projects.models.environment import MAX_IMAGE_CHARACTERS, MAX_SETUP_CHARACTERS


class SandboxSerializer(serializers.Serializer[Any]):
    """The sandbox of its commands. Null is the server's default; the project says how wide its network is at most."""

    memory_mib = serializers.IntegerField(source="sandbox_memory_mib", allow_null=True)
    cpus = serializers.FloatField(source="sandbox_cpus", allow_null=True)
    disk_mib = serializers.IntegerField(
        source="sandbox_disk_mib", allow_null=True, help_text="What its workspace may store."
    )
    files = serializers.IntegerField(
        source="sandbox_files",
        allow_null=True,
        help_text="Files and folders in its workspace. Null: 128 for each MiB.",
    )
    life = serializers.CharField(source="sandbox_life")
    network = serializers.CharField(source="sandbox_network")
    image = serializers.CharField(source="sandbox_image")
    setup = serializers.CharField(source="setup_commands")


class SandboxInput(InputSerializer):
    """The sandbox of its commands."""

    memory_mib = serializers.IntegerField(
        source="sandbox_memory_mib", required=False, allow_null=True
    )
    cpus = serializers.DecimalField(
        source="sandbox_cpus", max_digits=5, decimal_places=2, required=False, allow_null=True
    )
    disk_mib = serializers.IntegerField(
        source="sandbox_disk_mib",
        required=False,
        allow_null=True,
        help_text="At least 16, at most SANDBOX_MAX_DISK_MIB. A workspace grows when its sandbox "
        "starts again, and never shrinks.",
    )
    files = serializers.IntegerField(
        source="sandbox_files",
        required=False,
        allow_null=True,
        help_text="At least 100, at most SANDBOX_MAX_FILES. Null: 128 for each MiB.",
    )
    life = serializers.ChoiceField(
        source="sandbox_life",
        choices=Agent.SandboxLife.choices,
        required=False,
        help_text="What happens to running processes when the sandbox is unused for a while: "
        "ephemeral ends them, persistent pauses them first. An ephemeral one loses its files when its conversation "
        "stays in the archive for SANDBOX_ARCHIVED_SECONDS; else files are kept.",
    )
    network = serializers.ChoiceField(
        source="sandbox_network",
        choices=Agent.SandboxNetwork.choices,
        required=False,
        help_text="none, restricted (the hosts that the project lists) or open (all public hosts; this needs the "
        "permission projects:write). The project's own setting is the most that it gets.",
    )
    image = serializers.CharField(
        source="sandbox_image",
        max_length=MAX_IMAGE_CHARACTERS,
        required=False,
        allow_blank=True,
        help_text="One of AGENT_SANDBOX_IMAGES; empty for that of the project, else the default. Without effect where "
        "sandboxes are made with bubblewrap.",
    )
    setup = serializers.CharField(
        source="setup_commands",
        max_length=MAX_SETUP_CHARACTERS,
        required=False,
        allow_blank=True,
        help_text="A script for bash that runs once for its sandboxes, after that of the project. What it installs below "
        "/opt/setup, which is its $HOME, is then in each sandbox.",
    )
