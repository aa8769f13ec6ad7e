"""The tables of conversations: log, inbox, calls, workers and sandboxes."""

from paca.conversations.models.background import BackgroundCommand, BackgroundCommandState
from paca.conversations.models.branches import ConversationBranch, PullRequestState, PushAttempt
from paca.conversations.models.budgets import BudgetLock
from paca.conversations.models.calls import ModelCall, ModelCallPurpose, ToolCall
from paca.conversations.models.chat_session import ChatSession
from paca.conversations.models.check_ins import CheckIn, CheckInOutcome, CheckInRun, SkipReason
from paca.conversations.models.conversation import Conversation
from paca.conversations.models.file_requests import (
    FileRequest,
    FileRequestPart,
    FileRequestState,
)
from paca.conversations.models.full_outputs import FullOutput, FullOutputPart
from paca.conversations.models.inbox import ControlCommand, PendingKind, PendingTrigger, Trigger
from paca.conversations.models.log import Blob, Event
from paca.conversations.models.memory import MemoryEntry, MemoryState
from paca.conversations.models.network import NetworkBook, NetworkUse
from paca.conversations.models.person_requests import PersonRequest, RequestKind
from paca.conversations.models.sandbox_setups import SandboxSetup, SetupState, SetupUse
from paca.conversations.models.sandboxes import ReadySandbox, Sandbox
from paca.conversations.models.status_changes import (
    AgentStatusChange,
    StatusChangeState,
    StatusMode,
)
from paca.conversations.models.statuses import (
    ConversationStatus,
    ModelCallStatus,
    RequestState,
    SandboxState,
    StopReason,
    ToolCallState,
    TriggerState,
    TurnStatus,
)
from paca.conversations.models.suggestions import Suggestion, SuggestionState
from paca.conversations.models.teams import (
    Teammate,
    TeammateEnd,
    TeammateState,
    TeammateStop,
    TeamRequest,
    TeamRequestKind,
    TeamRequestState,
    TeamTask,
)
from paca.conversations.models.traces import Trace, TracedCall
from paca.conversations.models.trigger_types import (
    COMMENTED_TYPES,
    REPORTED_TYPES,
    TriggerType,
)
from paca.conversations.models.turns import Turn
from paca.conversations.models.workers import Worker

__all__ = [
    "COMMENTED_TYPES",
    "AgentStatusChange",
    "StatusChangeState",
    "StatusMode",
    "NetworkBook",
    "NetworkUse",
    "SandboxSetup",
    "SetupState",
    "SetupUse",
    "PersonRequest",
    "RequestKind",
    "RequestState",
    "REPORTED_TYPES",
    "BackgroundCommand",
    "BackgroundCommandState",
    "Blob",
    "BudgetLock",
    "ChatSession",
    "CheckIn",
    "CheckInOutcome",
    "CheckInRun",
    "ControlCommand",
    "Conversation",
    "ConversationBranch",
    "PullRequestState",
    "PushAttempt",
    "ConversationStatus",
    "Event",
    "FileRequest",
    "FileRequestPart",
    "FileRequestState",
    "FullOutput",
    "FullOutputPart",
    "MemoryEntry",
    "MemoryState",
    "ModelCall",
    "ModelCallPurpose",
    "ModelCallStatus",
    "PendingKind",
    "PendingTrigger",
    "ReadySandbox",
    "Sandbox",
    "SandboxState",
    "SkipReason",
    "StopReason",
    "Suggestion",
    "SuggestionState",
    "TeamRequest",
    "TeamRequestKind",
    "TeamRequestState",
    "TeamTask",
    "Teammate",
    "TeammateEnd",
    "TeammateState",
    "TeammateStop",
    "ToolCall",
    "ToolCallState",
    "Trace",
    "TracedCall",
    "Trigger",
    "TriggerState",
    "TriggerType",
    "Turn",
    "TurnStatus",
    "Worker",
]
