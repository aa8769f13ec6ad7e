"""What the API takes and shows of conversations, chats and events."""

from datetime import datetime
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.serializers import InputSerializer
from paca.conversations import event_log
from paca.conversations.models import (
    ChatSession,
    Conversation,
    ConversationStatus,
    Sandbox,
    Suggestion,
    SuggestionState,
    TriggerType,
)
from paca.conversations.services import ON_BUSY_CHOICES, MessageReceipt

# The same pattern as on the socket: a message sent over both with one id is stored once.
CLIENT_ID = r"^[A-Za-z0-9_.:-]{1,100}\Z"
HIGHEST_SEQ = 2**63 - 1
HIGHEST_TASK = 2**31 - 1


class RecentActivityPagination(NewestFirstPagination):
    """The most recently active comes first."""

    ordering = ("-last_activity_at", "-id")


# --- what is shown ------------------------------------------------------------------------------


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
        help_text="Why a queued one has not begun: worker, agent_paused or agent_busy; else empty."
    )
    title = serializers.CharField()
    task_id = serializers.UUIDField(allow_null=True, help_text="The task that it is about.")
    comment_id = serializers.UUIDField(allow_null=True, help_text="The comment that began it.")
    doc_id = serializers.UUIDField(allow_null=True, help_text="The doc that it is about.")
    chat_session_id = serializers.UUIDField(source="session_id", allow_null=True)
    last_seq = serializers.IntegerField(help_text="Number of its last event.")
    usage = UsageSerializer(source="usage_details")
    created_at = OffsetDateTimeField()
    updated_at = OffsetDateTimeField()
    started_at = OffsetDateTimeField(allow_null=True)
    finished_at = OffsetDateTimeField(allow_null=True)


# One instance for all objects: to build the fields of a serializer takes longer than to use them.
_conversation_serializer = ConversationSerializer()


def conversation_object(conversation: Conversation) -> dict[str, Any]:
    """The conversation as an object of the API."""
    return dict(_conversation_serializer.to_representation(conversation))


class ConversationStartedSerializer(serializers.Serializer[Any]):
    """The conversation that has begun."""

    conversation = ConversationSerializer()


class SuggestionSerializer(serializers.Serializer[Suggestion]):
    """A description of a task that an agent has written."""

    id = serializers.UUIDField()
    conversation = serializers.UUIDField(source="conversation_id")
    agent = AgentSummarySerializer(source="conversation.agent")
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
        # One query for all: the load of the agent was read with the chat.
        instance.conversation.agent_load = instance.agent_load
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


NO_WORKSPACE = {"exists": False, "bytes": None, "limit_bytes": None, "last_used_at": None}


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


# --- what is taken ------------------------------------------------------------------------------


class EmptyInput(InputSerializer):
    """A request without a body."""


class MessageInput(InputSerializer):
    """A message to an agent, in ``text`` or ``message``."""

    text = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    message = serializers.CharField(
        required=False, allow_blank=True, trim_whitespace=False, help_text="The same as text."
    )
    client_id = serializers.RegexField(
        CLIENT_ID,
        required=False,
        trim_whitespace=False,
        help_text="Your own id of the message; sent twice, it is one message.",
        error_messages={"invalid": "1 to 100 letters, digits and . _ : -"},
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        alias = attrs.pop("message", None)
        if alias is not None and attrs.setdefault("text", alias) != alias:
            raise serializers.ValidationError({"message": ["Differs from text."]})
        if "text" not in attrs:
            raise serializers.ValidationError({"text": ["This field is required."]})
        return attrs


class FollowUpInput(MessageInput):
    """A message to an agent that may be working."""

    on_busy = serializers.ChoiceField(
        choices=ON_BUSY_CHOICES,
        required=False,
        help_text="While a turn runs: queue (read at its next step), interrupt (it ends, and this "
        "starts the next), or reject (409, nothing is stored).",
    )


class ExecuteInput(InputSerializer):
    """An instruction to an agent."""

    instruction = serializers.CharField(allow_blank=True, trim_whitespace=False)
    task = serializers.IntegerField(
        required=False, min_value=1, max_value=HIGHEST_TASK, help_text="The number of a task."
    )
    idle = serializers.BooleanField(
        required=False, help_text="Only if the agent has no other work; else 409."
    )


class WriteInput(InputSerializer):
    """The agent that writes a description, and what to keep in mind."""

    agent_id = serializers.UUIDField()
    instruction = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)


class KeepInput(InputSerializer):
    """The suggestion as you have changed it; leave it out to keep it as it is."""

    text = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)


class TextInput(InputSerializer):
    """The new text of a message."""

    text = serializers.CharField(allow_blank=True, trim_whitespace=False)


class TitleInput(InputSerializer):
    """The fields of a conversation that can be changed."""

    title = serializers.CharField(allow_blank=True)


class QuerySerializer(InputSerializer):
    """The query string of a request. Unknown names are refused."""

    @classmethod
    def read_query(cls, request: Request) -> dict[str, Any]:
        """The validated query of a request. Raises ``ValidationError``."""
        query = cls(data=request.query_params)
        query.is_valid(raise_exception=True)
        return dict(query.validated_data)


class ListQuery(QuerySerializer):
    """A page of a list."""

    cursor = serializers.CharField(required=False, help_text="From next or previous.")
    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=NewestFirstPagination.max_page_size,
        help_text="50 if not given.",
    )


class ConversationsQuery(ListQuery):
    """A filter for conversations."""

    status = serializers.ChoiceField(choices=ConversationStatus.choices, required=False)
    agent = serializers.UUIDField(required=False)
    task = serializers.IntegerField(
        required=False, min_value=1, max_value=HIGHEST_TASK, help_text="The number of a task."
    )
    search = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=200,
        help_text="Words; each of them is in the title or in a message.",
    )


class EventsQuery(QuerySerializer):
    """A part of a log: after a number, before one, or the newest events."""

    after = serializers.IntegerField(required=False, min_value=0, max_value=HIGHEST_SEQ)
    before = serializers.IntegerField(required=False, min_value=1, max_value=HIGHEST_SEQ)
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=event_log.PAGE_EVENTS, default=event_log.PAGE_EVENTS
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "after" in attrs and "before" in attrs:
            raise serializers.ValidationError({"before": ["Give after or before, not both."]})
        return attrs


class ExportQuery(QuerySerializer):
    """The form of an export."""

    format = serializers.ChoiceField(choices=["json", "markdown"], required=False, default="json")
