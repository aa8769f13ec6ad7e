"""What the API shows of conversations, chats and events."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from rest_framework import serializers

from paca.agents.models import Agent
from paca.common.api.pagination import NewestFirstPagination
from paca.conversations.models import (
    ChatSession,
    Conversation,
    ConversationStatus,
    Sandbox,
    Suggestion,
    SuggestionState,
    TriggerType,
)
from paca.conversations.services import MessageReceipt
from paca.engine.approvals.plans import StepState

LAST_WORDS_CHARACTERS = 400


class RecentActivityPagination(NewestFirstPagination):
    """The most recently active comes first."""

    ordering = ("-last_activity_at", "-id")


class OffsetDateTimeField(serializers.DateTimeField):
    """A time with its offset (``+00:00``), as in the ``at`` of a frame."""

    def to_representation(self, value: datetime) -> str:
        return value.isoformat()


class AgentSummarySerializer(serializers.Serializer[Any]):
    """The agent of a conversation."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    handle = serializers.CharField()


class UsageSerializer(serializers.Serializer[Any]):
    """Tokens and dollars of all model calls; the cost is null when a price is unknown."""

    input = serializers.IntegerField()
    output = serializers.IntegerField()
    cache_read = serializers.IntegerField()
    cache_write = serializers.IntegerField()
    cost_usd = serializers.FloatField(allow_null=True)
    unpriced_calls = serializers.IntegerField(help_text="Calls whose price is unknown.")
    priced_cost_usd = serializers.FloatField(help_text="Dollars of the calls with a known price.")


class ContextPartsSerializer(serializers.Serializer[Any]):
    """The tokens of each part of a request, about."""

    system = serializers.IntegerField(help_text="The system prompt.")
    tools = serializers.IntegerField(help_text="The descriptions of the tools.")
    messages = serializers.IntegerField(help_text="What people and the agent wrote.")
    results = serializers.IntegerField(help_text="The results of tool calls.")


class ContextSerializer(serializers.Serializer[Any]):
    """What fills the model's window."""

    used = serializers.IntegerField(help_text="Tokens of the newest request.")
    window = serializers.IntegerField(allow_null=True, help_text="Tokens; null if it is unknown.")
    parts = ContextPartsSerializer()


class TodoItemSerializer(serializers.Serializer[Any]):
    """One item of a to-do list."""

    text = serializers.CharField()
    state = serializers.ChoiceField(
        choices=("open", "now", "done"), help_text="The agent works on the one that is now."
    )


class TodoSerializer(serializers.Serializer[Any]):
    """The agent's to-do list."""

    items = TodoItemSerializer(many=True)
    since = serializers.CharField(
        help_text="When the present item was begun; empty if no item is now."
    )


class PlanStepSerializer(serializers.Serializer[Any]):
    """A step of an approved plan."""

    text = serializers.CharField()
    state = serializers.ChoiceField(choices=[str(state) for state in StepState])


class PlanStateSerializer(serializers.Serializer[Any]):
    """The approved plan of a conversation."""

    title = serializers.CharField()
    steps = PlanStepSerializer(many=True)


class ConversationSerializer(serializers.Serializer[Conversation]):
    """A conversation, as the API, sockets, pages and exports show it."""

    id = serializers.UUIDField()
    project_id = serializers.UUIDField()
    agent = AgentSummarySerializer()
    trigger_type = serializers.ChoiceField(choices=TriggerType.choices)
    status = serializers.ChoiceField(choices=ConversationStatus.choices)
    reason = serializers.CharField(
        help_text=(
            "Why it has this status; empty while it runs. A paused one continues with a message or"
            " `continue/`: `stuck` means that it repeated the same step again and again."
        )
    )
    detail = serializers.CharField(help_text="The reason as a sentence, if there is more to say.")
    activity = serializers.CharField(help_text="What it does now.")
    waits_for = serializers.CharField(
        help_text="Why a queued one has not begun: worker, start (a person has to start it with `continue/` or a"
        " message), agent_paused, agent_inactive, agent_busy or newer_worker (all workers are older than this work); else"
        " empty."
    )
    title = serializers.CharField()
    archived = serializers.BooleanField(help_text="Whether it is in the archive.")
    tracing = serializers.BooleanField(
        source="is_traced",
        help_text="Whether its model calls are traced from the next turn on: as it or its agent says.",
    )
    task_id = serializers.UUIDField(allow_null=True, help_text="The task that it is about.")
    comment_id = serializers.UUIDField(allow_null=True, help_text="The comment that began it.")
    doc_id = serializers.UUIDField(allow_null=True, help_text="The doc that it is about.")
    chat_session_id = serializers.UUIDField(source="session_id", allow_null=True)
    forked_from_id = serializers.UUIDField(
        allow_null=True, help_text="The conversation that it began with a copy of."
    )
    parent_id = serializers.UUIDField(
        allow_null=True, help_text="The conversation that started it as a helper."
    )
    helper_kind = serializers.CharField(
        allow_null=True, help_text="general, explore, plan, code or research; null: no helper."
    )
    last_seq = serializers.IntegerField(help_text="Number of its last event.")
    rest_approved_by = serializers.SerializerMethodField(
        help_text="Who has approved all later calls of the conversation; empty if nobody has."
    )
    plan_mode = serializers.SerializerMethodField(
        help_text="Whether only tools that read run, until a person approves a plan."
    )
    plan = PlanStateSerializer(
        allow_null=True, help_text="The approved plan; null if there is none."
    )
    usage = UsageSerializer(source="usage_details")
    context = ContextSerializer(  # type: ignore[assignment] # declared fields leave the class
        allow_null=True, help_text="What fills the model's window; null before the first answer."
    )
    todo = TodoSerializer(allow_null=True, help_text="The agent's to-do list; null if it has none.")
    background_running = serializers.SerializerMethodField(
        help_text="How many commands of it run in the background."
    )
    branch = serializers.SerializerMethodField(
        help_text="The branch that it has pushed last; empty if it has pushed none."
    )
    pr_url = serializers.SerializerMethodField(
        help_text="The page of the pull request that it has opened last; empty if it has opened none."
    )
    created_at = OffsetDateTimeField()
    updated_at = OffsetDateTimeField()
    started_at = OffsetDateTimeField(allow_null=True)
    finished_at = OffsetDateTimeField(allow_null=True)

    def get_rest_approved_by(self, conversation: Conversation) -> str:
        return conversation.rest_approved_by or ""

    def get_background_running(self, conversation: Conversation) -> int:
        return conversation.background_running or 0

    def get_branch(self, conversation: Conversation) -> str:
        return conversation.branch or ""

    def get_pr_url(self, conversation: Conversation) -> str:
        return conversation.pr_url or ""

    def get_plan_mode(self, conversation: Conversation) -> bool:
        return bool(conversation.plan_mode)


# One instance for all objects: to build the fields of a serializer takes longer than to use them.
_conversation_serializer = ConversationSerializer()


def conversation_object(conversation: Conversation) -> dict[str, Any]:
    """The conversation as an object of the API."""
    return dict(_conversation_serializer.to_representation(conversation))


class ListedConversationSerializer(ConversationSerializer):
    """A conversation in a list. The context has ``last_words`` by their ids, if they were asked for."""

    last_words = serializers.SerializerMethodField(
        help_text=(
            f"The first {LAST_WORDS_CHARACTERS} characters of what the agent said last, as Markdown;"
            " null unless the query asks for it with `last_words=true`."
        )
    )

    def get_last_words(self, conversation: Conversation) -> str | None:
        found: dict[UUID, str] | None = self.context.get("last_words")  # type: ignore[attr-defined]
        return None if found is None else found.get(conversation.pk, "")[:LAST_WORDS_CHARACTERS]


class ConversationStartedSerializer(serializers.Serializer[Any]):
    """The conversation that has begun."""

    conversation = ConversationSerializer()


class SuggestionSerializer(serializers.Serializer[Suggestion]):
    """A description of a task that an agent has written."""

    id = serializers.UUIDField()
    conversation = serializers.UUIDField(source="conversation_id")
    agent = AgentSummarySerializer(source="conversation.agent")
    turn = serializers.IntegerField(help_text="The turn of the conversation that wrote it.")
    text = serializers.CharField()
    state = serializers.ChoiceField(choices=SuggestionState.choices)
    created_at = OffsetDateTimeField()
    updated_at = OffsetDateTimeField()


class ChatSessionSerializer(serializers.ModelSerializer[ChatSession]):
    """Your chat with an agent, and the conversation that it continues now."""

    conversation = ConversationSerializer()

    class Meta:
        model = ChatSession
        fields = ("id", "agent_id", "conversation", "created_at", "updated_at")

    def to_representation(self, instance: Any) -> dict[str, Any]:
        # One query for all: what its state depends on was read with the chat.
        instance.conversation.agent_load = instance.agent_load
        instance.conversation.newest_worker = instance.newest_worker
        return super().to_representation(instance)


class ChatStartedSerializer(serializers.Serializer[Any]):
    """The new chat session and its conversation, by id; ``turn`` counts from 1."""

    session = serializers.UUIDField()
    conversation = serializers.UUIDField()
    turn = serializers.IntegerField(allow_null=True)


class ChatClearedSerializer(serializers.Serializer[Any]):
    """The chat session, and the empty conversation that it continues now."""

    session = serializers.UUIDField()
    conversation = serializers.UUIDField()


class MessageReceiptSerializer(serializers.Serializer[MessageReceipt]):
    """Where a message was stored. ``turn`` is null while another turn runs."""

    conversation = serializers.UUIDField(source="conversation_id")
    turn = serializers.IntegerField(allow_null=True)
    event_seq = serializers.IntegerField(help_text="Number of the event of the message.")


class ConversationWorkspaceSerializer(serializers.Serializer[Sandbox]):
    """The workspace of a conversation. All fields but ``exists`` are null if there is none."""

    exists = serializers.BooleanField(default=True)
    bytes = serializers.IntegerField(
        source="workspace_bytes", allow_null=True, help_text="Null if it was never measured."
    )
    limit_bytes = serializers.IntegerField(source="workspace_limit_bytes", allow_null=True)
    last_used_at = OffsetDateTimeField(allow_null=True)
    archive_keeps_seconds = serializers.SerializerMethodField(
        help_text="How long the files are kept once the conversation is archived. Null: until somebody deletes them."
    )

    def get_archive_keeps_seconds(self, sandbox: Sandbox) -> float | None:
        """The seconds; None if its sandbox is persistent."""
        ephemeral = sandbox.conversation.agent.sandbox_life == Agent.SandboxLife.EPHEMERAL
        return settings.SANDBOX_ARCHIVED_SECONDS if ephemeral else None


NO_WORKSPACE = {
    "exists": False,
    "bytes": None,
    "limit_bytes": None,
    "last_used_at": None,
    "archive_keeps_seconds": None,
}


class FrameSerializer(serializers.Serializer[Any]):
    """One event of the log; ``data`` depends on ``type``, see docs/events.md."""

    type = serializers.CharField()
    seq = serializers.IntegerField()
    at = serializers.DateTimeField()
    source = serializers.CharField()  # type: ignore[assignment] # declared fields leave the class
    turn = serializers.IntegerField(allow_null=True)
    data = serializers.DictField()  # type: ignore[assignment]


class LogPageSerializer(serializers.Serializer[Any]):
    """Some events in order, and the first and last number of the whole log (0: it is empty)."""

    results = FrameSerializer(many=True)
    first_seq = serializers.IntegerField()
    last_seq = serializers.IntegerField()
