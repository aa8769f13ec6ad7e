"""The admin's pages for conversations: to look at what happens, and to stop it. A log is never edited."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, UUIDField
from django.db.models.functions import Coalesce, Substr
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from unfold.admin import TabularInline
from unfold.decorators import action, display

from paca.accounts.models import User
from paca.common.admin import ReadOnlyAdmin
from paca.conversations import services
from paca.conversations.models import Conversation, Event, ModelCall, ToolCall, Trigger, Worker
from paca.conversations.models.conversation import HELD

COLOURS = {
    "queued": "info",
    "running": "info",
    "waiting": "warning",
    "paused": "warning",
    "finished": "success",
    "failed": "danger",
    "stopped": "warning",
    "dead": "danger",
}
PREVIEW_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class Administrator:
    """Who acts from here: a person who need be no member of the project."""

    name: str


class LogInline(TabularInline):  # type: ignore[misc] # unfold has no types
    """The log, a page at a time and only the beginning of each payload: it may be very long."""

    model = Event
    verbose_name_plural = "log"
    ordering = ("seq",)
    per_page = 50
    extra = 0
    fields = readonly_fields = ("seq", "at", "type", "source", "turn", "begins_with")
    show_change_link = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        found: QuerySet[Event] = super().get_queryset(request)
        # One character more than is shown, so that what is cut shows that it is.
        text = Substr("payload", 1, PREVIEW_CHARACTERS + 1)
        return found.defer("payload").annotate(preview=text)

    @display(description="Begins with")  # type: ignore[untyped-decorator]
    def begins_with(self, event: Any) -> str:
        if event.blob_id:
            return "(large: open it)"
        return Truncator(event.preview).chars(PREVIEW_CHARACTERS)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Conversation)
class ConversationAdmin(ReadOnlyAdmin):
    """Conversations of all projects."""

    list_display = (
        "name",
        "agent",
        "project",
        "state",
        "reason",
        "tokens",
        "cost",
        "last_activity_at",
    )
    list_filter = ("status", "reason", "project", "agent")
    list_select_related = ("agent", "project")
    search_fields = ("title", "agent__name", "agent__handle")
    search_help_text = "A title, an agent, or an id."
    ordering = ("-last_activity_at",)
    actions = ("stop",)
    inlines = (LogInline,)
    fields = (
        ("title", "agent", "project"),
        ("state", "reason", "activity"),
        "detail",
        ("tokens", "cost"),
        ("lease_owner", "lease_epoch", "lease_until"),
        ("created_at", "started_at", "finished_at"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        return Conversation.objects.filter(deleted_at=None)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Conversation], search_term: str
    ) -> tuple[QuerySet[Conversation], bool]:
        if (wanted := _uuid(search_term)) is not None:
            return queryset.filter(pk=wanted), False
        found: tuple[QuerySet[Conversation], bool] = super().get_search_results(
            request, queryset, search_term
        )
        return found

    @display(description="Conversation", ordering="title")  # type: ignore[untyped-decorator]
    def name(self, conversation: Conversation) -> str:
        return Truncator(str(conversation)).chars(60)

    @display(description="Status", ordering="status", label=COLOURS)  # type: ignore[untyped-decorator]
    def state(self, conversation: Conversation) -> str:
        return conversation.status

    @display(description="Tokens in / out", ordering="input_tokens")  # type: ignore[untyped-decorator]
    def tokens(self, conversation: Conversation) -> str:
        return f"{conversation.input_tokens:,} / {conversation.output_tokens:,}"

    @display(description="Cost", ordering="cost_usd")  # type: ignore[untyped-decorator]
    def cost(self, conversation: Conversation) -> str:
        return _dollars(conversation.usage["cost_usd"])

    def has_stop_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("conversations.change_conversation")

    @action(description="Stop the selected conversations", permissions=["stop"])  # type: ignore[untyped-decorator]
    def stop(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> None:
        assert isinstance(request.user, User)
        by = Administrator(request.user.get_full_name())
        unfinished = list(queryset.filter(status__in=(*HELD, "queued", "paused")))
        for conversation in unfinished:
            services.stop(conversation, by=by)
        self.message_user(request, f"{len(unfinished)} conversations told to stop.")


class OfConversation(ReadOnlyAdmin):
    """Rows of conversations; searching for an id finds those of the conversation, or the row."""

    list_select_related = ("conversation",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if (wanted := _uuid(search_term)) is not None:
            mine = Q(pk=wanted) if isinstance(self.opts.pk, UUIDField) else Q()
            return queryset.filter(Q(conversation=wanted) | mine), False
        found: tuple[QuerySet[Any], bool] = super().get_search_results(
            request, queryset, search_term
        )
        return found


@admin.register(Event)
class EventAdmin(OfConversation):
    """The entries of all logs; each page has one of them whole."""

    list_display = ("seq", "conversation", "at", "type", "source", "turn")
    list_filter = ("type",)
    search_fields = ("type", "conversation__title")
    search_help_text = "A type, a title, or the id of a conversation."
    ordering = ("-id",)
    show_full_result_count = False
    fields = ("conversation", ("seq", "at", "turn"), ("type", "source", "epoch"), "facts")
    readonly_fields = ("facts",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        found: QuerySet[Event] = super().get_queryset(request)
        return found.defer("payload")

    @display(description="Facts")  # type: ignore[untyped-decorator]
    def facts(self, event: Event) -> SafeString:
        text = event.blob.body if event.blob is not None else event.payload
        shown = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
        return format_html('<pre class="whitespace-pre-wrap break-all">{}</pre>', shown)


@admin.register(Trigger)
class TriggerAdmin(OfConversation):
    """The inbox of all conversations: what waits, what was given up, and why."""

    list_display = (
        "created_at",
        "conversation",
        "kind",
        "control",
        "shown_state",
        "attempts",
        "error",
        "by",
    )
    list_filter = ("state", "kind", "control", "source")
    search_fields = ("by", "last_error", "conversation__title")
    ordering = ("-created_at",)
    fields = (
        "conversation",
        ("kind", "control", "source", "by"),
        ("shown_state", "attempts", "turn", "event_seq"),
        "last_error",
        ("created_at", "available_at", "updated_at"),
        "idempotency_key",
    )

    @display(description="State", ordering="state", label=COLOURS)  # type: ignore[untyped-decorator]
    def shown_state(self, trigger: Trigger) -> str:
        return trigger.state

    @display(description="Last error", ordering="last_error")  # type: ignore[untyped-decorator]
    def error(self, trigger: Trigger) -> str:
        return Truncator(trigger.last_error).chars(80)


@admin.register(ModelCall)
class ModelCallAdmin(OfConversation):
    """Each attempt to get a reply of a model, and what it cost."""

    list_display = (
        "started_at",
        "conversation",
        "turn",
        "model",
        "attempt",
        "status",
        "tokens",
        "cost",
        "seconds",
    )
    list_filter = ("status", "model")
    search_fields = ("model", "conversation__title")
    ordering = ("-started_at",)
    fields = (
        "conversation",
        ("model", "turn", "attempt", "status", "epoch"),
        ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
        "cost",
        ("started_at", "finished_at", "seconds"),
    )

    @display(description="Tokens in / out", ordering="input_tokens")  # type: ignore[untyped-decorator]
    def tokens(self, call: ModelCall) -> str:
        return f"{call.input_tokens:,} / {call.output_tokens:,}"

    @display(description="Cost", ordering="cost_usd")  # type: ignore[untyped-decorator]
    def cost(self, call: ModelCall) -> str:
        return _dollars(call.cost_usd) if call.finished_at else ""

    @display(description="Seconds")  # type: ignore[untyped-decorator]
    def seconds(self, call: ModelCall) -> str:
        return _seconds(call.started_at, call.finished_at)


@admin.register(ToolCall)
class ToolCallAdmin(OfConversation):
    """Each call of a tool, from its intent to its outcome."""

    list_display = (
        "called_at",
        "conversation",
        "turn",
        "tool",
        "effect",
        "state",
        "cause",
        "exit_code",
        "seconds",
    )
    list_filter = ("state", "tool", "effect", "cause")
    search_fields = ("tool", "conversation__title")
    ordering = ("-called_at",)
    fields = (
        "conversation",
        ("tool", "effect", "turn"),
        ("state", "cause", "exit_code"),
        ("called_at", "started_at", "finished_at", "seconds"),
        ("boot_id", "epoch", "arguments_hash"),
    )

    @display(description="Seconds")  # type: ignore[untyped-decorator]
    def seconds(self, call: ToolCall) -> str:
        return _seconds(call.started_at, call.finished_at)


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    """The processes that run conversations; one that is gone leaves by itself."""

    list_display = ("id", "host", "pid", "holds", "concurrency", "draining", "heartbeat_at")
    ordering = ("-heartbeat_at",)
    fields = (("id", "host", "pid"), ("holds", "concurrency", "draining"), "heartbeat_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Worker]:
        held = Conversation.objects.filter(lease_owner=OuterRef("pk")).order_by()
        count = held.values("lease_owner").annotate(count=Count("pk")).values("count")
        found: QuerySet[Worker] = super().get_queryset(request)
        return found.annotate(held=Coalesce(Subquery(count), 0))

    @display(description="Conversations")  # type: ignore[untyped-decorator]
    def holds(self, worker: Any) -> int:
        held: int = worker.held
        return held


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:.4f}"


def _seconds(start: datetime | None, end: datetime | None) -> str:
    return f"{(end - start).total_seconds():.1f}" if start and end else ""
