"""The app of repositories and their git servers."""

from django.apps import AppConfig

from paca.common.errors import ConfigurationError


class RepositoriesConfig(AppConfig):
    name = "paca.repositories"
    label = "repositories"
    verbose_name = "Repositories"

    def ready(self) -> None:
        """Connect the receivers, and let a rotation of keys find the secrets of this app.

        Raises ``ConfigurationError`` for a malformed entry of PRIVATE_GIT_SERVERS.
        """
        from paca.agents.services import rotation
        from paca.common import secret_removal
        from paca.repositories import known_secrets, receivers  # noqa: F401 - connects them
        from paca.repositories.hosts.addresses import allowed_of_operator
        from paca.repositories.models import GitConnection, Repository

        secret_removal.add_source("repositories", known_secrets.of_scope)
        for column in (
            (GitConnection, "encrypted_secret"),
            (Repository, "encrypted_webhook_secret"),
        ):
            if column not in rotation.SECRET_COLUMNS:
                rotation.SECRET_COLUMNS.append(column)
        try:
            allowed_of_operator()
        except ValueError as error:
            raise ConfigurationError(f"PRIVATE_GIT_SERVERS: {error}.") from None
