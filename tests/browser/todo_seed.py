"""A conversation with a to-do list, made by ``manage.py shell``; no worker answers it."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from paca import events
from paca.conversations import store
from tests.browser.row_kinds import stopped_chat

TEXTS = (
    ("Reproduce with INV-20871", "done"),
    ("Find where the rounding differs", "done"),
    ("Round once, allocate the remainder", "done"),
    ("Run the whole test suite", "now"),
    ("Check that sent invoices keep their totals\u202e", "open"),
    ("Open a pull request " + "which-has-a-very-long-name" * 4, "open"),
)
ITEMS = [{"text": text, "state": state} for text, state in TEXTS]


def conversation() -> UUID:
    """Make the conversation."""
    made = stopped_chat("Invoice totals are one cent off")
    since = (datetime.now(UTC) - timedelta(seconds=41)).isoformat(timespec="seconds")
    store.append(made, events.TodoChanged(items=ITEMS, since=since))
    return made


def without() -> UUID:
    """Make a conversation whose agent has no list."""
    return stopped_chat("Hello")
