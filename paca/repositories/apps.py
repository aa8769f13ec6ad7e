"""The app of repositories and their git servers."""

from django.apps import AppConfig


class RepositoriesConfig(AppConfig):
    name = "paca.repositories"
    label = "repositories"
    verbose_name = "Repositories"
