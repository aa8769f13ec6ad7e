"""The figures of the whole installation, for the first page of the admin and for the metrics.

They come from the database and from Redis, so every web process reports the same.
"""

from dataclasses import dataclass

from django.db.models import Count, QuerySet, Sum
from django.http import HttpRequest

from paca.common.errors import PacaError
from paca.conversations import refused_entries, sandbox_queries, usage_text
from paca.conversations.models import (
    Conversation,
    ConversationStatus,
    Trigger,
    TriggerState,
    Worker,
)
from paca.ops import doctor, worker_status

MAX_PARKED_SHOWN = 10


@dataclass(frozen=True, slots=True)
class InstallationFigures:
    """Workers, queue, conversations by status, and sandboxes by backend and state.

    ``reaped`` counts the unused and orphaned sandboxes that the present workers have removed.
    ``refused_entries`` of other programs is None if Redis does not tell.
    """

    workers: worker_status.WorkerCounts
    queue: worker_status.QueueFigures
    statuses: dict[str, int]
    parked: int
    dead_triggers: int
    refused_entries: int | None
    sandboxes: dict[tuple[str, ...], int]
    reaped: int


@dataclass(frozen=True, slots=True)
class ModelSpending:
    """Tokens and cost of all model calls so far. Calls without a known price are counted apart."""

    tokens: dict[str, int]
    cost_usd: float
    unpriced_calls: int

    @property
    def cost_text(self) -> str:
        """The cost in words; what is unknown is no zero."""
        return usage_text.format_cost(self.cost_usd, self.unpriced_calls, digits=2)

    @property
    def tokens_text(self) -> str:
        """The tokens in words, the cached ones too."""
        return usage_text.format_tokens(self.tokens, self.unpriced_calls)


def installation_figures() -> InstallationFigures:
    """Read the present figures, in about ten queries."""
    existing = Conversation.objects.filter(deleted_at=None).order_by()
    counted = existing.values_list("status").annotate(count=Count("*"))
    return InstallationFigures(
        workers=worker_status.count_workers(),
        queue=worker_status.measure_queue(),
        statuses=dict.fromkeys(ConversationStatus.values, 0) | dict(counted),
        parked=parked_conversations().count(),
        dead_triggers=Trigger.objects.filter(state=TriggerState.DEAD).count(),
        refused_entries=count_refused_entries(),
        sandboxes=sandbox_queries.count_by_backend_and_state(),
        reaped=Worker.objects.aggregate(n=Sum("sandboxes_reaped", default=0))["n"],
    )


def count_refused_entries() -> int | None:
    """How many refused entries of other programs are kept; None if Redis does not tell."""
    try:
        return refused_entries.count()
    except PacaError:
        return None


def model_spending() -> ModelSpending:
    """Sum up all conversations, deleted ones too: their cost has been paid."""
    kinds = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    sums = Conversation.objects.aggregate(
        **{name: Sum(name, default=0) for name in (*kinds, "cost_usd", "unpriced_calls")}
    )
    return ModelSpending(
        {name.removesuffix("_tokens"): sums[name] for name in kinds},
        sums["cost_usd"],
        sums["unpriced_calls"],
    )


def parked_conversations() -> QuerySet[Conversation]:
    """Conversations paused because the same step failed, or its worker was lost, several times in a row, newest first."""
    return Conversation.objects.filter(
        status=ConversationStatus.PAUSED, reason="parked", deleted_at=None
    ).order_by("-last_activity_at")


def dashboard_callback(request: HttpRequest, context: dict[str, object]) -> dict[str, object]:
    """Unfold's hook: adds the figures to the admin's first page, for those who may see conversations."""
    if request.user.has_perm("conversations.view_conversation"):
        context |= {
            "parts": doctor.check_running_installation(),
            "figures": installation_figures(),
            "spending": model_spending(),
            "parked": parked_conversations().select_related("agent")[:MAX_PARKED_SHOWN],
        }
    return context
