"""Tells the exporter of this process, if it has one, that a turn has ended."""

from collections.abc import Callable
from uuid import UUID

from django.db import transaction

Listener = Callable[[UUID, int], None]
_listeners: list[Listener] = []


def listen(listener: Listener) -> None:
    """Call the listener with conversation and number of each turn whose end this process commits.

    It is called in the thread of the transaction, and must neither wait nor raise.
    """
    _listeners.append(listener)


def unlisten(listener: Listener) -> None:
    """Call it no more."""
    _listeners.remove(listener)


def announce(conversation_id: UUID, turn: int) -> None:
    """Tell the listeners once the running transaction is committed."""
    for listener in _listeners:
        transaction.on_commit(lambda listener=listener: listener(conversation_id, turn))  # type: ignore[misc]
