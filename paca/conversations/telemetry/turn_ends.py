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

    def tell() -> None:
        for listener in _listeners:
            listener(conversation_id, turn)

    # Robust: a fault of a listener must not keep the turn's end from those who wait for it.
    # guard: fault-of-telemetry-keeps-nothing-back
    transaction.on_commit(tell, robust=True)
