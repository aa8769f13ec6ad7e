"""Health checks for load balancers and monitoring: liveness and readiness."""

from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from paca.common import disk_space
from paca.ops import redis_check, worker_status


@require_safe
@never_cache
def liveness(request: HttpRequest) -> JsonResponse:
    """Answer as long as the process runs, without a look at any other part."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def readiness(request: HttpRequest) -> JsonResponse:
    """Each part by name with "ok" or its fault. The status is 503 while a part is not ready.

    The page needs no sign-in, so it shows counts and durations, never names or addresses.
    """
    parts: dict[str, str] = {}
    numbers: dict[str, Any] = {}
    try:
        connection.ensure_connection()
        parts |= {"database": "ok", "migrations": _migrations()}
        if parts["migrations"] == "ok":
            numbers = _workers_and_queue(parts)
    except DatabaseError:
        parts["database"] = "cannot be opened"
    parts |= {"bus": redis_check.bus_fault() or "ok", "disk": _disk()}
    is_ready = all(state == "ok" for state in parts.values())
    return JsonResponse(
        {"status": "ready" if is_ready else "not ready", "parts": parts, **numbers},
        status=200 if is_ready else 503,
    )


def _migrations() -> str:
    loader = MigrationLoader(connection)
    missing = set(loader.disk_migrations) - set(loader.applied_migrations)
    return f"{len(missing)} not applied" if missing else "ok"


def _workers_and_queue(parts: dict[str, str]) -> dict[str, Any]:
    """Add workers, queue and sandbox to ``parts``; give the counts of workers and queue."""
    workers, queue = worker_status.count_workers(), worker_status.measure_queue()
    parts["workers"] = worker_status.workers_fault(workers) or "ok"
    parts["queue"] = worker_status.queue_fault(queue, workers) or "ok"
    # Workers report whether their sandboxes work; a web process cannot check them itself.
    parts["sandbox"] = "unavailable" if worker_status.sandbox_faults() else "ok"
    return {"workers": worker_status.as_json(workers), "queue": worker_status.as_json(queue)}


def _disk() -> str:
    if disk_space.database_is_full():
        return "the disk of the database is full"
    free = disk_space.free_mib(settings.PACA_DATA_DIR)
    return "ok" if free >= disk_space.MIN_FREE_MIB else f"only {free} MiB free"
