"""The admin pages of conversations. Django imports this package to register them."""

from paca.conversations.admin import (
    conversations,
    memory,
    pending_triggers,
    status_changes,
    workers_and_calls,
)

__all__ = ["conversations", "memory", "pending_triggers", "status_changes", "workers_and_calls"]
