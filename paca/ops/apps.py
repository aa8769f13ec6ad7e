"""The Django app with the commands that start, check and monitor an installation."""

from django.apps import AppConfig


class OpsConfig(AppConfig):
    """Start-up, health, metrics, the dashboard, and the commands ``up``, ``run_worker`` and ``doctor``."""

    name = "paca.ops"
    label = "ops"

    def ready(self) -> None:
        from paca.ops import system_checks  # noqa: F401 - importing registers them
