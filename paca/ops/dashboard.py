"""How the installation does as a whole: what its administrators see first, and what metrics are made of.

All of it comes from rows, so that any web process can tell it of all workers.
"""

from dataclasses import dataclass

from django.db.models import Count, QuerySet, Sum
from django.http import HttpRequest

from paca.conversations.models import (
    Conversation,
    ConversationStatus,
    ReadySandbox,
    Sandbox,
    Trigger,
    TriggerState,
    Worker,
)
from paca.ops import doctor, worker_status
from paca.ops.doctor import Finding

MOST_PARKED = 10


@dataclass(frozen=True, slots=True)
class Work:
    """What there is to do and who does it. ``statuses``: conversations, by theirs.

    ``reaped``: unused and left-over sandboxes that the workers of now have removed.
    """

    workers: worker_status.Workers
    queue: worker_status.Queue
    statuses: dict[str, int]
    parked: int
    dead_triggers: int
    sandboxes: dict[tuple[str, ...], int]
    reaped: int


@dataclass(frozen=True, slots=True)
class Spent:
    """All that models were ever paid for here. Calls without a known price are counted, not guessed."""

    tokens: dict[str, int]
    cost_usd: float
    unpriced_calls: int


def work() -> Work:
    """The state of this moment, in a handful of queries."""
    there = Conversation.objects.filter(deleted_at=None).order_by()
    counted = there.values_list("status").annotate(count=Count("*"))
    lives = Sandbox.objects.order_by().values_list("backend", "state").annotate(count=Count("pk"))
    return Work(
        workers=worker_status.workers(),
        queue=worker_status.queue(),
        statuses=dict.fromkeys(ConversationStatus.values, 0) | dict(counted),
        parked=parked().count(),
        dead_triggers=Trigger.objects.filter(state=TriggerState.DEAD).count(),
        sandboxes={(backend, state): count for backend, state, count in lives} | _ready(),
        reaped=Worker.objects.aggregate(n=Sum("sandboxes_reaped", default=0))["n"],
    )


def _ready() -> dict[tuple[str, ...], int]:
    """Sandboxes that stand ready for conversations to come, if there are any."""
    count = ReadySandbox.objects.count()
    return {("docker", "ready"): count} if count else {}


def spent() -> Spent:
    """Also of conversations that are deleted: what was paid stays paid."""
    kinds = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    sums = Conversation.objects.aggregate(
        **{name: Sum(name, default=0) for name in (*kinds, "cost_usd", "unpriced_calls")}
    )
    return Spent(
        {name.removesuffix("_tokens"): sums[name] for name in kinds},
        sums["cost_usd"],
        sums["unpriced_calls"],
    )


def parked() -> QuerySet[Conversation]:
    """What has cost worker after worker, and waits for a person."""
    return Conversation.objects.filter(
        status=ConversationStatus.PAUSED, reason="parked", deleted_at=None
    ).order_by("-last_activity_at")


def dashboard(request: HttpRequest, context: dict[str, object]) -> dict[str, object]:
    """What the first page of the admin shows, to those who may look at conversations."""
    if request.user.has_perm("conversations.view_conversation"):
        found: list[Finding] = doctor.examine_running()
        context |= {
            "parts": found,
            "work": work(),
            "spent": spent(),
            "parked": parked().select_related("agent")[:MOST_PARKED],
        }
    return context
