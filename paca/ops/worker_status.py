"""Which workers are alive, how long the queue is, and whether sandboxes work."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from django.db.models import Count, Min, Q, Sum
from django.utils import timezone

from paca.conversations.models import Conversation, Worker
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.worker import claim_queries

# Free workers claim a conversation within two seconds. After this long something is wrong.
QUEUE_STUCK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class WorkerCounts:
    """Workers that take conversations, workers that drain, and how many more conversations fit."""

    working: int
    draining: int
    room: int


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """How many conversations wait for a worker, and how long the oldest has waited."""

    waiting: int
    oldest_seconds: float


def count_workers() -> WorkerCounts:
    """Count the workers with a recent heartbeat."""
    counted = Worker.objects.alive().aggregate(
        working=Count("pk", filter=Q(draining=False)),
        ending=Count("pk", filter=Q(draining=True)),
        capacity=Sum("concurrency", filter=Q(draining=False), default=0),
    )
    held = Conversation.objects.filter(
        status__in=ACTIVE_STATUSES, lease_owner__in=Worker.objects.working().values("pk")
    ).count()
    free = max(0, counted["capacity"] - held)
    return WorkerCounts(counted["working"], counted["ending"], free)


def measure_queue() -> QueueFigures:
    """Count the conversations that a worker could claim now.

    Conversations that wait because their agent is at its own limit do not count.
    """
    found = (
        claim_queries.claimable().order_by().aggregate(waiting=Count("pk"), since=Min("updated_at"))
    )
    since = found["since"]
    waited = (timezone.now() - since).total_seconds() if since else 0.0
    return QueueFigures(found["waiting"], round(max(0.0, waited), 1))


def workers_fault(found: WorkerCounts) -> str:
    """Why no worker takes conversations; empty if one does."""
    if found.working:
        return ""
    return "all are draining" if found.draining else "none is alive"


def queue_fault(queue: QueueFigures, found: WorkerCounts) -> str:
    """Why the queue is stuck; empty if it is not. A long queue alone is no fault."""
    if queue.oldest_seconds < QUEUE_STUCK_SECONDS or not found.room:
        return ""
    return f"the oldest waits for {queue.oldest_seconds:.0f} s although workers are free"


def sandbox_faults() -> list[str]:
    """Why no worker can run commands, as the workers report it.

    Empty if a worker can, or if none has reported yet. ``PACA_SANDBOX=none`` is no fault.
    """
    reported = Worker.objects.working().exclude(sandbox="")
    faults = set(reported.exclude(sandbox="none").values_list("sandbox_fault", flat=True))
    return [] if "" in faults else sorted(faults)


def available_backends() -> list[str]:
    """The sandbox backends in which workers can run commands now."""
    reported = Worker.objects.working().exclude(sandbox__in=("", "none")).filter(sandbox_fault="")
    return sorted(set(reported.values_list("sandbox", flat=True)))


def placement_problem() -> str:
    """Why a worker could not take over conversations of another: they do not share their sandboxes."""
    reported = set(
        Worker.objects.working().exclude(sandbox="").values_list("sandbox", "pid_namespace")
    )
    backends = {sandbox for sandbox, _ in reported}
    if len(backends) > 1:
        return (
            f"workers use different sandbox backends ({', '.join(sorted(backends))}): "
            "set the same PACA_SANDBOX for all."
        )
    hosts = _hosts(namespace for _, namespace in reported)
    if backends == {"bubblewrap"} and len(hosts) > 1:
        return (
            f"bubblewrap keeps files on one host, and workers run on {len(hosts)} hosts: "
            "set PACA_SANDBOX=docker with one DOCKER_HOST, or share one PACA_DATA_DIR."
        )
    return ""


def _hosts(pid_namespaces: Iterable[str]) -> set[str]:
    return {each.partition(" ")[0] for each in pid_namespaces}


def as_json(counted: WorkerCounts | QueueFigures) -> dict[str, float]:
    """The figures as JSON. They are numbers only, because ``/readyz`` needs no sign-in."""
    return asdict(counted)
