"""What the API takes for conversations, chats and events."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from paca.common.api.pagination import NewestFirstPagination
from paca.common.api.serializers import InputSerializer
from paca.conversations import event_log
from paca.conversations.models import ConversationStatus
from paca.conversations.services import ON_BUSY_CHOICES
from paca.engine.model_state import EFFORTS

# The same pattern as on the socket: a message sent over both with one id is stored once.
CLIENT_ID = r"^[A-Za-z0-9_.:-]{1,100}\Z"
HIGHEST_SEQ = 2**63 - 1
HIGHEST_TASK = 2**31 - 1
HIGHEST_TURN = 2**31 - 1


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
    effort = serializers.ChoiceField(
        choices=EFFORTS,
        required=False,
        help_text="How hard the agent tries: quick and determined are what its settings make of them, standard is the"
        " agent as it is. Of the messages that one turn answers the strongest counts.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        alias = attrs.pop("message", None)
        if alias is not None and attrs.setdefault("text", alias) != alias:
            raise serializers.ValidationError({"message": ["Differs from text."]})
        if "text" not in attrs:
            raise serializers.ValidationError({"text": ["This field is required."]})
        return attrs


class FlagsInput(InputSerializer):
    """How a conversation runs."""

    tracing = serializers.BooleanField(
        required=False, help_text="Whether its model calls are traced; else as its agent says."
    )
    teams = serializers.BooleanField(
        required=False,
        help_text="Whether the agent may lead a team of up to five teammates; else as its setting says.",
    )
    plan = serializers.BooleanField(
        required=False,
        help_text="Whether it begins in plan mode, in which only tools that read run until a person approves a plan; else as its agent says. To leave out the plan mode of the agent needs `conversations:approve`.",
    )


class FirstMessageInput(MessageInput):
    """The message that begins a chat."""

    flags = FlagsInput(required=False)


class FollowUpInput(MessageInput):
    """A message to an agent that may be working."""

    attachments = serializers.ListField(
        child=serializers.CharField(trim_whitespace=False),
        required=False,
        help_text="Paths of files in the workspace, as an upload gives them; the agent is told of them.",
    )

    on_busy = serializers.ChoiceField(
        choices=ON_BUSY_CHOICES,
        required=False,
        help_text="While a turn runs: queue (read at its next step), interrupt (it ends, and this "
        "starts the next), or reject (409, nothing is stored).",
    )


class ForkInput(InputSerializer):
    """Where to fork a conversation, and what to say there."""

    seq = serializers.IntegerField(
        min_value=0, max_value=HIGHEST_SEQ, help_text="The last event that the fork begins with."
    )
    text = serializers.CharField(
        required=False,
        allow_blank=True,
        trim_whitespace=False,
        help_text="A message to the agent in the fork, which starts it.",
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
    flags = FlagsInput(required=False)


class WriteInput(InputSerializer):
    """The agent that writes a description, and what to keep in mind."""

    agent_id = serializers.UUIDField()
    instruction = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)


class DecisionInput(InputSerializer):
    """The suggestion that you have seen: with its ``id`` and ``turn`` a newer one is refused."""

    id = serializers.UUIDField(required=False)
    turn = serializers.IntegerField(required=False, min_value=1, max_value=HIGHEST_TURN)


class KeepInput(DecisionInput):
    """The suggestion that you have seen, and its text if you have changed it."""

    text = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)


class SummaryInput(InputSerializer):
    """What a summary must keep."""

    focus = serializers.CharField(
        required=False, allow_blank=True, help_text="What the summary must keep above all."
    )


class TextInput(InputSerializer):
    """The new text of a message."""

    text = serializers.CharField(allow_blank=True, trim_whitespace=False)


class ConversationInput(InputSerializer):
    """The fields of a conversation that can be changed."""

    title = serializers.CharField(allow_blank=True)
    archived = serializers.BooleanField(help_text="Whether it is in the archive.")
    tracing = serializers.BooleanField(
        help_text="Whether its model calls are traced from the next turn on."
    )
    teams = serializers.BooleanField(
        help_text="Whether its agent may lead a team of up to five teammates, from the next turn on."
    )
    plan_mode = serializers.BooleanField(
        help_text="Whether only tools that read run until a person approves a plan. To switch it off needs"
        " conversations:approve."
    )


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
    archived = serializers.BooleanField(
        required=False,
        allow_null=True,
        default=None,
        help_text="True: only those in the archive; false: only the others. Both by default.",
    )
    last_words = serializers.BooleanField(
        required=False, help_text="Each conversation with what its agent said last."
    )


class EventsQuery(QuerySerializer):
    """A part of a log: after a number, before one, or the newest events."""

    after = serializers.IntegerField(required=False, min_value=0, max_value=HIGHEST_SEQ)
    before = serializers.IntegerField(required=False, min_value=1, max_value=HIGHEST_SEQ)
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=event_log.PAGE_EVENTS, default=event_log.PAGE_EVENTS
    )

    type = serializers.ListField(
        child=serializers.CharField(max_length=100),
        required=False,
        max_length=100,
        help_text="Only events of these types; give it once for each.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "type" in attrs:
            attrs["types"] = attrs.pop("type")
        if "after" in attrs and "before" in attrs:
            raise serializers.ValidationError({"before": ["Give after or before, not both."]})
        return attrs


class ExportQuery(QuerySerializer):
    """The form of an export."""

    format = serializers.ChoiceField(choices=["json", "markdown"], required=False, default="json")


class TraceQuery(QuerySerializer):
    """A part of a trace: the newest calls, or those before a time."""

    before = serializers.DateTimeField(required=False, help_text="Only calls that began before.")
    limit = serializers.IntegerField(required=False, min_value=1, max_value=200, default=100)


class TraceExportQuery(QuerySerializer):
    """The form of an exported trace."""

    format = serializers.ChoiceField(choices=["json", "otlp"], required=False, default="json")
