"""Answers for whatever watches Paca: is it alive, and if it is not ready, which part."""

from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from paca.conversations.models import Worker
from paca.web import preflight, sandboxes


@require_safe
@never_cache
def alive(request: HttpRequest) -> JsonResponse:
    """Touches nothing: it answers as long as the process does."""
    return JsonResponse({"status": "ok"})


@require_safe
@never_cache
def ready(request: HttpRequest) -> JsonResponse:
    """Every part by name: "ok", or what is wrong with it. 503 as long as one is not ready."""
    parts = {"database": _database()}
    if parts["database"] == "ok":
        parts["migrations"] = _migrations()
    if parts.get("migrations") == "ok":
        parts["worker"] = _worker()
    parts["sandbox"] = _sandbox()
    parts["disk"] = _disk()
    is_ready = all(state == "ok" for state in parts.values())
    return JsonResponse(
        {"status": "ready" if is_ready else "not ready", "parts": parts},
        status=200 if is_ready else 503,
    )


def _database() -> str:
    try:
        connection.ensure_connection()
    except DatabaseError:
        return "cannot be opened"
    return "ok"


def _migrations() -> str:
    loader = MigrationLoader(connection)
    missing = set(loader.disk_migrations) - set(loader.applied_migrations)
    return f"{len(missing)} not applied" if missing else "ok"


def worker_is_alive() -> bool:
    """Whether a worker said so within its lease."""
    since = timezone.now() - timedelta(seconds=settings.WORKER_LEASE_SECONDS)
    return Worker.objects.filter(draining=False, heartbeat_at__gte=since).exists()


def _worker() -> str:
    return "ok" if worker_is_alive() else "no sign of life"


def _sandbox() -> str:
    if settings.PACA_SANDBOX == "none":
        return "ok"  # as asked for: commands are refused
    return "unavailable" if sandboxes.unavailable() else "ok"


def _disk() -> str:
    free = preflight.free_mib(settings.PACA_DATA_DIR)
    return "ok" if free >= preflight.LEAST_FREE_MIB else f"only {free} MiB free"
