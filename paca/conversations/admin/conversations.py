"""Admin pages of conversations and events. They are read-only, but can stop and resume conversations."""

import json
from dataclasses import dataclass
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.db.models.functions import Substr
from django.http import HttpRequest
from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from unfold.admin import TabularInline
from unfold.decorators import action, display

from paca.accounts.models import User
from paca.common.errors import PacaError
from paca.conversations import retention, sandbox_queries, services, usage_text
from paca.conversations.admin.base import (
    COLOURS,
    ConversationRowAdmin,
    SearchByIdAdmin,
)
from paca.conversations.models import Conversation, ConversationStatus, Event, Sandbox
from paca.conversations.models.statuses import ENDED_STATUSES

PREVIEW_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class Administrator:
    """The author of a lifecycle command from the admin, who need not be a member of the project."""

    name: str


class LogInline(TabularInline):  # type: ignore[misc] # unfold has no types
    """The log page by page, with the start of each payload, because a log may be very long."""

    model = Event
    verbose_name_plural = "log"
    ordering = ("seq",)
    per_page = 50
    extra = 0
    hide_title = True
    fields = readonly_fields = ("entry", "time", "type", "source", "turn", "begins_with")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        found: QuerySet[Event] = super().get_queryset(request)
        # One character more than is shown, so that a cut text ends with an ellipsis.
        text = Substr("payload", 1, PREVIEW_CHARACTERS + 1)
        return found.defer("payload").annotate(preview=text)

    @display(description="Entry")  # type: ignore[untyped-decorator]
    def entry(self, event: Event) -> SafeString:
        address = reverse("admin:conversations_event_change", args=[event.pk])
        return format_html('<a class="text-primary-600" href="{}">{}</a>', address, event.seq)

    @display(description="Time (UTC)")  # type: ignore[untyped-decorator]
    def time(self, event: Event) -> SafeString:
        shown = f"{event.at:%m-%d %H:%M:%S}"
        return format_html('<span class="whitespace-nowrap">{}</span>', shown)

    @display(description="Begins with")  # type: ignore[untyped-decorator]
    def begins_with(self, event: Any) -> SafeString:
        text = Truncator(event.preview).chars(PREVIEW_CHARACTERS)
        shown = "(large: open it)" if event.blob_id else text
        return format_html('<span class="break-all">{}</span>', shown)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Conversation)
class ConversationAdmin(SearchByIdAdmin):
    """Conversations of all projects."""

    list_display = (
        "name",
        "agent",
        "project",
        "state",
        "reason",
        "tokens",
        "cost",
        "files",
        "last_activity_at",
    )
    list_filter = ("status", "reason", "project", "agent")
    list_select_related = ("agent", "project", "sandbox")
    search_fields = ("title", "agent__name", "agent__handle")
    search_help_text = "A title, an agent, or an id."
    ordering = ("-last_activity_at",)
    actions = ("stop", "try_again")
    inlines = (LogInline,)
    fields = (
        "title",
        ("agent", "project"),
        ("state", "reason"),
        ("activity", "turn_number"),
        "detail",
        ("tokens", "cost"),
        "stored",
        ("lease_owner", "lease_epoch"),
        ("created_at", "lease_until"),
        ("started_at", "finished_at"),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Conversation]:
        return Conversation.objects.filter(deleted_at=None)

    @display(description="Conversation", ordering="title")  # type: ignore[untyped-decorator]
    def name(self, conversation: Conversation) -> str:
        return Truncator(str(conversation)).chars(60)

    @display(description="Status", ordering="status", label=COLOURS)  # type: ignore[untyped-decorator]
    def state(self, conversation: Conversation) -> str:
        return conversation.status

    @display(description="Tokens in / out", ordering="input_tokens")  # type: ignore[untyped-decorator]
    def tokens(self, conversation: Conversation) -> str:
        usage, unpriced = conversation.usage, conversation.unpriced_calls
        return usage_text.format_tokens(usage, unpriced, pattern=usage_text.IN_AND_OUT)

    @display(description="Cost", ordering="cost_usd")  # type: ignore[untyped-decorator]
    def cost(self, conversation: Conversation) -> str:
        return usage_text.format_cost(conversation.cost_usd, conversation.unpriced_calls)

    @display(description="Files", ordering="sandbox__workspace_bytes")  # type: ignore[untyped-decorator]
    def files(self, conversation: Conversation) -> str:
        sandbox = getattr(conversation, "sandbox", None)
        return "" if sandbox is None else _workspace_text(sandbox)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Conversation | None:
        found: Conversation | None = super().get_object(request, object_id, from_field)
        if found is not None:  # read once: a page asks several times for a field
            found.stored_text = _stored_text(found)  # type: ignore[attr-defined]
        return found

    @display(description="Stored")  # type: ignore[untyped-decorator]
    def stored(self, conversation: Any) -> str:
        return str(conversation.stored_text)

    def has_stop_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("conversations.change_conversation")

    @action(description="Stop the selected conversations", permissions=["stop"])  # type: ignore[untyped-decorator]
    def stop(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> None:
        assert isinstance(request.user, User)
        by = Administrator(request.user.get_full_name())
        unfinished = list(queryset.exclude(status__in=ENDED_STATUSES))
        for conversation in unfinished:
            services.stop(conversation, by=by)
        self.message_user(request, f"{len(unfinished)} conversations were asked to stop.")

    @action(description="Try the selected parked conversations again", permissions=["stop"])  # type: ignore[untyped-decorator]
    def try_again(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> None:
        """Resume conversations that are parked because several workers were lost while they ran them."""
        assert isinstance(request.user, User)
        by = Administrator(request.user.get_full_name())
        parked = list(queryset.filter(status=ConversationStatus.PAUSED, reason="parked"))
        failed = 0
        for conversation in parked:
            try:
                services.resume(conversation, by=by)
            except PacaError as error:  # the agent is not available, or it was resumed meanwhile
                failed += 1
                self.message_user(request, f"{conversation}: {error.detail}", messages.ERROR)
        self.message_user(request, f"{len(parked) - failed} conversations were resumed.")


def _stored_text(conversation: Conversation) -> str:
    """What the conversation takes in the database, and whether its sandbox has files."""
    size = retention.stored_bytes(Conversation.objects.filter(pk=conversation.pk))
    sandbox = sandbox_queries.with_files(conversation.pk)
    if sandbox is None:
        return f"{filesizeformat(size)}; no files"
    used = f"{sandbox.last_used_at:%Y-%m-%d %H:%M} UTC"
    return f"{filesizeformat(size)}; files: {_workspace_text(sandbox)}, last used {used}"


def _workspace_text(sandbox: Sandbox) -> str:
    """``12.0 MB of 2.0 GB``, as measured at the end of the last run."""
    if sandbox.workspace_bytes is None or sandbox.workspace_limit_bytes is None:
        return "not measured"
    limit = filesizeformat(sandbox.workspace_limit_bytes)
    return f"{filesizeformat(sandbox.workspace_bytes)} of {limit}"


@admin.register(Event)
class EventAdmin(ConversationRowAdmin):
    """The events of all logs. The page of an event shows its whole payload."""

    ids = ("conversation",)  # the id of an event is a plain number
    list_display = ("seq", "conversation", "at", "type", "source", "turn")
    list_filter = ("type",)
    search_fields = ("type", "conversation__title")
    search_help_text = "A type, a title, or the id of a conversation."
    ordering = ("-id",)
    show_full_result_count = False
    fields = ("conversation", ("seq", "at"), "type", ("source", "turn"), "epoch", "facts")
    readonly_fields = ("facts",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        found: QuerySet[Event] = super().get_queryset(request)
        return found.defer("payload")

    @display(description="Facts")  # type: ignore[untyped-decorator]
    def facts(self, event: Event) -> SafeString:
        text = event.blob.body if event.blob is not None else event.payload
        shown = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
        return format_html('<pre class="whitespace-pre-wrap break-all">{}</pre>', shown)
