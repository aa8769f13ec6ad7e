"""The figures of the installation in the format of Prometheus: ``GET /metrics``, for who has the token."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from paca.common import best_effort, disk_space
from paca.ops import dashboard, health, worker_status

if TYPE_CHECKING:  # the library is loaded by whoever asks first
    from prometheus_client.metrics_core import Metric

# By the values of their labels.
Values = Mapping[tuple[str, ...], float]


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Numbers only, of the whole installation, but for those named ``process_*``: this web process.

    Without METRICS_TOKEN there is no such page.
    """
    if not settings.METRICS_TOKEN:
        raise Http404
    if not _has_token(request):
        answer = HttpResponse("Send METRICS_TOKEN as a Bearer token.\n", "text/plain", 401)
        answer["WWW-Authenticate"] = "Bearer"
        return answer
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
    from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

    registry = CollectorRegistry()
    registry.register(_Installation())
    ProcessCollector(registry=registry)
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _has_token(request: HttpRequest) -> bool:
    kind, _, given = request.headers.get("Authorization", "").partition(" ")
    wanted = settings.METRICS_TOKEN.encode()
    return kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), wanted)


class _Installation:
    """Satisfies prometheus_client's ``Collector``: read from the database when it is asked for."""

    def collect(self) -> Iterator[Metric]:
        found = dashboard.work()
        yield _gauge(
            "queue_waiting", "Conversations that a worker could take.", found.queue.waiting
        )
        yield _gauge(
            "queue_oldest_seconds",
            "How long the first of them has waited.",
            found.queue.oldest_seconds,
        )
        yield _gauges(
            "workers",
            "Worker processes heard of a moment ago.",
            {("working",): found.workers.working, ("draining",): found.workers.draining},
            "state",
        )
        yield _gauge("worker_room", "How many more conversations they take.", found.workers.room)
        yield _gauges(
            "conversations",
            "Conversations by status.",
            {(status,): count for status, count in found.statuses.items()},
            "status",
        )
        yield _gauge("conversations_parked", "Those that nobody survived.", found.parked)
        yield _gauge("triggers_dead", "Causes that were given up.", found.dead_triggers)
        yield _gauges(
            "sandboxes", "Sandboxes by what became of them.", found.sandboxes, "backend", "state"
        )
        yield _gauge(
            "sandboxes_reaped",
            "Unused and left-over sandboxes removed by the workers of now.",
            found.reaped,
        )
        yield from _parts()
        yield from _spent()


def _parts() -> Iterator[Metric]:
    works = bool(worker_status.able())
    yield _gauge("sandbox_available", "1 if a worker can run commands.", works)
    yield _gauge("bus_up", "1 if processes hear of one another.", not health.bus_fault())
    free = disk_space.free_mib(settings.PACA_DATA_DIR) * 1024 * 1024
    yield _gauge("disk_free_bytes", "Room where this web process keeps its data.", free)
    yield _counters(
        "optional_failures",
        "Optional parts that failed in this web process.",
        {(part,): count for part, count in best_effort.failures.items()},
        "part",
    )


def _spent() -> Iterator[Metric]:
    spent = dashboard.spent()
    yield _counters(
        "tokens",
        "Tokens of all model calls.",
        {(kind,): count for kind, count in spent.tokens.items()},
        "kind",
    )
    yield _counters("cost_usd", "What they cost, as far as prices are known.", {(): spent.cost_usd})
    yield _counters("unpriced_calls", "Calls without a known price.", {(): spent.unpriced_calls})


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return _gauges(name, meaning, {(): value})


def _gauges(name: str, meaning: str, values: Values, *labels: str) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(f"paca_{name}", meaning, labels=labels)
    for of, value in values.items():
        family.add_metric(of, value)
    return family


def _counters(name: str, meaning: str, values: Values, *labels: str) -> Metric:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(f"paca_{name}", meaning, labels=labels)
    for of, value in values.items():
        family.add_metric(of, value)
    return family
