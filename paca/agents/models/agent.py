"""Agents: their model, prompts, limits and sandbox."""

from decimal import Decimal
from typing import Self
from uuid import UUID

from django.core.validators import (
    MaxLengthValidator,
    MaxValueValidator,
    MinValueValidator,
)
from django.db import models

from paca.agents.models.agent_constraints import CONSTRAINTS
from paca.agents.models.agent_fields import (
    check_base_url,
    dollar_limit_field,
    handle_validator,
    model_validator,
    token_limit_field,
    trigger_prompt_field,
    type_validator,
)
from paca.agents.models.choices import (
    AgentApproval,
    AgentCategory,
    AgentPriority,
    AgentStatus,
    AgentVerification,
    SandboxLife,
    SandboxNetwork,
)
from paca.agents.models.tags import TagsField, check_tags
from paca.common.models import BaseModel
from paca.engine.helpers.requests import DEFAULT_HELPERS, MAX_HELPERS
from paca.projects.models import MemoryPolicy, Project, SandboxEnvironment
from paca.projects.models.allowed_commands import allowed_commands_field


class AgentQuerySet(models.QuerySet["Agent"]):
    """Queries of agents."""

    def live(self) -> Self:
        """Agents that are not retired."""
        return self.filter(deleted_at__isnull=True)

    def for_project(self, project: Project) -> Self:
        """The project's agents that are not retired."""
        return self.live().filter(project=project)


class Agent(SandboxEnvironment, BaseModel):
    """An agent of a project. A retired agent is hidden and no member; its conversations stay."""

    Status = AgentStatus
    SandboxLife = SandboxLife
    SandboxNetwork = SandboxNetwork
    Approval = AgentApproval
    Verification = AgentVerification
    Category = AgentCategory
    Priority = AgentPriority

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="agents")
    name = models.CharField(max_length=100)
    handle = models.CharField(
        max_length=40, validators=[handle_validator], help_text="The name that others type after @."
    )
    description = models.TextField(
        blank=True,
        validators=[MaxLengthValidator(2000)],
        help_text="What the agent is good for. The agent reads it too.",
    )
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    # With defaults of the database: processes of an earlier version do not know these columns.
    agent_type = models.CharField(
        blank=True,
        default="",
        db_default="",
        max_length=40,
        validators=[type_validator],
        help_text="What kind of agent it is, such as developer. Known types have a template.",
    )
    category = models.CharField(
        max_length=20,
        choices=Category.choices,
        default=Category.CUSTOM,
        db_default=Category.CUSTOM,
        help_text="The field of work that lists sort it into.",
    )
    tags = TagsField(default=list, blank=True, db_default="", validators=[check_tags])
    priority = models.PositiveSmallIntegerField(
        choices=Priority.choices,
        default=Priority.MEDIUM,
        db_default=Priority.MEDIUM,
        help_text="A free worker begins the waiting work of an agent with a higher priority first, within its project.",
    )

    model = models.CharField(
        max_length=200, validators=[model_validator], help_text="provider/model"
    )
    base_url = models.CharField(
        blank=True,
        max_length=500,
        validators=[check_base_url],
        help_text="Only for a server of your own or a gateway, such as http://127.0.0.1:11434/v1 for "
        "Ollama; else leave it empty. In your own network no key is needed.",
    )
    encrypted_key = models.TextField(blank=True, editable=False)
    key_last4 = models.CharField(max_length=4, blank=True, editable=False)
    parameters = models.JSONField(default=dict, blank=True)
    text_tool_calls = models.BooleanField(
        default=False,
        help_text="For a model that cannot call tools: it writes its calls as text, and Paca runs them.",
    )

    # With defaults of the database: processes of an earlier version do not know these columns.
    fallback_model = models.CharField(
        blank=True,
        default="",
        db_default="",
        max_length=200,
        validators=[model_validator],
        help_text="Answers where the model fails before it has shown anything. Empty: the turn pauses or fails.",
    )
    fallback_base_url = models.CharField(
        blank=True, default="", db_default="", max_length=500, validators=[check_base_url]
    )
    fallback_encrypted_key = models.TextField(blank=True, default="", db_default="", editable=False)
    fallback_key_last4 = models.CharField(
        max_length=4, blank=True, default="", db_default="", editable=False
    )
    fallback_parameters = models.JSONField(default=dict, blank=True, db_default={})
    fallback_text_tool_calls = models.BooleanField(default=False, db_default=False)
    efforts = models.JSONField(
        default=dict,
        blank=True,
        db_default={},
        help_text="What a message of the effort quick or determined changes, such as the model or its parameters.",
    )

    tools = models.JSONField(
        null=True,
        blank=True,
        default=None,
        help_text="The names of the tools that it has. Null: all of them, also those of later versions.",
    )

    system_prompt = models.TextField(
        blank=True,
        validators=[MaxLengthValidator(50_000)],
        help_text="Describes who the agent is and how it works. {workspace} becomes the path of its files.",
    )
    # At most one of the two is set. ``persona`` names it.
    predefined_persona = models.CharField(
        max_length=40, blank=True, default="", db_default="", editable=False
    )
    own_persona = models.ForeignKey(
        "agents.Persona",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="agents",
    )
    task_assigned_prompt = trigger_prompt_field("a task is assigned to it")
    comment_mention_prompt = trigger_prompt_field("a comment mentions it")
    chat_message_prompt = trigger_prompt_field("it is in a chat")
    description_write_prompt = trigger_prompt_field("it writes the description of a task")
    execute_prompt = trigger_prompt_field("a program or a schedule starts it")

    limit_steps = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(1000)],
        help_text="Model calls in one turn. Empty: the server's default.",
    )
    limit_tokens = token_limit_field("Tokens of a conversation. Empty: no limit.")
    limit_cost_usd = dollar_limit_field("US dollars a conversation may cost. Empty: no limit.")
    limit_turn_tokens = token_limit_field("Tokens of one turn. Empty: no limit.")
    limit_turn_cost_usd = dollar_limit_field("US dollars one turn may cost. Empty: no limit.")
    limit_day_tokens = token_limit_field(
        "Tokens of all its conversations from midnight to midnight UTC. Empty: no limit."
    )
    limit_day_cost_usd = dollar_limit_field(
        "US dollars all its conversations may cost from midnight to midnight UTC. Empty: no limit."
    )
    limit_seconds = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(10), MaxValueValidator(86_400)],
        help_text="Length of one turn. Empty: no limit.",
    )
    limit_concurrent = models.PositiveSmallIntegerField(
        default=5,
        validators=[MinValueValidator(1), MaxValueValidator(10)],
        help_text="The number of conversations it works in at the same time. Others wait.",
    )

    auto_start = models.BooleanField(
        default=True,
        db_default=True,
        help_text="Whether it begins assigned tasks by itself. Else each waits until a person starts it.",
    )
    limit_helpers = models.PositiveSmallIntegerField(
        default=DEFAULT_HELPERS,
        db_default=DEFAULT_HELPERS,
        validators=[MaxValueValidator(MAX_HELPERS)],
        help_text="Helpers that it may start with one call. 0: no tool for helpers.",
    )

    teams = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether it may lead a team of up to five teammates. Its tools take about 900 tokens of each request.",
    )

    sandbox_memory_mib = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(64), MaxValueValidator(1 << 20)],
        help_text="Empty: the server's default.",
    )
    sandbox_cpus = models.DecimalField(
        null=True,
        blank=True,
        max_digits=5,
        decimal_places=2,
        validators=[MinValueValidator(Decimal("0.1")), MaxValueValidator(Decimal(256))],
        help_text="Empty: the server's default.",
    )

    # Without a default of the database: null is the server's default, for processes of an earlier version too.
    sandbox_disk_mib = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(16)],
        help_text="What its workspace may store. Empty: the server's default.",
    )
    sandbox_files = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(100)],
        help_text="Files and folders in its workspace. Empty: 128 for each MiB.",
    )

    sandbox_life = models.CharField(
        max_length=10,
        choices=SandboxLife.choices,
        default=SandboxLife.EPHEMERAL,
        help_text="Files are kept until they or the conversation are deleted; those of an ephemeral sandbox until the "
        "conversation has been in the archive for a while.",
    )

    sandbox_network = models.CharField(
        max_length=10,
        choices=SandboxNetwork.choices,
        default=SandboxNetwork.RESTRICTED,
        db_default=SandboxNetwork.RESTRICTED,
        help_text="The network of its sandbox, as far as its project allows one.",
    )

    # With a default of the database: processes of an earlier version do not know the column.
    approval = models.CharField(
        max_length=10,
        choices=AgentApproval.choices,
        default=AgentApproval.AUTO,
        db_default=AgentApproval.AUTO,
        help_text="Which of its tool calls wait until a person has approved them.",
    )

    # Null for processes of an earlier version too, which do not know the column.
    allowed_commands = allowed_commands_field("it")

    tracing = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether its conversations keep the full requests and replies of their model calls.",
    )
    plan_mode = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Its new conversations begin in plan mode: only tools that read run until a plan is approved.",
    )
    # With defaults of the database, for the same reason.
    verification = models.CharField(
        max_length=10,
        choices=AgentVerification.choices,
        default=AgentVerification.OFF,
        db_default=AgentVerification.OFF,
        help_text="When it is asked to check its work, before a turn ends in which it has changed something. "
        "It costs at least one model call more.",
    )
    verification_prompt = models.TextField(
        blank=True,
        default="",
        db_default="",
        validators=[MaxLengthValidator(2000)],
        help_text="What it is asked then. Empty: the default.",
    )
    hint = models.TextField(
        blank=True,
        default="",
        db_default="",
        validators=[MaxLengthValidator(1000)],
        help_text="A short text that it reads in each turn, behind the newest message. Empty: none.",
    )

    # As above. What an agent has read may be meant to mislead, and stays in each later prompt: people decide.
    memory = models.CharField(
        max_length=5,
        choices=MemoryPolicy.choices,
        default=MemoryPolicy.ASK,
        db_default=MemoryPolicy.ASK,
        help_text="What becomes of what it notes for later conversations: off (it reads and writes no memory), ask (a "
        "person decides) or on.",
    )
    remember_at_end = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether its model is asked now and then, after a turn, what is worth keeping. It costs one model call.",
    )

    git_name = models.CharField(
        max_length=100, default="paca-agent", help_text="Author of its commits."
    )
    git_email = models.EmailField(default="paca-agent@localhost.localdomain")

    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = AgentQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]
        constraints = CONSTRAINTS

    def __str__(self) -> str:
        return f"{self.name} (@{self.handle})"

    @property
    def is_demo(self) -> bool:
        """Whether its model is the scripted demo model, which needs no key and no network."""
        return self.model.startswith("demo/")

    @property
    def has_key(self) -> bool:
        """Whether an API key is stored."""
        return bool(self.encrypted_key)

    @property
    def has_fallback_key(self) -> bool:
        """Whether an API key of the fallback model is stored."""
        return bool(self.fallback_encrypted_key)

    @property
    def persona(self) -> str:
        """The slug of its predefined persona, or the id of one of the project; empty for none."""
        return self.predefined_persona or str(self.own_persona_id or "")

    @persona.setter
    def persona(self, named: str) -> None:
        try:
            self.own_persona_id, self.predefined_persona = UUID(named), ""
        except ValueError:
            self.own_persona_id, self.predefined_persona = None, named

    def prompt_of(self, trigger_type: str) -> str:
        """Its own prompt for a trigger type; empty if it has none."""
        own: str = getattr(self, f"{trigger_type}_prompt", "")
        return own
