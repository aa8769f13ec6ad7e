"""The Django app of the pages."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    """Pages, their middleware and their static files."""

    name = "paca.web"
    label = "web"
