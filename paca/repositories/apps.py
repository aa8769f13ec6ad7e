"""The app of repositories and their git servers."""

from django.apps import AppConfig


class RepositoriesConfig(AppConfig):
    name = "paca.repositories"
    label = "repositories"
    verbose_name = "Repositories"

    def ready(self) -> None:
        """Let a rotation of keys find the secrets of this app."""
        from paca.agents.services import rotation
        from paca.repositories.models import GitConnection, Repository

        for column in (
            (GitConnection, "encrypted_secret"),
            (Repository, "encrypted_webhook_secret"),
        ):
            if column not in rotation.SECRET_COLUMNS:
                rotation.SECRET_COLUMNS.append(column)
