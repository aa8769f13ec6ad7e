"""Projects, where people and agents work together."""

from decimal import Decimal
from typing import Self

from django.core.validators import (
    MaxLengthValidator,
    MaxValueValidator,
    MinValueValidator,
    RegexValidator,
)
from django.db import models

from paca.accounts.models import User
from paca.common import time_zones
from paca.common.models import BaseModel
from paca.projects.models.allowed_commands import allowed_commands_field
from paca.projects.models.environment import SandboxEnvironment
from paca.projects.models.network import ProjectNetwork, check_hosts, check_presets
from paca.projects.models.workspace import Workspace

MIN_COST_USD = Decimal("0.01")
prefix_validator = RegexValidator(
    r"^[A-Z][A-Z0-9]{0,9}\Z", "Use 1 to 10 capital letters and digits; begin with a letter."
)


class MemoryPolicy(models.TextChoices):
    """What becomes of what an agent notes for later conversations."""

    OFF = "off", "No memory"
    ASK = "ask", "A person decides what is kept"
    ON = "on", "It is kept at once"


class ProjectQuerySet(models.QuerySet["Project"]):
    """Queries of projects."""

    def live(self) -> Self:
        """Projects that are not deleted."""
        return self.filter(deleted_at__isnull=True)

    def for_person(self, user: User) -> Self:
        """Projects that the person is a member of."""
        return self.live().filter(members__user=user, members__deleted_at__isnull=True)


class Project(SandboxEnvironment, BaseModel):
    """Belongs to one workspace. A deleted project is hidden; its rows stay.

    ``prefix`` and the number of a task make its key, such as ``PACA-42``. ``last_task_number`` only
    grows, so that no number is given twice.
    """

    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="projects")
    name = models.CharField(max_length=100)
    prefix = models.CharField(
        max_length=10,
        validators=[prefix_validator],
        help_text="The beginning of the keys of its tasks: PACA gives PACA-1, PACA-2.",
    )
    description = models.TextField(blank=True, validators=[MaxLengthValidator(10_000)])
    # With a default of the database: processes of an earlier version do not know the column.
    time_zone = models.CharField(
        max_length=64,
        blank=True,
        db_default="",
        default="",
        validators=[time_zones.check],
        help_text="Hours of check-ins are meant in it, such as Europe/Berlin. Empty: the server's.",
    )
    private_mcp_servers = models.BooleanField(
        default=False,
        db_default=False,
        help_text="MCP servers of its agents may be in the private network of this server.",
    )
    # What an agent has read may be meant to mislead, and stays in each later prompt: people decide.
    memory = models.CharField(
        max_length=5,
        choices=MemoryPolicy.choices,
        default=MemoryPolicy.ASK,
        db_default=MemoryPolicy.ASK,
        help_text="What becomes of what its agents note about the project: off, ask (a person decides) or on.",
    )
    # What a sandbox may reach is decided by people: an agent could be misled into sending out what it reads.
    network = models.CharField(
        max_length=10,
        choices=ProjectNetwork.choices,
        default=ProjectNetwork.NONE,
        db_default=ProjectNetwork.NONE,
        help_text="The widest network of its agents' sandboxes: none, restricted (listed hosts) or open.",
    )
    network_presets = models.JSONField(
        default=list,
        blank=True,
        db_default=[],
        validators=[check_presets],
        help_text="Groups of hosts that sandboxes may reach, such as python and npm.",
    )
    network_hosts = models.JSONField(
        default=list,
        blank=True,
        db_default=[],
        validators=[check_hosts],
        help_text="More hosts that sandboxes may reach, such as example.org or *.example.org.",
    )
    # Its script is code of the repository, which anybody may have written: people switch it on.
    repository_setup = models.BooleanField(
        default=False,
        db_default=False,
        help_text="The .paca/setup.sh of a repository runs after its clone, where no approval is needed for commands.",
    )
    allowed_commands = allowed_commands_field("its agents")
    package_cache = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Its sandboxes share the packages that they have downloaded.",
    )
    limit_month_tokens = models.PositiveBigIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1000), MaxValueValidator(10**15)],
        help_text="Tokens of all its agents in a month of UTC. Empty: no limit.",
    )
    limit_month_cost_usd = models.DecimalField(
        null=True,
        blank=True,
        max_digits=10,
        decimal_places=2,
        validators=[MinValueValidator(MIN_COST_USD)],
        help_text="US dollars that all its agents may cost in a month of UTC. Empty: no limit.",
    )
    last_task_number = models.PositiveIntegerField(default=0, editable=False)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "name"],
                condition=models.Q(deleted_at__isnull=True),
                name="project_name_is_unique_in_its_workspace",
                violation_error_message="The workspace has a project of this name.",
            ),
            models.UniqueConstraint(
                fields=["workspace", "prefix"],
                condition=models.Q(deleted_at__isnull=True),
                name="project_prefix_is_unique_in_its_workspace",
                violation_error_message="The workspace has a project with this prefix.",
            ),
            models.CheckConstraint(
                name="project_memory_policy_is_known",
                condition=models.Q(memory__in=MemoryPolicy.values),
            ),
            models.CheckConstraint(
                name="project_network_is_known",
                condition=models.Q(network__in=ProjectNetwork.values),
            ),
            models.CheckConstraint(
                name="project_budgets_are_positive",
                condition=(
                    models.Q(limit_month_tokens=None) | models.Q(limit_month_tokens__gte=1000)
                )
                & (
                    models.Q(limit_month_cost_usd=None)
                    | models.Q(limit_month_cost_usd__gte=MIN_COST_USD)
                ),
            ),
        ]

    def __str__(self) -> str:
        return self.name
