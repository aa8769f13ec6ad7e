"""The admin's pages for conversations; Django looks for them here."""

from paca.conversations.admin import conversations, work

__all__ = ["conversations", "work"]
