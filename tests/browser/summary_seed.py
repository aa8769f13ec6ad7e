"""A stopped conversation with a summary in the middle, made by ``manage.py shell``."""

from uuid import UUID

from paca import events
from paca.conversations import store
from tests.browser.row_kinds import stopped_chat

CONTEXT = {
    "used": 21_000,
    "window": 200_000,
    "parts": {"system": 900, "tools": 5_100, "messages": 14_000, "results": 1_000},
}


def conversation() -> UUID:
    """Make the conversation; no worker answers it."""
    made = stopped_chat("Where do the totals come from?")
    compacted = events.ContextCompacted(
        summary="**Asked:** where the totals come from.",
        carried="What was asked first:\nWhere do the totals come from?",
        upto_seq=1,
        tokens_before=148_000,
        tokens_after=21_000,
        model="anthropic/claude-test",
        context=CONTEXT,
    )
    spoken = events.MessageSpoken(text="From the lines.", call_id="end", model="demo/guide")
    store.append(made, compacted, spoken)
    return made
