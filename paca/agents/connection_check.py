"""Checks an agent's connection: asks its model for one word."""

import threading

from asgiref.sync import async_to_sync

from paca.agents import encryption
from paca.agents.models import Agent
from paca.engine.llm import connection_check

# A check waits for another server: many at once would occupy the slots of requests.
_SLOTS = threading.BoundedSemaphore(2)
# A waiting check occupies a request slot of paca/web/middleware/concurrency_limit.py.
QUEUE_TIMEOUT_SECONDS = 5.0
BUSY = "Other connections are being tested. Try again in a minute."


def run(agent: Agent) -> connection_check.ConnectionCheck:
    """Ask the model for one word. A failure of the model or its key is in the result and not raised.

    Raises ``ConfigurationError`` if ENCRYPTION_KEY is empty or has a malformed key.
    """
    try:
        key = encryption.decrypt(agent.encrypted_key) if agent.has_key else ""
    except encryption.SecretUnreadable as error:
        return connection_check.ConnectionCheck(False, error.detail, error.code)
    ask = async_to_sync(connection_check.check_connection)
    if not _SLOTS.acquire(timeout=QUEUE_TIMEOUT_SECONDS):
        return connection_check.ConnectionCheck(False, BUSY, "busy")
    try:
        return ask(
            agent.model,
            base_url=agent.base_url,
            api_key=key,
            parameters=dict(agent.parameters),
            text_tool_calls=agent.text_tool_calls,
        )
    finally:
        _SLOTS.release()
