"""The tables of conversations: log, inbox, calls, workers and sandboxes."""

from paca.conversations.models.calls import ModelCall, ToolCall
from paca.conversations.models.conversation import (
    ChatSession,
    Conversation,
    Status,
    TriggerType,
    Turn,
)
from paca.conversations.models.inbox import Control, Trigger, TriggerState
from paca.conversations.models.log import Blob, Event
from paca.conversations.models.sandboxes import ReadySandbox, Sandbox, SandboxState
from paca.conversations.models.workers import Worker

__all__ = [
    "Blob",
    "ChatSession",
    "Control",
    "Conversation",
    "Event",
    "ModelCall",
    "ReadySandbox",
    "Sandbox",
    "SandboxState",
    "Status",
    "ToolCall",
    "Trigger",
    "TriggerState",
    "TriggerType",
    "Turn",
    "Worker",
]
