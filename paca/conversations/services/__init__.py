"""The services of conversations: chats, messages, titles and lifecycle commands."""

from paca.conversations.services.flags import TracingForbidden, set_flags
from paca.conversations.services.forks import fork
from paca.conversations.services.inbox import AgentUnavailable
from paca.conversations.services.lifecycle import (
    continue_,
    pause,
    resume,
    stop,
    stop_agent_conversations,
    stop_conversations_of_deleted,
)
from paca.conversations.services.messages import (
    MAX_MESSAGE_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    ON_BUSY_CHOICES,
    ConversationBusy,
    MessageReceipt,
    archive,
    clear,
    rename,
    send,
    start_chat,
    start_next_conversation,
)
from paca.conversations.services.queued_messages import MessageTaken, edit, withdraw
from paca.conversations.services.summaries import request_summary
from paca.conversations.services.titles import title_from

__all__ = [
    "MAX_MESSAGE_CHARACTERS",
    "MAX_TITLE_CHARACTERS",
    "ON_BUSY_CHOICES",
    "AgentUnavailable",
    "ConversationBusy",
    "MessageReceipt",
    "MessageTaken",
    "TracingForbidden",
    "archive",
    "clear",
    "continue_",
    "edit",
    "fork",
    "pause",
    "rename",
    "request_summary",
    "resume",
    "send",
    "set_flags",
    "start_next_conversation",
    "start_chat",
    "stop",
    "stop_agent_conversations",
    "stop_conversations_of_deleted",
    "title_from",
    "withdraw",
]
