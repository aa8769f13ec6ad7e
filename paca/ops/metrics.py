"""The figures of the installation in the Prometheus format: ``GET /metrics``, protected by METRICS_TOKEN."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from paca.common import best_effort, disk_space
from paca.ops import dashboard, redis_check, worker_status

if TYPE_CHECKING:  # prometheus_client is imported by the first request
    from prometheus_client.metrics_core import Metric

# The value of a metric by the values of its labels.
ValuesByLabels = Mapping[tuple[str, ...], float]


@require_safe
@never_cache
def metrics(request: HttpRequest) -> HttpResponse:
    """Metrics of the whole installation, and those named ``process_*`` of this web process.

    Raises ``Http404`` if METRICS_TOKEN is not set.
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
    registry.register(InstallationCollector())
    ProcessCollector(registry=registry)
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _has_token(request: HttpRequest) -> bool:
    kind, _, given = request.headers.get("Authorization", "").partition(" ")
    wanted = settings.METRICS_TOKEN.encode()
    return kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), wanted)


class InstallationCollector:
    """A ``Collector`` of prometheus_client that reads the figures from the database on each request."""

    def collect(self) -> Iterator[Metric]:
        figures = dashboard.installation_figures()
        yield _gauge(
            "queue_waiting", "Conversations that wait for a worker.", figures.queue.waiting
        )
        yield _gauge(
            "queue_oldest_seconds",
            "How long the oldest of them has waited.",
            figures.queue.oldest_seconds,
        )
        yield _gauges(
            "workers",
            "Workers with a recent heartbeat.",
            {("working",): figures.workers.working, ("draining",): figures.workers.draining},
            "state",
        )
        yield _gauge(
            "worker_room", "How many more conversations the workers can take.", figures.workers.room
        )
        yield _gauges(
            "conversations",
            "Conversations by status.",
            {(status,): count for status, count in figures.statuses.items()},
            "status",
        )
        yield _gauge(
            "conversations_parked",
            "Conversations paused because the same step failed, or its worker was lost, several times in a row.",
            figures.parked,
        )
        if figures.refused_entries is not None:  # else Redis does not tell, and bus_up is 0
            yield _gauge(
                "triggers_dead",
                "Triggers that were given up, and refused entries of other programs.",
                figures.dead_triggers + figures.refused_entries,
            )
        yield _gauges(
            "sandboxes", "Sandboxes by backend and state.", figures.sandboxes, "backend", "state"
        )
        yield _gauge(
            "sandboxes_reaped",
            "Unused and orphaned sandboxes removed by the present workers.",
            figures.reaped,
        )
        yield from _availability()
        yield from _model_spending()


def _availability() -> Iterator[Metric]:
    can_run_commands = bool(worker_status.available_backends())
    yield _gauge("sandbox_available", "1 if a worker can run commands.", can_run_commands)
    yield _gauge("bus_up", "1 if hints travel between processes.", not redis_check.bus_fault())
    free = disk_space.free_mib(settings.PACA_DATA_DIR) * 1024 * 1024
    yield _gauge(
        "disk_free_bytes", "Free space on the disk of this web process's data folder.", free
    )
    yield _counters(
        "optional_failures",
        "Failures of optional parts in this web process.",
        {(part,): count for part, count in best_effort.failures.items()},
        "part",
    )


def _model_spending() -> Iterator[Metric]:
    spending = dashboard.model_spending()
    yield _counters(
        "tokens",
        "Tokens of all model calls.",
        {(kind,): count for kind, count in spending.tokens.items()},
        "kind",
    )
    yield _counters(
        "cost_usd", "Cost of the model calls with a known price.", {(): spending.cost_usd}
    )
    yield _counters(
        "unpriced_calls", "Model calls without a known price.", {(): spending.unpriced_calls}
    )


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return _gauges(name, meaning, {(): value})


def _gauges(name: str, meaning: str, values: ValuesByLabels, *labels: str) -> Metric:
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(f"paca_{name}", meaning, labels=labels)
    for label_values, value in values.items():
        family.add_metric(label_values, value)
    return family


def _counters(name: str, meaning: str, values: ValuesByLabels, *labels: str) -> Metric:
    from prometheus_client.core import CounterMetricFamily

    family = CounterMetricFamily(f"paca_{name}", meaning, labels=labels)
    for label_values, value in values.items():
        family.add_metric(label_values, value)
    return family
