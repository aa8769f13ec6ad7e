"""Asks an agent's model one word, to find out whether its settings work."""

import threading

from asgiref.sync import async_to_sync

from paca.agents import encryption
from paca.agents.models import Agent
from paca.engine.llm import connection_check

# Most tests run in a child process that loads a large library: a crowd of them must not fill memory.
_AT_ONCE = threading.BoundedSemaphore(2)
# Who waits keeps one of the places in which pages are answered (paca/web/middleware/concurrency_limit.py).
TURN_SECONDS = 5.0
BUSY = "Other connections are being tested just now. Try again in a minute."


def test(agent: Agent) -> connection_check.ConnectionTest:
    """Whether the model answers; a failure is told with its cause, never raised."""
    try:
        key = encryption.decrypt(agent.encrypted_key) if agent.has_key else ""
    except encryption.SecretUnreadable as error:
        return connection_check.ConnectionTest(False, error.detail, error.code)
    ask = async_to_sync(connection_check.check_connection)
    if not _AT_ONCE.acquire(timeout=TURN_SECONDS):
        return connection_check.ConnectionTest(False, BUSY, "busy")
    try:
        return ask(
            agent.model, base_url=agent.base_url, api_key=key, parameters=dict(agent.parameters)
        )
    finally:
        _AT_ONCE.release()
