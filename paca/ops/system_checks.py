"""What every command refuses to run with, except those that only look or start."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register()
def secrets_are_kept(app_configs: Any, **options: Any) -> list[CheckMessage]:
    """A command must not sign or encrypt with secrets that end with it."""
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
