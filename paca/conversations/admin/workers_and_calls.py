"""Admin pages of triggers, model calls, tool calls and workers."""

from typing import Any

from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.utils.text import Truncator
from unfold.decorators import action, display

from paca.common.admin import ReadOnlyAdmin
from paca.conversations import usage_text
from paca.conversations.admin import refused_entries
from paca.conversations.admin.base import (
    COLOURS,
    ConversationRowAdmin,
    format_seconds,
)
from paca.conversations.models import Conversation, ModelCall, ToolCall, Trigger, Worker


@admin.register(Trigger)
class TriggerAdmin(ConversationRowAdmin):
    """The triggers of all conversations, with the error of those that were given up."""

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
    actions_list = ("refused_entries",)
    fields = (
        "conversation",
        ("kind", "control"),
        ("source", "by"),
        ("shown_state", "attempts"),
        ("turn", "event_seq"),
        "last_error",
        "created_at",
        "idempotency_key",
    )

    @display(description="State", ordering="state", label=COLOURS)  # type: ignore[untyped-decorator]
    def shown_state(self, trigger: Trigger) -> str:
        return trigger.state

    @display(description="Last error", ordering="last_error")  # type: ignore[untyped-decorator]
    def error(self, trigger: Trigger) -> str:
        return Truncator(trigger.last_error).chars(80)

    @action(  # type: ignore[untyped-decorator]
        description="Refused entries of other programs", url_path="refused/", permissions=["view"]
    )
    def refused_entries(self, request: HttpRequest) -> HttpResponse:
        """The page of entries that no worker could take."""
        context = {**self.admin_site.each_context(request), "opts": self.opts}
        return refused_entries.respond(request, context)


@admin.register(ModelCall)
class ModelCallAdmin(ConversationRowAdmin):
    """Model calls: each attempt to get a reply, and its cost."""

    list_display = (
        "started_at",
        "project",
        "conversation",
        "purpose",
        "model",
        "attempt",
        "status",
        "tokens",
        "cost",
        "seconds",
    )
    list_filter = ("status", "purpose", "model")
    list_select_related = ("conversation", "project")
    search_fields = ("model", "conversation__title")
    ordering = ("-started_at",)
    fields = (
        ("project", "agent"),
        ("conversation", "purpose"),
        "model",
        ("status", "cost"),
        ("turn", "attempt"),
        ("input_tokens", "output_tokens"),
        ("cache_read_tokens", "cache_write_tokens"),
        ("started_at", "finished_at"),
        ("seconds", "epoch"),
    )

    @display(description="Tokens in / out", ordering="input_tokens")  # type: ignore[untyped-decorator]
    def tokens(self, call: ModelCall) -> str:
        if call.input_tokens is None or call.output_tokens is None:
            return "unknown"
        usage = {
            "input": call.input_tokens,
            "output": call.output_tokens,
            "cache_read": call.cache_read_tokens,
            "cache_write": call.cache_write_tokens,
        }
        return usage_text.format_tokens(usage, 0, pattern=usage_text.IN_AND_OUT)

    @display(description="Cost", ordering="cost_usd")  # type: ignore[untyped-decorator]
    def cost(self, call: ModelCall) -> str:
        if not call.finished_at:
            return ""
        return usage_text.format_cost(call.cost_usd or 0, int(call.cost_usd is None))

    @display(description="Seconds")  # type: ignore[untyped-decorator]
    def seconds(self, call: ModelCall) -> str:
        return format_seconds(call.started_at, call.finished_at)


@admin.register(ToolCall)
class ToolCallAdmin(ConversationRowAdmin):
    """Tool calls, from intent to outcome."""

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
        ("tool", "effect"),
        ("state", "cause"),
        ("turn", "exit_code"),
        ("called_at", "started_at"),
        ("finished_at", "seconds"),
        ("boot_id", "epoch"),
        "arguments_hash",
    )

    @display(description="Seconds")  # type: ignore[untyped-decorator]
    def seconds(self, call: ToolCall) -> str:
        return format_seconds(call.started_at, call.finished_at)


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    """The workers. The row of a lost worker is removed by the other workers."""

    list_display = (
        "id",
        "host",
        "pid",
        "claimed",
        "concurrency",
        "sandbox",
        "draining",
        "heartbeat_at",
    )
    ordering = ("-heartbeat_at",)
    fields = (
        "id",
        ("host", "pid"),
        ("claimed", "concurrency"),
        ("sandbox", "sandbox_fault"),
        ("draining", "heartbeat_at"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Worker]:
        claimed = Conversation.objects.filter(lease_owner=OuterRef("pk")).order_by()
        count = claimed.values("lease_owner").annotate(count=Count("pk")).values("count")
        found: QuerySet[Worker] = super().get_queryset(request)
        return found.annotate(claimed_count=Coalesce(Subquery(count), 0))

    @display(description="Conversations")  # type: ignore[untyped-decorator]
    def claimed(self, worker: Any) -> int:
        count: int = worker.claimed_count
        return count
