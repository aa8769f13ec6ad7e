"""The app of the worker: its command only, no tables."""

from django.apps import AppConfig


class WorkerConfig(AppConfig):
    """Runs conversations."""

    name = "paca.worker"
    label = "worker"
