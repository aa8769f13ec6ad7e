"""Checks an agent's connection: asks its model for one word."""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from asgiref.sync import async_to_sync

from paca.agents import encryption
from paca.agents.models import Agent
from paca.common.best_effort import tolerated
from paca.engine.llm import connection_check
from paca.engine.llm.base import Usage
from paca.projects.signals import model_call_ended, model_call_started

# A check waits for another server: many at once would occupy the slots of requests.
_SLOTS = threading.BoundedSemaphore(2)
# A waiting check occupies a request slot of paca/web/middleware/concurrency_limit.py.
QUEUE_TIMEOUT_SECONDS = 5.0
BUSY = "Other connections are being tested. Try again in a minute."
PURPOSE = "connection_test"


def run(agent: Agent) -> connection_check.ConnectionCheck:
    """Ask the model for one word. A failure of the model or its key is in the result and not raised.

    The call counts in the usage of the project. Raises ``ConfigurationError`` if ENCRYPTION_KEY is empty
    or has a malformed key.
    """
    try:
        key = encryption.decrypt(agent.encrypted_key) if agent.has_key else ""
    except encryption.SecretUnreadable as error:
        return connection_check.ConnectionCheck(False, error.detail, error.code)
    ask = async_to_sync(connection_check.check_connection)
    if not _SLOTS.acquire(timeout=QUEUE_TIMEOUT_SECONDS):
        return connection_check.ConnectionCheck(False, BUSY, "busy")
    try:
        with _tracked(agent) as ended:
            result = ask(
                agent.model,
                base_url=agent.base_url,
                api_key=key,
                parameters=dict(agent.parameters),
                text_tool_calls=agent.text_tool_calls,
            )
            ended.append(result)
        return result
    finally:
        _SLOTS.release()


@contextmanager
def _tracked(agent: Agent) -> Iterator[list[connection_check.ConnectionCheck]]:
    """Has the call counted, by the result that the block adds to the list. It is counted as failed without one.

    A failure of the counting does not fail the check. If the process dies in the block, a worker marks
    the call as abandoned.
    """
    call_id, ended = uuid.uuid4(), list[connection_check.ConnectionCheck]()
    # guard: usage-failure-of-a-test-is-tolerated
    with tolerated("usage"):
        model_call_started.send(sender=Agent, call_id=call_id, agent=agent, purpose=PURPOSE)
    try:
        yield ended
    finally:
        usage = ended[0].usage if ended else Usage(estimated=True)
        failed = not (ended and ended[0].works)
        with tolerated("usage"):
            model_call_ended.send(
                sender=Agent, call_id=call_id, agent=agent, usage=usage, failed=failed
            )
