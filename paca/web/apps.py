"""The app of the pages and of the commands that start and examine Paca."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    """Pages, health, ``up`` and ``doctor``."""

    name = "paca.web"
    label = "web"

    def ready(self) -> None:
        from paca.web import checks  # noqa: F401 - importing registers them
