"""Who runs conversations just now, what waits for them, and whether their commands have a place to run."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from django.db.models import Count, Min, Q, Sum
from django.utils import timezone

from paca.conversations.models import Conversation, Worker
from paca.conversations.models.statuses import ACTIVE_STATUSES
from paca.worker import claim

# Work that a worker has room for is taken within a second or two; this long, something is wrong.
LATE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Workers:
    """How many take conversations, how many only end, and how much more the former can take."""

    working: int
    draining: int
    room: int


@dataclass(frozen=True, slots=True)
class Queue:
    """What could run at once if there were room, and how long the first of it has waited."""

    waiting: int
    oldest_seconds: float


def workers() -> Workers:
    """Those heard of a moment ago."""
    counted = Worker.objects.alive().aggregate(
        working=Count("pk", filter=Q(draining=False)),
        ending=Count("pk", filter=Q(draining=True)),
        places=Sum("concurrency", filter=Q(draining=False), default=0),
    )
    held = Conversation.objects.filter(
        status__in=ACTIVE_STATUSES, lease_owner__in=Worker.objects.working().values("pk")
    ).count()
    return Workers(counted["working"], counted["ending"], max(0, counted["places"] - held))


def queue() -> Queue:
    """What waits for a worker, but not what waits for its own agent to have a hand free."""
    found = claim.claimable().order_by().aggregate(waiting=Count("pk"), since=Min("updated_at"))
    since = found["since"]
    waited = (timezone.now() - since).total_seconds() if since else 0.0
    return Queue(found["waiting"], round(max(0.0, waited), 1))


def workers_fault(found: Workers) -> str:
    """Why nobody takes work; empty if somebody does."""
    if found.working:
        return ""
    return "all are draining" if found.draining else "no sign of life"


def queue_fault(waits: Queue, found: Workers) -> str:
    """A queue is long when there is much to do; it is stuck when nobody takes from it."""
    if waits.oldest_seconds < LATE_SECONDS or not found.room:
        return ""
    return f"the oldest waits for {waits.oldest_seconds:.0f} s although workers have room"


def sandbox_faults() -> list[str]:
    """Why no worker can run commands, in the workers' words; empty if one can, or none has told.

    Commands that are switched off are no fault: somebody has asked for that.
    """
    told = Worker.objects.working().exclude(sandbox="")
    faults = set(told.exclude(sandbox="none").values_list("sandbox_fault", flat=True))
    return [] if "" in faults else sorted(faults)


def able() -> list[str]:
    """In which ways workers run commands just now."""
    told = Worker.objects.working().exclude(sandbox__in=("", "none")).filter(sandbox_fault="")
    return sorted(set(told.values_list("sandbox", flat=True)))


def scattered() -> str:
    """Workers that do not see one another's sandboxes, where a conversation may change hands."""
    told = set(Worker.objects.working().exclude(sandbox="").values_list("sandbox", "place"))
    backends = {sandbox for sandbox, _ in told}
    if len(backends) > 1:
        return (
            f"workers run commands in different ways ({', '.join(sorted(backends))}): "
            "set the same PACA_SANDBOX for all."
        )
    hosts = _machines(place for _, place in told)
    if backends == {"bubblewrap"} and len(hosts) > 1:
        return (
            f"bubblewrap keeps files on its own host, and there are workers on {len(hosts)}: "
            "set PACA_SANDBOX=docker with one DOCKER_HOST, or share one PACA_DATA_DIR."
        )
    return ""


def _machines(places: Iterable[str]) -> set[str]:
    return {place.partition(" ")[0] for place in places}


def as_json(counted: Workers | Queue) -> dict[str, float]:
    """Numbers only: whoever may not sign in may still see them."""
    return asdict(counted)
