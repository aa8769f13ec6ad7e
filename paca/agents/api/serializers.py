"""Serializers of agents."""

from functools import cache
from typing import Any

from rest_framework import serializers

from paca.agents.api.fields import AUTO_START, PriorityField
from paca.agents.api.sandbox_serializers import SandboxInput, SandboxSerializer
from paca.agents.models import Agent
from paca.agents.services import UNCHANGED_KEY
from paca.agents.services.checks import MAX_KEY_CHARACTERS
from paca.common.api.serializers import InputSerializer, QuerySerializer
from paca.engine.approvals.allowed_commands import MAX_COMMAND_CHARACTERS, MAX_COMMANDS
from paca.projects.models import MemoryPolicy
from paca.projects.models.allowed_commands import ALLOWED_COMMANDS_HELP


class KeySerializer(serializers.Serializer[Any]):
    """The stored API key: only whether there is one, and its last four characters."""

    set = serializers.BooleanField(source="has_key")
    last4 = serializers.CharField(source="key_last4")


class FallbackKeySerializer(serializers.Serializer[Any]):
    """The stored API key of the fallback: only whether there is one, and its last four characters."""

    set = serializers.BooleanField(source="has_fallback_key")
    last4 = serializers.CharField(source="fallback_key_last4")


class FallbackSerializer(serializers.Serializer[Any]):
    """How the fallback model is reached and asked."""

    base_url = serializers.CharField(source="fallback_base_url")
    key = FallbackKeySerializer(source="*")
    parameters = serializers.DictField(source="fallback_parameters")
    text_tool_calls = serializers.BooleanField(source="fallback_text_tool_calls")


class PromptsSerializer(serializers.Serializer[Any]):
    """The instructions of the agent. An empty prompt of a trigger type is the default one."""

    system = serializers.CharField(source="system_prompt")
    task_assigned = serializers.CharField(source="task_assigned_prompt")
    comment_mention = serializers.CharField(source="comment_mention_prompt")
    chat_message = serializers.CharField(source="chat_message_prompt")
    description_write = serializers.CharField(source="description_write_prompt")
    execute = serializers.CharField(source="execute_prompt")
    verification = serializers.CharField(
        source="verification_prompt", help_text="What it is asked before a turn ends."
    )
    hint = serializers.CharField(help_text="What it reads in each turn.")


class LimitsSerializer(serializers.Serializer[Any]):
    """The limits of the agent. Null is the server's default for steps, and no limit for the others."""

    steps = serializers.IntegerField(source="limit_steps", allow_null=True)
    tokens = serializers.IntegerField(source="limit_tokens", allow_null=True)
    cost_usd = serializers.FloatField(source="limit_cost_usd", allow_null=True)
    seconds = serializers.IntegerField(source="limit_seconds", allow_null=True)
    turn_tokens = serializers.IntegerField(source="limit_turn_tokens", allow_null=True)
    turn_cost_usd = serializers.FloatField(source="limit_turn_cost_usd", allow_null=True)
    day_tokens = serializers.IntegerField(source="limit_day_tokens", allow_null=True)
    day_cost_usd = serializers.FloatField(source="limit_day_cost_usd", allow_null=True)
    concurrent = serializers.IntegerField(source="limit_concurrent")
    helpers = serializers.IntegerField(
        source="limit_helpers", help_text="Helpers of one call; 0: it has no tool for helpers."
    )


class GitSerializer(serializers.Serializer[Any]):
    """The author of its commits."""

    name = serializers.CharField(source="git_name")
    email = serializers.CharField(source="git_email")


class AgentSerializer(serializers.ModelSerializer[Agent]):
    """An agent, without its secrets."""

    member_id = serializers.UUIDField(source="member.id")
    role_id = serializers.UUIDField(source="member.role_id")
    tags = serializers.ListField(child=serializers.CharField())
    priority = PriorityField()
    is_demo = serializers.BooleanField()
    key = KeySerializer(source="*")
    parameters = serializers.DictField()
    fallback = FallbackSerializer(source="*")
    efforts = serializers.DictField(
        help_text="What a message of the effort quick or determined changes."
    )
    tools = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="The names of the tools that it has, of `/tools/`; null for all.",
    )
    allowed_commands = serializers.ListField(
        child=serializers.CharField(),
        allow_null=True,
        help_text="The only commands that it may run; null for all that the project allows.",
    )
    persona = serializers.CharField(
        help_text="The id of a persona of `/personas/`; empty for none."
    )
    prompts = PromptsSerializer(source="*")
    limits = LimitsSerializer(source="*")
    sandbox = SandboxSerializer(source="*")
    git = GitSerializer(source="*")

    class Meta:
        model = Agent
        fields = (
            "id",
            "member_id",
            "role_id",
            "name",
            "handle",
            "description",
            "status",
            "agent_type",
            "category",
            "tags",
            "priority",
            "model",
            "is_demo",
            "base_url",
            "key",
            "parameters",
            "text_tool_calls",
            "fallback_model",
            "fallback",
            "efforts",
            "tools",
            "auto_start",
            "approval",
            "allowed_commands",
            "tracing",
            "plan_mode",
            "teams",
            "verification",
            "memory",
            "remember_at_end",
            "persona",
            "prompts",
            "limits",
            "sandbox",
            "git",
            "created_at",
            "updated_at",
        )


class ConnectionCheckSerializer(serializers.Serializer[Any]):
    """The result of a connection check."""

    works = serializers.BooleanField()
    detail = serializers.CharField()
    code = serializers.CharField(help_text="The cause of a failure; empty if it works.")
    seconds = serializers.FloatField()
    models = serializers.ListField(
        child=serializers.CharField(),
        help_text="The models that the base URL offers, if it lists them.",
    )


class CheckQuery(QuerySerializer):
    """Which model of the agent is asked."""

    model = serializers.ChoiceField(
        choices=["own", "fallback"], required=False, help_text="own if not given."
    )


def _prompt_field(source: str, **options: Any) -> serializers.CharField:
    return serializers.CharField(
        source=source, required=False, allow_blank=True, trim_whitespace=False, **options
    )


class PromptsInput(InputSerializer):
    """The instructions of the agent. An empty prompt of a trigger type is the default one."""

    system = _prompt_field("system_prompt", help_text="{workspace} becomes the path of its files.")
    task_assigned = _prompt_field("task_assigned_prompt")
    comment_mention = _prompt_field("comment_mention_prompt")
    chat_message = _prompt_field("chat_message_prompt")
    description_write = _prompt_field("description_write_prompt")
    execute = _prompt_field("execute_prompt")
    verification = _prompt_field(
        "verification_prompt", help_text="What it is asked before a turn ends; empty: the default."
    )
    hint = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="What it reads in each turn, behind the newest message.",
    )


def _token_input(source: str) -> serializers.IntegerField:
    return serializers.IntegerField(source=source, required=False, allow_null=True)


def _dollar_input(source: str) -> serializers.DecimalField:
    return serializers.DecimalField(
        source=source, max_digits=10, decimal_places=2, required=False, allow_null=True
    )


class LimitsInput(InputSerializer):
    """The limits of the agent."""

    steps = serializers.IntegerField(source="limit_steps", required=False, allow_null=True)
    tokens = serializers.IntegerField(source="limit_tokens", required=False, allow_null=True)
    cost_usd = serializers.DecimalField(
        source="limit_cost_usd", max_digits=10, decimal_places=2, required=False, allow_null=True
    )
    seconds = serializers.IntegerField(source="limit_seconds", required=False, allow_null=True)
    turn_tokens = _token_input("limit_turn_tokens")
    turn_cost_usd = _dollar_input("limit_turn_cost_usd")
    day_tokens = _token_input("limit_day_tokens")
    day_cost_usd = _dollar_input("limit_day_cost_usd")
    concurrent = serializers.IntegerField(source="limit_concurrent", required=False)
    helpers = serializers.IntegerField(source="limit_helpers", required=False)


class GitInput(InputSerializer):
    """The author of its commits."""

    name = serializers.CharField(source="git_name", required=False)
    email = serializers.CharField(source="git_email", required=False)


class FallbackInput(InputSerializer):
    """How the fallback model is reached and asked."""

    base_url = serializers.CharField(source="fallback_base_url", required=False, allow_blank=True)
    parameters = serializers.DictField(source="fallback_parameters", required=False)
    text_tool_calls = serializers.BooleanField(source="fallback_text_tool_calls", required=False)


class AgentInput(InputSerializer):
    """The input to make or change an agent. The service checks limits and uniqueness."""

    name = serializers.CharField()
    handle = serializers.CharField()
    model = serializers.CharField(help_text="provider/model, such as demo/guide")
    role_id = serializers.UUIDField(required=False)
    project_role_id = serializers.UUIDField(required=False, help_text="The same as role_id.")
    agent_type = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="A new agent: a slug of /agent-types/, whose description, prompt and skills it gets where none"
        " are given. Of an agent that exists it changes no text, and may be any slug.",
    )
    category = serializers.ChoiceField(
        choices=Agent.Category.choices,
        required=False,
        help_text="Not given: that of a new type. It changes no type.",
    )
    tags = serializers.ListField(
        child=serializers.CharField(max_length=100, allow_blank=True),
        max_length=100,
        required=False,
        help_text="At most 20. Stored in small letters, with - for spaces, each once.",
    )
    priority = PriorityField(
        required=False,
        help_text="A free worker begins the waiting work of agents with a higher priority first, within a project and until"
        " other work has waited for ten minutes.",
    )
    description = serializers.CharField(required=False, allow_blank=True)
    status = serializers.ChoiceField(choices=Agent.Status.choices, required=False)
    base_url = serializers.CharField(required=False, allow_blank=True)
    llm_api_key = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_KEY_CHARACTERS,
        write_only=True,
        help_text=f"Never shown again. {UNCHANGED_KEY} keeps the stored one, empty deletes it.",
    )
    parameters = serializers.DictField(required=False)
    text_tool_calls = serializers.BooleanField(
        required=False,
        help_text="For a model that cannot call tools: it writes its calls as text, and Paca runs them.",
    )
    fallback_model = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="Answers where the model fails before it has shown anything; provider/model, empty for none.",
    )
    fallback = FallbackInput(source="*", required=False)
    fallback_api_key = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_KEY_CHARACTERS,
        write_only=True,
        help_text=f"The key of the fallback. Never shown again. {UNCHANGED_KEY} keeps the stored one, empty deletes it.",
    )
    efforts = serializers.DictField(
        required=False,
        help_text='What a message of an effort changes, such as {"quick": {"model": "provider/small"}, "determined":'
        ' {"effort": "high", "steps": 200}}. Standard is the agent as it is.',
    )
    tools = serializers.ListField(
        child=serializers.CharField(max_length=100),
        max_length=100,
        required=False,
        allow_null=True,
        help_text="The names of the tools that it shall have, of `/tools/`; null for all, also those of later versions.",
    )
    auto_start = serializers.BooleanField(required=False, help_text=AUTO_START)
    allowed_commands = serializers.ListField(
        child=serializers.CharField(max_length=MAX_COMMAND_CHARACTERS),
        required=False,
        allow_null=True,
        max_length=MAX_COMMANDS,
        help_text=ALLOWED_COMMANDS_HELP,
    )
    approval = serializers.ChoiceField(
        choices=Agent.Approval.choices,
        required=False,
        help_text="Which tool calls wait for a person: auto (only catastrophic commands), unsafe (those that may "
        "do harm) or all.",
    )
    tracing = serializers.BooleanField(
        required=False,
        help_text="Whether its conversations keep the full requests and replies of their model calls, for a set time.",
    )
    plan_mode = serializers.BooleanField(
        required=False,
        help_text="New conversations begin in plan mode: only tools that read run until a plan is approved.",
    )
    teams = serializers.BooleanField(
        required=False, help_text="Whether it may lead a team of up to five teammates."
    )
    verification = serializers.ChoiceField(
        choices=Agent.Verification.choices,
        required=False,
        help_text="When it is asked to check its work, before a turn ends in which it has changed something: off, "
        "unattended (where nobody watches) or always. It costs at least one model call more.",
    )
    memory = serializers.ChoiceField(
        choices=MemoryPolicy.choices,
        required=False,
        help_text="What becomes of what it notes for later conversations: off (it reads and writes no memory), ask (a "
        "person decides what is kept) or on.",
    )
    remember_at_end = serializers.BooleanField(
        required=False,
        help_text="Whether its model is asked now and then, after a turn, what is worth keeping. It costs one model call.",
    )
    persona = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=40,
        help_text="How it presents itself: the id of a persona of the project's `/personas/`; empty for none.",
    )
    prompts = PromptsInput(source="*", required=False)
    limits = LimitsInput(source="*", required=False)
    sandbox = SandboxInput(source="*", required=False)
    git = GitInput(source="*", required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        alias = attrs.pop("project_role_id", None)
        if alias is not None and attrs.setdefault("role_id", alias) != alias:
            raise serializers.ValidationError({"project_role_id": ["Differs from role_id."]})
        if not self.partial and "role_id" not in attrs:
            raise serializers.ValidationError({"role_id": ["This field is required."]})
        return attrs


def to_api_fields(errors: dict[str, list[str]]) -> dict[str, list[str]]:
    """Errors by column, as services raise them, to errors by field of the API."""
    names = _field_names()
    return {names.get(column, column): texts for column, texts in errors.items()}


@cache
def _field_names() -> dict[str, str]:
    """The dotted name of each nested field of ``AgentInput``, by its column."""
    return {
        str(field.source): f"{group}.{name}"
        for group, nested in AgentInput().fields.items()
        if isinstance(nested, InputSerializer)
        for name, field in nested.fields.items()
    }
