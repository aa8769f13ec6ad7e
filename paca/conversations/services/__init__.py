"""What people do with conversations: begin, write, stop, pause, go on, clear, rename."""

from paca.conversations.services.inbox import AgentUnavailable
from paca.conversations.services.lifecycle import continue_, pause, resume, stop, stop_all_of
from paca.conversations.services.messages import (
    LONGEST_MESSAGE,
    ON_BUSY,
    ConversationBusy,
    Sent,
    clear,
    rename,
    send,
    start_anew,
    start_chat,
    title_from,
)

__all__ = [
    "LONGEST_MESSAGE",
    "ON_BUSY",
    "AgentUnavailable",
    "ConversationBusy",
    "Sent",
    "clear",
    "continue_",
    "pause",
    "rename",
    "resume",
    "send",
    "start_anew",
    "start_chat",
    "stop",
    "stop_all_of",
    "title_from",
]
