"""The limits that the pages check before the server does: the only list, from which JavaScript gets its own.

``make docs`` writes it for the browser to static/paca/core/limits.js.
"""

from paca.conversations.event_log import PAGE_EVENTS
from paca.conversations.services import MAX_MESSAGE_CHARACTERS, MAX_TITLE_CHARACTERS

LIMITS = {
    "MAX_MESSAGE_CHARACTERS": MAX_MESSAGE_CHARACTERS,
    "MAX_TITLE_CHARACTERS": MAX_TITLE_CHARACTERS,
    "PAGE_EVENTS": PAGE_EVENTS,
}


def as_javascript() -> str:
    """The limits as the source of a JavaScript module. Characters are Unicode code points."""
    head = "// Generated from paca/web/limits.py by `make docs`; change the limits where it imports them.\n\n"
    return head + "".join(f"export const {name} = {value};\n" for name, value in LIMITS.items())
