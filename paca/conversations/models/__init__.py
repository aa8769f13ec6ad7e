"""The tables of conversations: log, inbox, calls, workers and sandboxes."""

from paca.conversations.models.calls import ModelCall, ToolCall
from paca.conversations.models.conversation import (
    ChatSession,
    Conversation,
    TriggerType,
    Turn,
)
from paca.conversations.models.full_outputs import FullOutput, FullOutputPart
from paca.conversations.models.inbox import ControlCommand, Trigger
from paca.conversations.models.log import Blob, Event
from paca.conversations.models.sandboxes import ReadySandbox, Sandbox
from paca.conversations.models.statuses import (
    ConversationStatus,
    ModelCallStatus,
    SandboxState,
    ToolCallState,
    TriggerState,
    TurnStatus,
)
from paca.conversations.models.workers import Worker

__all__ = [
    "Blob",
    "ChatSession",
    "ControlCommand",
    "Conversation",
    "ConversationStatus",
    "Event",
    "FullOutput",
    "FullOutputPart",
    "ModelCall",
    "ModelCallStatus",
    "ReadySandbox",
    "Sandbox",
    "SandboxState",
    "ToolCall",
    "ToolCallState",
    "Trigger",
    "TriggerState",
    "TriggerType",
    "Turn",
    "TurnStatus",
    "Worker",
]
