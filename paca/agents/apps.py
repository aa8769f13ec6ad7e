"""The app of agents and their settings."""

from django.apps import AppConfig
from django.conf import settings

from paca.common import secret_removal
from paca.common.errors import ConfigurationError
from paca.common.network_policy import private_server_problem
from paca.engine.llm import http_pool
from paca.engine.llm.address_check import AllowedServers
from paca.engine.mcp import addresses


class AgentsConfig(AppConfig):
    name = "paca.agents"
    label = "agents"
    verbose_name = "Agents"

    def ready(self) -> None:
        """Tell the engine which private servers the operator allows.

        Raises ``ConfigurationError`` for a malformed entry.
        """
        # The gates of sandboxes read it; here it is only checked.
        for entry in settings.PRIVATE_PACKAGE_SERVERS:
            if problem := private_server_problem(entry):
                raise ConfigurationError(f"PRIVATE_PACKAGE_SERVERS: {problem}")
        http_pool.allow_private_servers(
            _parsed("PRIVATE_MODEL_SERVERS", settings.PRIVATE_MODEL_SERVERS)
        )
        addresses.allow_private_servers(
            _parsed("PRIVATE_MCP_SERVERS", settings.PRIVATE_MCP_SERVERS)
        )
        # Imported here: models exist only now.
        from paca.agents.services import variables

        secret_removal.add_source("variables", variables.secrets_of)


def _parsed(setting: str, entries: list[str]) -> AllowedServers:
    try:
        return AllowedServers.parse(entries)
    except ValueError as error:
        raise ConfigurationError(f"{setting}: {error}.") from None
