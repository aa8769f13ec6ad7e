"""The app of agents and their settings."""

from django.apps import AppConfig
from django.conf import settings

from paca.common.errors import ConfigurationError
from paca.engine.llm import http_pool
from paca.engine.llm.address_check import AllowedServers


class AgentsConfig(AppConfig):
    name = "paca.agents"
    label = "agents"
    verbose_name = "Agents"

    def ready(self) -> None:
        """Tell the engine which private model servers the operator allows.

        Raises ``ConfigurationError`` for a malformed entry.
        """
        try:
            allowed = AllowedServers.parse(settings.PRIVATE_MODEL_SERVERS)
        except ValueError as error:
            raise ConfigurationError(f"PRIVATE_MODEL_SERVERS: {error}.") from None
        http_pool.allow_private_servers(allowed)
