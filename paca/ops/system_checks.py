"""Django system checks, which run before every command except ``up``, ``run_worker`` and ``doctor``."""

import sys
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register


@register("paca")
def check_secrets_are_stored(app_configs: Any, **options: Any) -> list[CheckMessage]:
    """Refuse secrets that exist only in this process: nothing else could read what it encrypts."""
    if not settings.PACA_KEYS.unsaved:
        return []
    missing = ", ".join(sorted(settings.PACA_KEYS.unsaved))
    return [
        Error(
            f"The secrets of this installation do not exist yet: {missing}.",
            hint="Run `manage.py up` once, or set SECRET_KEY and ENCRYPTION_KEY.",
            id="paca.E001",
        )
    ]


@register("paca")
def check_a_worker_can_run(app_configs: Any, **options: Any) -> list[CheckMessage]:
    """Say that ``runserver`` is not all of Paca, to people who expect it."""
    if "runserver" not in sys.argv:
        return []
    return [
        Warning(
            "runserver starts no worker, so conversations wait, and serves sockets only if daphne is installed.",
            hint="`manage.py up` starts everything. docs/deployment.md tells when to use runserver.",
            id="paca.W001",
        )
    ]
