"""The admin pages of conversations. Django imports this package to register them."""

from paca.conversations.admin import (
    conversations,
    pending_triggers,
    status_changes,
    workers_and_calls,
)

__all__ = ["conversations", "pending_triggers", "status_changes", "workers_and_calls"]
