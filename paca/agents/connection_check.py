"""Checks an agent's connection: asks its model for one word."""

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync

from paca.agents import encryption
from paca.agents.models import Agent
from paca.agents.services import model_keys
from paca.agents.services.model_keys import FoundKey
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
NO_FALLBACK = "This agent has no fallback model. Save one first."


@dataclass(frozen=True, slots=True)
class _Asked:
    """The model that is asked, and how it is reached."""

    model: str
    base_url: str
    key: FoundKey
    parameters: dict[str, Any]
    text_tool_calls: bool


def _own(agent: Agent, user_id: UUID | None) -> _Asked:
    key = model_keys.key_of(agent, user_id=user_id)
    return _Asked(agent.model, agent.base_url, key, agent.parameters, agent.text_tool_calls)


def _fallback(agent: Agent, user_id: UUID | None) -> _Asked:
    return _Asked(
        agent.fallback_model,
        agent.fallback_base_url,
        model_keys.fallback_key_of(agent, user_id=user_id),
        agent.fallback_parameters,
        agent.fallback_text_tool_calls,
    )


def run(
    agent: Agent, *, fallback: bool = False, user_id: UUID | None = None
) -> connection_check.ConnectionCheck:
    """Ask the model, or the ``fallback``, for one word. A failure of the model or its key is in the result and not raised.

    It uses the key that a turn of the person ``user_id`` would use.

    The call counts in the usage of the project. Raises ``ConfigurationError`` if ENCRYPTION_KEY is empty
    or has a malformed key.
    """
    asked = _fallback(agent, user_id) if fallback else _own(agent, user_id)
    if not asked.model:
        return connection_check.ConnectionCheck(False, NO_FALLBACK, "no_fallback")
    try:
        key = encryption.decrypt(asked.key.encrypted_key) if asked.key.encrypted_key else ""
    except encryption.SecretUnreadable as error:
        return connection_check.ConnectionCheck(False, error.detail, error.code)
    ask = async_to_sync(connection_check.check_connection)
    if not _SLOTS.acquire(timeout=QUEUE_TIMEOUT_SECONDS):
        return connection_check.ConnectionCheck(False, BUSY, "busy")
    try:
        with _tracked(agent, asked) as ended:
            result = ask(
                asked.model,
                base_url=asked.base_url,
                api_key=key,
                parameters=dict(asked.parameters),
                text_tool_calls=asked.text_tool_calls,
            )
            ended.append(result)
        return result
    finally:
        _SLOTS.release()


@contextmanager
def _tracked(agent: Agent, asked: _Asked) -> Iterator[list[connection_check.ConnectionCheck]]:
    """Has the call counted, by the result that the block adds to the list. It is counted as failed without one.

    A failure of the counting does not fail the check. If the process dies in the block, a worker marks
    the call as abandoned.
    """
    facts = {"agent": agent, "asked": asked}
    call_id, ended = uuid.uuid4(), list[connection_check.ConnectionCheck]()
    # guard: usage-failure-of-a-test-is-tolerated
    with tolerated("usage"):
        model_call_started.send(
            sender=Agent,
            call_id=call_id,
            purpose=PURPOSE,
            key_source=asked.key.source,
            **facts,
        )
    try:
        yield ended
    finally:
        usage = ended[0].usage if ended else Usage(estimated=True)
        failed = not (ended and ended[0].works)
        with tolerated("usage"):
            model_call_ended.send(
                sender=Agent, call_id=call_id, usage=usage, failed=failed, **facts
            )
