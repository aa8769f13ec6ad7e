"""Asks an agent's model one word, to find out whether its settings work."""

from asgiref.sync import async_to_sync

from paca.agents import secrets
from paca.agents.models import Agent
from paca.engine.llm import registry


def test(agent: Agent) -> registry.ConnectionTest:
    """Whether the model answers; a failure is told with its cause, never raised."""
    try:
        key = secrets.decrypt(agent.encrypted_key) if agent.has_key else ""
    except secrets.SecretUnreadable as error:
        return registry.ConnectionTest(False, error.detail, error.code)
    ask = async_to_sync(registry.check_connection)
    return ask(agent.model, base_url=agent.base_url, api_key=key, parameters=dict(agent.parameters))
