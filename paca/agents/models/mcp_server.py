"""MCP servers of agents, the tools that they offer, and what people decided on those."""

from __future__ import annotations

from typing import Any, Self
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import (
    MaxValueValidator,
    MinValueValidator,
    RegexValidator,
)
from django.db import models
from django.db.models import F, Q

from paca.agents.models.agent import Agent
from paca.common.models import BaseModel
from paca.common.text import is_storable
from paca.engine.mcp.settings import (
    DEFAULT_CALL_SECONDS,
    DEFAULT_START_SECONDS,
    OfferedTool,
    PinnedTool,
    ServerState,
)
from paca.projects.models import Project

MAX_NAME_CHARACTERS, MAX_COMMAND_CHARACTERS, MAX_URL_CHARACTERS = 30, 1000, 2000
MAX_ARGS, MAX_ARG_CHARACTERS = 100, 4000
MAX_ERROR_CHARACTERS = 2000
MAX_START_SECONDS, MAX_CALL_SECONDS = 300, 3600

# Part of the names of its tools, ``mcp__name__tool``, where two underscores separate.
server_name_validator = RegexValidator(
    r"^[a-z0-9]+(?:[_-][a-z0-9]+)*\Z",
    "Use small letters, digits and single - or _ between them.",
)


def check_url(address: str) -> None:
    """Raises ``ValidationError`` if it is not an HTTP address, or has a password or a fragment in it."""
    try:
        url = urlsplit(address)
        valid = url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        valid = False
    if not valid or any(each.isspace() or not each.isprintable() for each in address):
        raise ValidationError("Write an address such as https://mcp.example.org/mcp.")
    if url.username or url.password:
        raise ValidationError("Write the password into a header, not into the address.")
    if url.fragment:
        raise ValidationError("An address of a server has no part behind #.")


def check_args(args: Any) -> None:
    """Raises ``ValidationError`` if the arguments are not a list of a few texts."""
    if not isinstance(args, list) or len(args) > MAX_ARGS:
        raise ValidationError(f"Write a list of at most {MAX_ARGS} arguments.")
    for each in args:
        if not isinstance(each, str) or len(each) > MAX_ARG_CHARACTERS or not is_storable(each):
            raise ValidationError(
                f"An argument is a text of at most {MAX_ARG_CHARACTERS} characters."
            )


class McpTransport(models.TextChoices):
    """How a server is reached. One with ``stdio`` runs inside the sandbox."""

    STDIO = "stdio", "A command in the sandbox"
    HTTP = "http", "HTTP"
    SSE = "sse", "HTTP with SSE (older servers)"


class McpAuth(models.TextChoices):
    """How Paca shows a server who it is, besides headers."""

    NONE = "none", "None, or a header"
    OAUTH = "oauth", "OAuth: a person signs in"


class McpHealth(models.TextChoices):
    """How a server was found the last time; the engine's states, and that it was not tried yet."""

    UNKNOWN = "unknown", "Not tried yet"
    AVAILABLE = ServerState.AVAILABLE.value, "Works"
    UNAVAILABLE = ServerState.UNAVAILABLE.value, "Does not work"
    SIGN_IN_NEEDED = ServerState.SIGN_IN_NEEDED.value, "Needs a sign-in"


class McpServerQuerySet(models.QuerySet["McpServer"]):
    """Queries of MCP servers."""

    def enabled(self) -> Self:
        """The servers that the agent may use."""
        return self.filter(enabled=True)

    def for_project(self, project: Project) -> Self:
        """The servers of the project's agents that are not retired."""
        return self.filter(agent__project=project, agent__deleted_at__isnull=True)


class McpServer(BaseModel):
    """An MCP server of an agent. Values of ``env`` and ``headers`` are encrypted; their names are not.

    ``updated_at`` is the time of the last change by a person: health and tools do not move it.
    """

    agent = models.ForeignKey(Agent, on_delete=models.CASCADE, related_name="mcp_servers")
    # The plugin that has brought it; null if a person has added it.
    plugin = models.ForeignKey(
        "agents.Plugin",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        editable=False,
        related_name="servers",
    )
    name = models.CharField(max_length=MAX_NAME_CHARACTERS, validators=[server_name_validator])
    transport = models.CharField(max_length=10, choices=McpTransport)
    command = models.CharField(max_length=MAX_COMMAND_CHARACTERS, blank=True)
    args = models.JSONField(default=list, blank=True, validators=[check_args])
    url = models.CharField(max_length=MAX_URL_CHARACTERS, blank=True, validators=[check_url])
    env_names = models.JSONField(default=list, blank=True, editable=False)
    encrypted_env = models.TextField(blank=True, editable=False)
    header_names = models.JSONField(default=list, blank=True, editable=False)
    encrypted_headers = models.TextField(blank=True, editable=False)
    auth = models.CharField(max_length=10, choices=McpAuth, default=McpAuth.NONE)
    oauth_client_id = models.CharField(
        max_length=500,
        blank=True,
        help_text="Only where the server's sign-in service registers no clients by itself.",
    )
    encrypted_oauth_secret = models.TextField(blank=True, editable=False)
    enabled = models.BooleanField(default=True)
    private_addresses = models.BooleanField(
        default=False, help_text="It may be in a private network, if the project allows that."
    )
    accept_first = models.BooleanField(
        default=False,
        help_text="The tools of its first connection are accepted without asking. Later ones wait.",
    )
    start_seconds = models.PositiveIntegerField(
        default=int(DEFAULT_START_SECONDS),
        validators=[MinValueValidator(1), MaxValueValidator(MAX_START_SECONDS)],
        help_text="For the connection and the list of its tools.",
    )
    call_seconds = models.PositiveIntegerField(
        default=int(DEFAULT_CALL_SECONDS),
        validators=[MinValueValidator(1), MaxValueValidator(MAX_CALL_SECONDS)],
        help_text="For one call of a tool.",
    )
    health_state = models.CharField(
        max_length=20, choices=McpHealth, default=McpHealth.UNKNOWN, editable=False
    )
    health_error = models.TextField(blank=True, editable=False)
    checked_at = models.DateTimeField(null=True, blank=True, editable=False)
    has_resources = models.BooleanField(default=False, editable=False)
    has_prompts = models.BooleanField(default=False, editable=False)

    objects = McpServerQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["agent", "name"],
                name="mcp_server_name_is_unique_for_its_agent",
                violation_error_message="The agent has an MCP server of this name.",
            ),
            models.CheckConstraint(
                name="mcp_server_has_a_command_or_a_url",
                condition=(Q(transport=McpTransport.STDIO, url="") & ~Q(command=""))
                | (Q(transport__in=[McpTransport.HTTP, McpTransport.SSE], command="") & ~Q(url="")),
            ),
            models.CheckConstraint(
                name="mcp_server_signs_in_over_http",
                condition=Q(auth=McpAuth.NONE)
                | Q(auth=McpAuth.OAUTH, transport__in=[McpTransport.HTTP, McpTransport.SSE]),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_stdio(self) -> bool:
        """Whether it runs as a command in the sandbox."""
        return self.transport == McpTransport.STDIO

    @property
    def uses_oauth(self) -> bool:
        """Whether a person signs in to it."""
        return self.auth == McpAuth.OAUTH

    @property
    def is_private_allowed(self) -> bool:
        """Whether it may be in a private network: its settings and those of its project both allow it."""
        # guard: mcp-private-addresses-as-the-project-says-now
        return self.private_addresses and self.agent.project.private_mcp_servers


class McpToolState(models.TextChoices):
    """What people decided on the newest description of a tool."""

    ACCEPTED = "accepted", "Accepted"
    NEW = "new", "New"
    CHANGED = "changed", "Changed"
    REFUSED = "refused", "Refused"


class McpToolQuerySet(models.QuerySet["McpTool"]):
    """Queries of tools of MCP servers."""

    def offered(self) -> Self:
        """Those that the server offered when it was last connected."""
        return self.filter(offered=True)

    def waiting(self) -> Self:
        """Offered ones on whose newest description nobody has decided."""
        decided = Q(accepted_hash=F("hash")) | Q(refused_hash=F("hash"))
        return self.offered().exclude(decided)


class McpTool(models.Model):
    """A tool of an MCP server: its newest description, and the one that a person has accepted.

    A row of a tool that is no longer offered stays, so that it is compared with the accepted description if the
    server offers it again.
    """

    State = McpToolState

    id = models.BigAutoField(primary_key=True)
    server = models.ForeignKey(
        McpServer, on_delete=models.CASCADE, related_name="tools", db_index=False
    )
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    schema = models.JSONField(default=dict)
    says_read_only = models.BooleanField(default=False)
    says_destructive = models.BooleanField(default=False)
    hash = models.CharField(max_length=64)
    offered = models.BooleanField(default=True)
    accepted_hash = models.CharField(max_length=64, blank=True)
    accepted_text = models.TextField(blank=True)
    refused_hash = models.CharField(max_length=64, blank=True)
    safe = models.BooleanField(default=False)
    enabled = models.BooleanField(default=True)

    objects = McpToolQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["server", "name"], name="mcp_tool_name_is_unique_for_its_server"
            )
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_accepted(self) -> bool:
        """Whether a person has accepted the newest description."""
        # guard: mcp-changed-tools-wait
        return self.accepted_hash == self.hash

    @property
    def state(self) -> McpToolState:
        """What people decided on the newest description."""
        if self.is_accepted:
            return McpToolState.ACCEPTED
        if self.refused_hash == self.hash:
            return McpToolState.REFUSED
        return McpToolState.CHANGED if self.accepted_hash else McpToolState.NEW

    @property
    def offer(self) -> OfferedTool:
        """The newest description, as the engine has it."""
        return OfferedTool(
            self.name, self.description, self.schema, self.says_read_only, self.says_destructive
        )

    @property
    def pin(self) -> PinnedTool:
        """The newest description and the decision on it, as the engine has it."""
        return PinnedTool(self.hash, self.is_accepted, self.safe, self.enabled, self.offer)
