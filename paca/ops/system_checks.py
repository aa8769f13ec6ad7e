"""Django system checks, which run before every command except ``up``, ``run_worker`` and ``doctor``."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register()
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
