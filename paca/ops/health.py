"""Answers for whatever watches Paca: is it alive, and if it is not ready, which part."""

from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from paca.common import disk_space
from paca.ops import worker_status


@require_safe
@never_cache
def alive(request: HttpRequest) -> JsonResponse:
    """Touches nothing: it answers as long as the process does."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def ready(request: HttpRequest) -> JsonResponse:
    """Every part by name: "ok", or what is wrong with it. 503 as long as one is not ready.

    Anybody may ask: it says how many and how long, never who or where.
    """
    parts: dict[str, str] = {}
    numbers: dict[str, Any] = {}
    try:
        connection.ensure_connection()
        parts |= {"database": "ok", "migrations": _migrations()}
        if parts["migrations"] == "ok":
            numbers = _work(parts)
    except DatabaseError:
        parts["database"] = "cannot be opened"
    parts |= {"bus": bus_fault() or "ok", "disk": _disk()}
    is_ready = all(state == "ok" for state in parts.values())
    return JsonResponse(
        {"status": "ready" if is_ready else "not ready", "parts": parts, **numbers},
        status=200 if is_ready else 503,
    )


def bus_fault() -> str:
    """Why processes do not hear of one another; one process alone always does."""
    if not settings.REDIS_URL:
        return ""
    from paca.bus.redis import health  # the library is loaded where it is used

    return health.fault(settings.REDIS_URL)


def _migrations() -> str:
    loader = MigrationLoader(connection)
    missing = set(loader.disk_migrations) - set(loader.applied_migrations)
    return f"{len(missing)} not applied" if missing else "ok"


def _work(parts: dict[str, str]) -> dict[str, Any]:
    """The parts that do the work, and how much there is of both."""
    workers, queue = worker_status.workers(), worker_status.queue()
    parts["workers"] = worker_status.workers_fault(workers) or "ok"
    parts["queue"] = worker_status.queue_fault(queue, workers) or "ok"
    # Where commands run is the workers' business: a web process has no way to look.
    parts["sandbox"] = "unavailable" if worker_status.sandbox_faults() else "ok"
    return {"workers": worker_status.as_json(workers), "queue": worker_status.as_json(queue)}


def _disk() -> str:
    if disk_space.database_is_full():
        return "the disk of the database is full"
    free = disk_space.free_mib(settings.PACA_DATA_DIR)
    return "ok" if free >= disk_space.MIN_FREE_MIB else f"only {free} MiB free"
